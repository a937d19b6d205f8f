"""Clips and splits long text, and makes JSON lines safe for line readers.

Cuts fall between code points, and between graphemes if such a place is near. Sizes are those of the JSON-escaped
UTF-8 on the wire.
"""

from __future__ import annotations

from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match, Pattern

MAX_CODE_POINT_BYTES = 12
"""The most bytes of one code point in a line: an astral format character, written as two escapes."""
MAX_SHIFT = 64
"""How many code points a cut may move to keep a grapheme whole."""
CUT_NOTE = "\n… {cut} characters cut …\n"

FORMAT_CHARACTERS = (
    (0x00AD, 0x00AD),
    (0x0600, 0x0605),
    (0x061C, 0x061C),
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x180E, 0x180E),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x2064),
    (0x2066, 0x206F),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0001, 0xE0001),
    (0xE0020, 0xE007F),
)
"""Unicode category Cf (17.0), listed here so that the output does not depend on the interpreter's tables."""


# ---------------------------------------------------------------- sizes and escapes


def json_size(text: str) -> int:
    """Bytes of `text` inside a JSON line, without the quotes, with the escapes of `escape_separators(wide=True)`: an
    upper bound for both dialects."""
    return len(escape_separators(codec.dumps(text), wide=True)) - 2


_narrow_pattern: Pattern[bytes] | None = None
_wide_pattern: Pattern[bytes] | None = None


def escape_separators(line: bytes, wide: bool) -> bytes:
    r"""Escape as `\uXXXX` the characters at which line readers of some languages split: U+2028, U+2029, U+0085.

    `wide` adds what the Claude CLI escapes: DEL, C1 controls and the invisible format characters. `line` is JSON, so
    these occur only inside strings, and the meaning of the line does not change.
    """
    global _narrow_pattern, _wide_pattern
    if line.isascii() and not (wide and b"\x7f" in line):
        return line
    if wide:
        if _wide_pattern is None:
            _wide_pattern = _pattern_of(((0x7F, 0x9F), (0x2028, 0x2029), *FORMAT_CHARACTERS))
        return _wide_pattern.sub(_escape, line)
    if _narrow_pattern is None:
        _narrow_pattern = _pattern_of(((0x85, 0x85), (0x2028, 0x2029)))
    return _narrow_pattern.sub(_escape, line)


def _escape(match: Match[bytes]) -> bytes:
    code = ord(match.group().decode("utf-8"))
    if code < 0x10000:
        return b"\\u%04x" % code
    code -= 0x10000
    return b"\\u%04x\\u%04x" % (0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF))


def _pattern_of(ranges: tuple[tuple[int, int], ...]) -> Pattern[bytes]:
    """A pattern over UTF-8 bytes. Code points are grouped by all bytes but the last, so that each branch begins with
    literals and the search quickly skips to first bytes."""
    import re

    last_bytes: dict[bytes, bytearray] = {}
    for first, last in ranges:
        for code in range(first, last + 1):
            packed = chr(code).encode("utf-8")
            last_bytes.setdefault(packed[:-1], bytearray()).append(packed[-1])
    branches = [re.escape(head) + b"[" + re.escape(bytes(tails)) + b"]" for head, tails in last_bytes.items()]
    return re.compile(b"|".join(branches))


# ---------------------------------------------------------------- where a cut may fall


def _joined(text: str, place: int) -> bool:
    """Do `text[place - 1]` and `text[place]` belong to one grapheme? A simplified form of UAX 29."""
    before, after = text[place - 1], text[place]
    if before.isascii() and after.isascii():
        return before == "\r" and after == "\n"
    if before == "\u200d" or after == "\u200d":
        return True
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return True
    if _is_flag_letter(before) and _is_flag_letter(after):
        run = place
        while run > 0 and _is_flag_letter(text[run - 1]) and place - run < MAX_SHIFT:
            run -= 1
        return (place - run) % 2 == 1
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":  # skin tones, tags
        return True
    if "\u1100" <= before <= "\u11ff" and "\u1160" <= after <= "\u11ff":  # Hangul letters that make one syllable
        return True
    import unicodedata

    return unicodedata.category(after)[0] == "M"  # combining marks and variation selectors


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _cut_before(text: str, place: int, least: int = 1) -> int:
    """The nearest good cut at or before `place`, not below `least`; `place` itself if none is near."""
    for cut in range(place, max(least, place - MAX_SHIFT) - 1, -1):
        if cut <= 0 or cut >= len(text) or not _joined(text, cut):
            return cut
    return place if place - 1 < least or not _is_pair(text, place) else place - 1


def _cut_after(text: str, place: int) -> int:
    """The nearest good cut at or after `place`; `place` itself if none is near."""
    for cut in range(place, min(len(text), place + MAX_SHIFT) + 1):
        if cut <= 0 or cut >= len(text) or not _joined(text, cut):
            return cut
    return place + 1 if _is_pair(text, place) else place


def _is_pair(text: str, place: int) -> bool:
    return "\ud800" <= text[place - 1] <= "\udbff" and "\udc00" <= text[place] <= "\udfff"


# ---------------------------------------------------------------- splitting and clipping


def split_text(text: str, limit_bytes: int) -> list[str]:
    """Pieces that join to `text`, each of at most `limit_bytes` as JSON (`json_size`); [] for "".

    A lower limit than `MAX_CODE_POINT_BYTES` counts as that: a code point cannot be split.
    """
    limit_bytes = max(limit_bytes, MAX_CODE_POINT_BYTES)
    pieces: list[str] = []
    start = 0
    while start < len(text):
        # Every code point takes at least one byte, so the piece cannot be longer than this window.
        window = text[start : start + limit_bytes + 1]
        fit = _longest_prefix(window, limit_bytes)
        if fit < len(window):
            fit = _cut_before(window, fit)
        pieces.append(window[:fit])
        start += fit
    return pieces


def _longest_prefix(text: str, limit_bytes: int) -> int:
    """How many code points from the start fit; at least one."""
    if len(text) * MAX_CODE_POINT_BYTES <= limit_bytes or json_size(text) <= limit_bytes:
        return len(text)
    fit, over, used = 0, len(text), 0
    while over - fit > 1:  # sizes add up, so each step measures half of the rest
        middle = (fit + over) // 2
        size = json_size(text[fit:middle])
        if used + size <= limit_bytes:
            fit, used = middle, used + size
        else:
            over = middle
    return max(fit, 1)


def clip_middle(text: str, limit: int, note: str = CUT_NOTE) -> str:
    """Head and tail of a text longer than `limit` characters, with `note` between them; shorter text unchanged.

    `{cut}` in the note becomes the number of characters left out. The result has at most `limit` characters; if the
    note itself does not fit, the result is the head alone.
    """
    if len(text) <= limit:
        return text
    room = limit - len(note.replace("{cut}", str(len(text))))
    if room < 2:
        return text[: _cut_before(text, max(limit, 0), 0)]
    return _join_ends(text, room - room // 2, room // 2, note)


def _join_ends(text: str, head: int, tail: int, note: str) -> str:
    head = _cut_before(text, head, 0)
    start = _cut_after(text, len(text) - tail)
    return text[:head] + note.replace("{cut}", str(start - head)) + text[start:]
