"""Walks folders without following links, without entering version-control folders, and within a time limit."""

from __future__ import annotations

import os
import sys
import time

from yume_shim.disk.resolve import is_link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.text.path_patterns import PathPattern
    from yume_shim.types.ports import Cancel

VCS_FOLDERS = frozenset((".git", ".hg", ".svn", ".bzr", ".jj", ".sl", "CVS", "_darcs"))
FOLDS = sys.platform in ("win32", "darwin")
"""The file system usually ignores case: patterns do so, too."""
MAX_ENTRIES = 500_000
MAX_SECONDS = 20.0
CHECK_EVERY = 256


class Budget:
    """How many entries and how much time a walk may still take. Checks the cancel."""

    def __init__(self, cancel: Cancel, entries: int = MAX_ENTRIES, seconds: float = MAX_SECONDS) -> None:
        self._cancel = cancel
        self._left = entries
        self._deadline = time.monotonic() + seconds
        self.spent = False
        """The walk was ended early."""

    def take(self) -> bool:
        """Count one more entry; False when the budget is spent. Raises Cancelled."""
        self._left -= 1
        if self._left % CHECK_EVERY == 0:
            self._cancel.check()
            if time.monotonic() > self._deadline:
                self._left = 0
        if self._left <= 0:
            self.spent = True
        return not self.spent


def scan(folder: str) -> Iterator[os.DirEntry[str]]:
    """What is in the folder at a resolved path; nothing if it cannot be read, or if it was replaced by a link."""
    from yume_shim.system.folders import list_exact

    entries = list_exact(folder)
    while True:
        try:
            entry = next(entries, None)
        except OSError:
            return
        if entry is None:
            return
        yield entry


def is_folder(entry: os.DirEntry[str]) -> bool:
    """A real folder, not a link to one."""
    try:
        return entry.is_dir(follow_symlinks=False) and not (os.name == "nt" and is_link(entry))
    except OSError:
        return False


def matching_files(top: str, pattern: PathPattern, budget: Budget) -> Iterator[str]:
    """Full paths of the files below `top` that match. Folders that cannot lead to a match are not entered."""
    todo = [(top, pattern.start)]
    while todo:
        folder, states = todo.pop()
        for entry in scan(folder):
            if not budget.take():
                return
            after = pattern.step(states, entry.name)
            if not after:
                continue
            if is_folder(entry):
                if entry.name not in VCS_FOLDERS:
                    todo.append((os.path.join(folder, entry.name), after))
            elif pattern.ends(after):
                yield os.path.join(folder, entry.name)


def files_below(top: str, skip: Callable[[str, bool], bool]) -> Iterator[str]:
    """Full paths of all files below `top` in path order, except those for which `skip(path, is_folder)` is true."""
    todo = [top]
    while todo:
        here = todo.pop()
        if here is not top:
            if not here.endswith(os.sep):
                yield here
                continue
            here = here.removesuffix(os.sep)
        inside: list[str] = []
        for entry in sorted(scan(here), key=lambda entry: entry.name):
            folder, path = is_folder(entry), os.path.join(here, entry.name)
            if (folder and entry.name in VCS_FOLDERS) or skip(path, folder):
                continue
            inside.append(path + os.sep if folder else path)
        todo += reversed(inside)
