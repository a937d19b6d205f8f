"""A transcript file: one line, one append. The session goes on when it cannot be written; that is told once.

The lines of an answer are written as soon as its blocks are complete, with blanks at their end. When the answer has
ended, its final figures are written over the end of these same lines: JSON does not mind the blanks, no reader sees a
message twice, and a process killed in between has lost figures only. Only bytes that this process wrote are replaced.
"""

from __future__ import annotations

import os

from yume_shim.store.lock import hold
from yume_shim.text.codec import dumps
from yume_shim.types.events import SessionChanged, TurnEnded, TurnStarted
from yume_shim.types.shapes import timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from yume_shim.store.entries import Entries, Entry
    from yume_shim.store.lock import SessionLock
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import Tagged

    Log = Callable[[str, str], None]
    Mirror = Callable[[str, "tuple[Json, ...]"], None]

FILE_MODE = 0o600
FOLDER_MODE = 0o700
ROOM = 160
"""Blanks at the end of an open line: seven counts of nine digits more, a stop reason, a cost."""
FIRST_FIGURE = b',"stop_reason":'
"""Where the part of a line begins that is known only when the answer has ended."""


class JsonlStore:
    """Writes what `entries` makes of the events to `path`. The file appears with the first turn, before its init is
    printed (hosts look for it then), and not at all if nothing was asked. `first` are lines that a new file begins with
    (the history of a fork). `tell` says once that nothing is saved; `mirror` hears every entry, in order."""

    def __init__(
        self,
        path: str,
        log: Log,
        entries: Entries,
        *,
        lock: SessionLock | None = None,
        first: Callable[[], Iterator[Json]] | None = None,
        tell: Callable[[str], None] | None = None,
        mirror: Mirror | None = None,
    ) -> None:
        self.path = path
        self._log = log
        self._entries = entries
        self._lock = lock
        self._first = first
        self._tell_host = tell
        self._mirror = mirror
        self._fd: int | None = None
        self._torn = False
        self._told = False
        self._open_lines: dict[str, tuple[int, bytes]] = {}
        """uuid of an open line -> where it begins, and its bytes."""
        self._unmirrored: dict[str, Json] = {}
        """What waits behind an open line, in order, by uuid or number."""

    def feed(self, tagged: Tagged) -> None:
        """Remember an event; never raises."""
        try:
            entries = self._entries.feed(tagged)
            if isinstance(tagged.event, SessionChanged):
                self._move_to(tagged.event.session_id)
            if entries or (isinstance(tagged.event, TurnStarted) and tagged.parent_call_id is None):
                self._write_all(entries, tagged.at)
            if isinstance(tagged.event, TurnEnded) and tagged.parent_call_id is None:
                self._open_lines.clear()
                self._flush_mirror()
        except Exception as error:
            # An event that cannot be written must not cost the turn, whatever is wrong with it.
            self._tell(error)

    def close(self) -> None:
        """Let go of the file and of the session."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    def _move_to(self, session_id: str) -> None:
        self.close()
        self._torn = False
        self._first = None
        self._open_lines.clear()
        self.path = os.path.join(os.path.dirname(self.path), f"{session_id}.jsonl")

    # ------------------------------------------------------------ the file

    def _write_all(self, entries: Iterable[Entry], at: float) -> None:
        if self._fd is None:
            self._fd = self._open(at)
        for entry in entries:
            if entry.state == "settled":
                self._settle(entry.line)
            else:
                data = dumps(entry.line)
                if entry.state == "open":
                    data += b" " * ROOM
                end = self._append(self._fd, data + b"\n")
                if entry.state == "open":
                    self._open_lines[entry.line["uuid"]] = (end - len(data) - 1, data)
            self._hand_on(entry)
        self._flush_mirror_if_settled()

    def _open(self, at: float) -> int:
        make_folders(os.path.dirname(self.path))
        if self._lock is None:
            self._lock = hold(self.path, wait=0.0, now=lambda: timestamp(at))
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        fd = os.open(self.path, flags, FILE_MODE)
        size = os.fstat(fd).st_size
        if size:  # a run that was killed may have left half a line
            os.lseek(fd, size - 1, os.SEEK_SET)
            self._torn = os.read(fd, 1) != b"\n"
        if self._first is not None and not size:
            self._begin(fd, self._first())
        self._first = None
        return fd

    def _begin(self, fd: int, lines: Iterator[Json]) -> None:
        """Write what a new file begins with: all of it or, where that fails, nothing."""
        try:
            for line in lines:
                self._append(fd, dumps(line) + b"\n")
                if self._mirror is not None:
                    self._mirror(self.path, (line,))
        except BaseException:
            os.ftruncate(fd, 0)
            os.close(fd)
            self._torn = False
            raise

    def _append(self, fd: int, data: bytes) -> int:
        """One write for the line, and more only where the system took less. After half a line the next one starts on
        a fresh line, so that readers lose only the torn one. Returns where the line ends."""
        if self._torn:
            data = b"\n" + data
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(fd, rest) :]
        except OSError:
            self._torn = self._torn or 0 < len(rest) < len(data)
            raise
        self._torn = False
        return os.lseek(fd, 0, os.SEEK_CUR)

    def _settle(self, line: Json) -> None:
        """Write the final figures over the end of an open line."""
        start, old = self._open_lines.pop(line["uuid"], (0, b""))
        new = dumps(line).ljust(len(old))
        same = old.rfind(FIRST_FIGURE)
        if same < 0 or len(new) > len(old) or new[:same] != old[:same]:
            return  # not written, or figures without any measure: it stays as it is
        # a descriptor of its own: on one that appends, Linux takes no other place
        fd = os.open(self.path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
        try:
            os.lseek(fd, start + same, os.SEEK_SET)
            if os.read(fd, len(old) - same) != old[same:]:
                return  # somebody rewrote the file: what stands there is not ours
            os.lseek(fd, start + same, os.SEEK_SET)
            os.write(fd, new[same:])
        finally:
            os.close(fd)

    # ------------------------------------------------------------ who else hears of it

    def _hand_on(self, entry: Entry) -> None:
        """Queue an entry for the mirror; a settled one takes the place of its open form, so that order is kept."""
        if self._mirror is not None:
            key = entry.line.get("uuid") or f"#{len(self._unmirrored)}"
            if entry.state != "settled" or key in self._unmirrored:
                self._unmirrored[key] = entry.line

    def _flush_mirror_if_settled(self) -> None:
        if not self._open_lines:
            self._flush_mirror()

    def _flush_mirror(self) -> None:
        waiting, self._unmirrored = self._unmirrored, {}
        if self._mirror is not None:
            for line in waiting.values():  # one each: a line of the host protocol has a size limit
                self._mirror(self.path, (line,))

    def _tell(self, error: Exception) -> None:
        if self._told:
            return
        self._told = True
        message = f"the session is not being saved to {self.path}: {type(error).__name__}: {error}"
        self._log("warning", message)
        if self._tell_host is not None:
            self._tell_host(message)


def make_folders(path: str) -> None:
    """Every missing folder on the way is for its owner only (`os.makedirs` opens all but the last to everybody)."""
    missing = []
    while path and not os.path.isdir(path):
        missing.append(path)
        above = os.path.dirname(path)
        if above == path:
            break
        path = above
    for folder in reversed(missing):
        try:
            os.mkdir(folder, FOLDER_MODE)
        except FileExistsError:
            if not os.path.isdir(folder):
                raise
