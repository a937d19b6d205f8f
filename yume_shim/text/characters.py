"""Sets of characters, to check names with: `WORD.issuperset(name)` needs no regular expression."""

from __future__ import annotations

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
DIGITS = "0123456789"
WORD = frozenset(f"{LETTERS}{DIGITS}_-")
"""What vendors take in the names of tools and in the ids of calls."""
