"""A transcript file: one line, one append. The session goes on when it cannot be written; that is told once."""

from __future__ import annotations

import os

from yume_shim.text.codec import dumps
from yume_shim.types.events import SessionChanged, TurnStarted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.store.entries import Entries
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import Tagged

    Log = Callable[[str, str], None]

FILE_MODE = 0o600
FOLDER_MODE = 0o700


class JsonlStore:
    """Writes what `entries` makes of the events to `path`. The file appears with the first turn, before its init is
    printed (hosts look for it then), and not at all if nothing was asked."""

    def __init__(self, path: str, log: Log, entries: Entries) -> None:
        self.path = path
        self._log = log
        self._entries = entries
        self._fd: int | None = None
        self._torn = False
        self._told = False

    def feed(self, tagged: Tagged) -> None:
        """Remember an event; never raises."""
        try:
            lines = self._entries.feed(tagged)
            if isinstance(tagged.event, SessionChanged):
                self._move_to(tagged.event.session_id)
            if lines or (isinstance(tagged.event, TurnStarted) and tagged.parent_call_id is None):
                self._append(lines)
        except Exception as error:
            # An event that cannot be written must not cost the turn, whatever is wrong with it.
            self._tell(error)

    def close(self) -> None:
        """Let go of the file."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def _move_to(self, session_id: str) -> None:
        self.close()
        self._torn = False
        self.path = os.path.join(os.path.dirname(self.path), f"{session_id}.jsonl")

    def _append(self, lines: list[Json]) -> None:
        if self._fd is None:
            self._fd = self._open()
        for line in lines:
            self._write(self._fd, dumps(line) + b"\n")

    def _open(self) -> int:
        _make_folders(os.path.dirname(self.path))
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        fd = os.open(self.path, flags, FILE_MODE)
        size = os.fstat(fd).st_size
        if size:  # a run that was killed may have left half a line
            os.lseek(fd, size - 1, os.SEEK_SET)
            self._torn = os.read(fd, 1) != b"\n"
        return fd

    def _write(self, fd: int, data: bytes) -> None:
        """One write for the line, and more only where the system took less. After half a line the next one starts on
        a fresh line, so that readers lose only the torn one."""
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

    def _tell(self, error: Exception) -> None:
        if self._told:
            return
        self._told = True
        self._log("warning", f"the session is not being saved to {self.path}: {type(error).__name__}: {error}")


def _make_folders(path: str) -> None:
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
