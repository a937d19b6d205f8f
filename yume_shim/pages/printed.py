"""What a program printed, as a terminal would show it in the end, and text that cannot steer a terminal."""

from __future__ import annotations

import re

_SEQUENCES = re.compile(
    "\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)?|[PX^_][^\x1b\x07\n]*(?:\x07|\x1b\\\\)|[ -/]*[0-~])"
)
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb\U000e0000-\U000e007f]")
MAX_TAKEN_BACK = 200_000
"""Characters of a text in which backspaces are followed."""


def settled(text: str) -> str:
    """Line ends of Windows, lines that were written over, characters that were taken back."""
    text = text.replace("\r\n", "\n")
    if "\r" in text:  # a progress line that was written over
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    if "\x08" in text and len(text) <= MAX_TAKEN_BACK:  # bold and underlined words of manual pages
        kept: list[str] = []
        for char in text:
            if char != "\x08":
                kept.append(char)
            elif kept and kept[-1] != "\n":
                kept.pop()
        text = "".join(kept)
    return text


def plain(text: str) -> str:
    """Text that cannot steer a terminal, nor change how other text looks."""
    return _HIDDEN.sub(lambda found: f"<U+{ord(found[0]):04X}>", _SEQUENCES.sub("", text))


def printed(text: str) -> str:
    """Both."""
    return plain(settled(text))
