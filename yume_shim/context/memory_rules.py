"""Finds rules: Markdown files in `.claude/rules`, some of which count for certain files only (`paths`)."""

from __future__ import annotations

import os

from yume_shim.context.memory_files import is_in
from yume_shim.text.frontmatter import as_text, read_frontmatter
from yume_shim.text.path_patterns import PathList
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from yume_shim.context.memory_files import MemoryReader
    from yume_shim.types.memory import MemoryKind

MAX_RULES = 100
"""Rule files of one folder, with the folders below it."""
MAX_DEPTH = 8
MAX_ENTRIES = 1_000
"""Entries looked at in one folder."""
MAX_GLOBS = 50


class Rule(Value):
    """A rule file. `base` is the folder that its patterns start from."""

    path: str
    kind: MemoryKind
    inside: str | None
    base: str
    globs: tuple[str, ...] = ()

    def fits(self, path: str) -> bool:
        """Is the rule about this file?"""
        if not is_in(path, self.base) or path == self.base:
            return False
        return PathList(self.globs).matches(os.path.relpath(path, self.base).replace(os.sep, "/"))


def find_rules(folder: str, kind: MemoryKind, inside: str | None, base: str, reader: MemoryReader) -> Iterator[Rule]:
    """The rules of a folder and of the folders below it, in the order of their names. Links to folders are not
    followed."""
    for path in _markdown_files(folder):
        header, _, _ = read_frontmatter(reader.peek(path, inside))
        yield Rule(path, kind, inside, base, _globs(header.get("paths")))


def _markdown_files(folder: str) -> list[str]:
    found: list[str] = []
    waiting = [(folder, 0)]
    while waiting and len(found) < MAX_RULES:
        current, depth = waiting.pop()
        below: list[tuple[str, int]] = []
        for name, is_folder in _entries(current):
            path = os.path.join(current, name)
            if is_folder and depth < MAX_DEPTH:
                below.append((path, depth + 1))
            elif name.endswith(".md") and not is_folder:
                found.append(path)
        waiting += reversed(below)
    return found[:MAX_RULES]


def _entries(folder: str) -> list[tuple[str, bool]]:
    """(name, is it a folder?) of what is in the folder, by name; [] if it cannot be listed."""
    listed: list[tuple[str, bool]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                listed.append((entry.name, entry.is_dir(follow_symlinks=False)))
                if len(listed) == MAX_ENTRIES:
                    break
    except OSError:
        return []
    return sorted(listed)


def _globs(field: Any) -> tuple[str, ...]:
    """The patterns of `paths`: a list, or a text with commas between them (those in braces are part of a pattern)."""
    items = field if isinstance(field, list) else [field]
    found: list[str] = []
    for item in items:
        start = depth = 0
        text = as_text(item)
        for place, char in enumerate(f"{text},"):
            depth += (char == "{") - (char == "}")
            if char == "," and (depth <= 0 or place == len(text)):
                found.append(text[start:place].strip())
                start = place + 1
    return tuple(glob for glob in found if glob)[:MAX_GLOBS]
