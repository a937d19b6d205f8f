"""Finds the files that `Read` deny rules hide, for commands that are confined.

A folder is listed again only if it has changed since: a command that is judged must not wait for a walk through the
whole tree.
"""

from __future__ import annotations

import os
import stat
import threading
import time

from yume_shim.disk.resolve import is_link
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.gate.rules import PathPattern

MAX_SEARCHED = 50_000
"""Directory entries searched for hidden files; in a larger tree the command is asked about."""
SETTLED_NS = 50_000_000
"""A folder that changed less than this before it was listed is listed again: clocks of file systems are coarse."""


class Listing(Value):
    """A folder as it was listed: what identifies its state, how many entries it had, and which of them matter."""

    state: tuple[int, int, int] | None
    count: int
    folders: tuple[str, ...]
    hidden: tuple[str, ...]


class HiddenFiles:
    """The search of one gate. Threads that decide on calls use it; the lock lets one of them search."""

    def __init__(self, limit: int = MAX_SEARCHED) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._patterns: tuple[str, ...] = ()
        self._listings: dict[str, Listing] = {}

    def find(self, patterns: tuple[PathPattern, ...]) -> tuple[tuple[str, ...], str]:
        """(the files and folders that match now, ""), or ((), why they cannot all be known)."""
        if not patterns:
            return (), ""
        with self._lock:
            written = tuple(pattern.regex.pattern for pattern in patterns)
            if written != self._patterns:
                self._patterns, self._listings = written, {}
            found = [pattern.literal for pattern in patterns if pattern.matches(pattern.literal)]
            tops = dict.fromkeys(pattern.literal for pattern in patterns if not pattern.matches(pattern.literal))
            below = self._search(list(tops), patterns)
        if below is None:
            return (), f"rules hide files from reading, and there are over {self._limit} files to search for them"
        hidden: dict[str, None] = {}
        for path in (*found, *below):
            try:
                info = os.stat(path)
            except (OSError, ValueError):
                continue  # there is nothing to hide
            if stat.S_ISREG(info.st_mode) and info.st_nlink > 1:
                return (), f"rules hide {path} from reading, and it has a second name (a hard link)"
            hidden[os.path.realpath(path)] = None
        return tuple(hidden), ""

    def _search(self, tops: list[str], patterns: tuple[PathPattern, ...]) -> list[str] | None:
        """What is hidden below these folders; None if there are too many entries."""
        found: list[str] = []
        seen: dict[str, Listing] = {}
        waiting, count = tops, 0
        while waiting:
            folder = waiting.pop()
            if folder in seen:
                continue
            listing = seen[folder] = self._listing(folder, patterns)
            count += listing.count
            if count > self._limit:
                self._listings = {}
                return None
            found += listing.hidden
            waiting += listing.folders
        self._listings = seen
        return found

    def _listing(self, folder: str, patterns: tuple[PathPattern, ...]) -> Listing:
        try:
            info = os.stat(folder)
            # The time of the last change of the entry itself: unlike that of its content it cannot be set.
            state = (info.st_dev, info.st_ino, info.st_ctime_ns)
            known = self._listings.get(folder)
            if known is not None and known.state == state:
                return known
            # On Windows it is the time of creation, which says nothing about changes.
            settled = os.name != "nt" and time.time_ns() - info.st_ctime_ns > SETTLED_NS
            count, folders, hidden = 0, [], []
            with os.scandir(folder) as entries:
                for entry in entries:
                    count += 1
                    if count > self._limit:
                        break
                    if any(pattern.matches(entry.path) for pattern in patterns):
                        hidden.append(entry.path)
                    elif entry.is_dir(follow_symlinks=False) and not is_link(entry):
                        folders.append(entry.path)
        except OSError:
            return Listing(None, 0, (), ())  # what we cannot list, the command cannot list
        return Listing(state if settled else None, count, tuple(folders), tuple(hidden))
