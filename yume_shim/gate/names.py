"""Tables of names, written as running text because a name per line hides what belongs together."""

from __future__ import annotations


def names(text: str) -> frozenset[str]:
    """The set of the words."""
    return frozenset(text.split())
