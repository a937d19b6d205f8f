"""Finds the files that a prompt mentions: `@src/main.py`, `@"my notes.txt"`. Pure."""

from __future__ import annotations

import re

MAX_MENTIONS = 10
"""The most files attached to one prompt."""

_MENTION = re.compile(r'(?:(?<=\s)|^)@(?:"([^"\n]+)"|([^\s"@]+))')
_TRAILING = ".,;:!?)]}'\""


def mentioned(text: str) -> tuple[str, ...]:
    """The paths mentioned, each once, in order. An `@` inside a word (a mail address) does not count."""
    found: dict[str, None] = {}
    for quoted, bare in _MENTION.findall(text):
        path = quoted or bare.rstrip(_TRAILING)
        if path:
            found.setdefault(path)
    return tuple(found)[:MAX_MENTIONS]


def attachment(path: str, content: str) -> str:
    """The note that gives the model a mentioned file."""
    return f"<system-reminder>\nThe user mentioned the file {path}. It holds:\n{content}\n</system-reminder>"
