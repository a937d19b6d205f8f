"""Cleans text: lone surrogates, bad UTF-8, terminal control sequences, mojibake.

Model text loses only what UTF-8 cannot encode. Tool output also loses what only a terminal understands.
"""

from __future__ import annotations

import os
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

REPLACEMENT = "\ufffd"


def clean_model_text(text: str) -> str:
    """The same text with lone surrogates as U+FFFD; two adjacent halves become the character that they encode."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


_terminal: Pattern[str] | None = None
_OWN_CODE_PAGES = ("mbcs", "oem") if os.name == "nt" else ()
"""Programs of Windows print in the ANSI code page or in that of the console; those of Git Bash in UTF-8."""


def clean_output(data: bytes, code_pages: tuple[str, ...] = _OWN_CODE_PAGES) -> str:
    """A program's output as text: without terminal sequences and control characters (except tab, LF, CR), with bytes
    that are not UTF-8 as U+FFFD. `code_pages`: Windows, where lines that are not UTF-8 are in one of them, and end with
    CR LF."""
    global _terminal
    text = _from_code_pages(data, code_pages) if code_pages else data.decode("utf-8", "replace")
    if _terminal is None:
        # ECMA-48. No branch runs past the next ESC, so hostile text takes linear time; an OSC without an end removes
        # at most the rest of its line.
        import re

        _terminal = re.compile(
            "\x1b(?:"
            r"\[[0-?]*[ -/]*(?:[@-~]|\Z)"  # CSI: colours, cursor
            "|\\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)?"  # OSC: titles, links
            "|[PX^_][^\x1b\x07]*(?:\x07|\x1b\\\\)"  # DCS, SOS, PM, APC: strings with an end
            r"|[ -/]+[0-~]"  # charsets and other sequences with intermediates
            r"|[0-~])"  # two-character sequences
            "|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
        )
    return _terminal.sub("", text)


def _from_code_pages(data: bytes, code_pages: tuple[str, ...]) -> str:
    """Line by line: a command may run programs of several kinds."""
    data = data.replace(b"\r\n", b"\n")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    found: list[str] = []
    for line in data.split(b"\n"):
        try:
            found.append(line.decode("utf-8"))
        except UnicodeDecodeError:
            found.append(max((line.decode(page, "replace") for page in code_pages), key=_letters))
    return "\n".join(found)


def _letters(text: str) -> int:
    """How likely this is what was meant: the wrong one of two code pages has signs where words have letters, and
    capitals after small letters."""
    signs = sum(1 if char.isalpha() else -1 for char in text if not char.isascii())
    return signs - 2 * sum(second.isupper() and first.islower() for first, second in pairwise(text))


def repair_mojibake(text: str) -> str:
    """Correct UTF-8 that was decoded as Latin-1 or similar; other text stays unchanged. For whole blocks only.

    `ftfy.fix_text` would also change quotes, ligatures and line ends of correct text; `fix_encoding` does not.
    """
    if text.isascii():
        return text
    from ftfy.badness import is_bad

    if not is_bad(text):
        return text
    from ftfy import fix_encoding

    return fix_encoding(text)


class SurrogateJoiner:
    """Text pieces -> text pieces without lone surrogates: a high surrogate at the end waits for the next piece."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """The cleaned piece, preceded by what was held back."""
        if self._held:
            text, self._held = self._held + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return clean_model_text(text)

    def finish(self) -> str:
        """U+FFFD if the text ended with half a character, else ""."""
        held, self._held = self._held, ""
        return REPLACEMENT if held else ""
