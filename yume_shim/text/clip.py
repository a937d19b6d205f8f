"""Clips and splits long text.

Cuts fall between code points, and between graphemes if such a place is near. Sizes are those of the JSON-escaped
UTF-8 on the wire.
"""

from __future__ import annotations

from yume_shim.text import codec
from yume_shim.text.separators import escape_separators

MAX_CODE_POINT_BYTES = 12
"""The most bytes of one code point in a line: an astral format character, written as two escapes."""
MAX_SHIFT = 64
"""How many code points a cut may move to keep a grapheme whole."""
CUT_NOTE = "\n… {cut} characters cut …\n"

# ---------------------------------------------------------------- sizes


def json_size(text: str) -> int:
    """Bytes of `text` inside a JSON line, without the quotes, with the escapes of `escape_separators(wide=True)`: an
    upper bound for both dialects."""
    return len(escape_separators(codec.dumps(text), wide=True)) - 2


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
