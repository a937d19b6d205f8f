"""Recognises UUIDs."""

from __future__ import annotations

_LENGTHS = [8, 4, 4, 4, 12]
_DIGITS = frozenset("0123456789abcdefABCDEF")


def is_uuid(text: str) -> bool:
    """A UUID in the usual form with dashes, of any version."""
    parts = text.split("-")
    return [len(part) for part in parts] == _LENGTHS and _DIGITS.issuperset("".join(parts))
