"""Writes a set of names as one text: with one name per line, tables would be hundreds of lines long."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())
