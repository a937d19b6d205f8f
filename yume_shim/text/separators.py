"""Escapes the characters at which line readers of some languages split a line of JSON."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

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

_NARROW = ((b"\xc2\x85", b"\\u0085"), (b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))
MANY_KINDS = 32
_wide_pattern: Pattern[bytes] | None = None


def escape_separators(line: bytes, wide: bool) -> bytes:
    r"""Escape as `\uXXXX` the characters at which line readers of some languages split: U+2028, U+2029, U+0085.

    `wide` adds what the Claude CLI escapes: DEL, C1 controls and the invisible format characters. `line` is JSON, so
    these occur only inside strings, and the meaning of the line does not change.
    """
    global _wide_pattern
    if line.isascii() and not (wide and b"\x7f" in line):
        return line
    if not wide:
        for found, escaped in _NARROW:
            line = line.replace(found, escaped)
        return line
    if _wide_pattern is None:
        _wide_pattern = _pattern_of(((0x7F, 0x9F), (0x2028, 0x2029), *FORMAT_CHARACTERS))
    # A line may consist of them: to replace a kind at once is ten times faster than a call for each occurrence.
    kinds = set(_wide_pattern.findall(line))
    if len(kinds) > MANY_KINDS:
        return _wide_pattern.sub(lambda match: _escaped(match[0]), line)
    for found in kinds:
        line = line.replace(found, _escaped(found))
    return line


def _escaped(packed: bytes) -> bytes:
    code = ord(packed.decode("utf-8"))
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
