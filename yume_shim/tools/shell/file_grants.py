"""Which paths a confined command may read or change, computed from the disk.

Landlock can only grant. To hide a file, everything else is granted: the siblings of each folder on the way to it. In a
mount namespace it is the other way round: a writable folder is followed by what in it stays as it is.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_GRANTS = 4_096
"""Siblings of hidden files that are granted one by one; where there are more, the command is asked about."""
MAX_KEPT = 256
"""Paths below writable folders that are kept as they are; where there are more, the command is asked about."""
MAX_WALKED = 10_000
"""Directory entries below writable folders that are searched for protected names."""


class TooMany(Exception):
    """A limit of this module is exceeded; the text says which."""


def readable_around(hidden: Iterable[str]) -> list[str]:
    """The paths that together hold every file but the hidden ones (and their folders' new files). Raises TooMany."""
    concealed = frozenset(hidden)
    above: dict[str, None] = {}
    for path in concealed:
        while path != os.path.dirname(path):
            path = os.path.dirname(path)
            above[path] = None
    granted: list[str] = []
    for folder in above:
        if folder in concealed or any(folder.startswith(path + "/") for path in concealed):
            continue  # it is hidden as a whole
        for name, is_link in _entries(folder):
            path = os.path.join(folder, name)
            if is_link or path in above or path in concealed:
                continue
            granted.append(path)
            if len(granted) > MAX_GRANTS:
                raise TooMany(f"over {MAX_GRANTS} files lie next to files that rules hide")
    return granted


def _entries(folder: str) -> list[tuple[str, bool]]:
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.is_symlink()) for entry in entries]
    except OSError:
        return []


def kept_below(folders: Iterable[str], trees: Iterable[str], protected: frozenset[str]) -> list[str]:
    """What stays as it is below these writable paths: other subfolders of `folders`, and everything with a protected
    name. Raises TooMany."""
    opened = (*folders, *trees)
    kept: dict[str, None] = {}
    for folder in folders:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink():
                    continue
                is_other = entry.is_dir(follow_symlinks=False) and entry.path not in opened
                if is_other or entry.name.casefold() in protected:
                    kept[entry.path] = None
    for tree in trees:
        for path in protected_below(tree, protected):
            kept[path] = None
    if len(kept) > MAX_KEPT:
        raise TooMany(f"over {MAX_KEPT} folders lie below the ones that it may change")
    return list(kept)


def opened_apart(folders: tuple[str, ...], trees: tuple[str, ...]) -> list[str]:
    """The writable paths that are not part of another one: a path of its own in a mount namespace could neither be
    removed nor renamed into the others."""
    paths = dict.fromkeys((*folders, *trees))
    return [
        path
        for path in paths
        if os.path.dirname(path) not in folders and not any(path.startswith(tree + "/") for tree in trees)
    ]


def protected_below(top: str, protected: frozenset[str], limit: int = MAX_WALKED) -> list[str]:
    """Every path with a protected name in a tree, not searching inside those. Raises TooMany."""
    found: list[str] = []
    waiting = [top]
    count = 0
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    count += 1
                    if count > limit:
                        raise TooMany(f"over {limit} files lie below the folders that it may change")
                    if entry.name.casefold() in protected:
                        found.append(entry.path)
                    elif entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue
    return found
