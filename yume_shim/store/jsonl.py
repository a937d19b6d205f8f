"""Writes a transcript file, one append per line. If that fails, the session continues and the host is warned once.

The lines of an answer are written as soon as its blocks are complete, with blanks at the end. When the answer has
ended, the final figures overwrite the end of the same lines. JSON allows the blanks, no reader sees a message twice,
and a process killed in between loses only figures. Only bytes that this process wrote are replaced.
"""

from __future__ import annotations

import os

from yume_shim.store.layout import FILE_MODE, FOLDER_MODE
from yume_shim.store.lock import hold
from yume_shim.text.codec import dumps
from yume_shim.types.events import BlockEnded, BlockStarted, ResponseDropped, SessionChanged, TurnEnded, TurnStarted
from yume_shim.types.shapes import timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from yume_shim.store.entries import Entries, Entry
    from yume_shim.store.lock import SessionLock
    from yume_shim.store.open_block import OpenBlock
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import BlockDelta, Tagged

    Log = Callable[[str, str], None]
    Mirror = Callable[[str, "tuple[Json, ...]"], None]

ROOM = 160
"""Blanks at the end of an open line: enough for seven counts that grow by nine digits, a stop reason and a cost."""
FIRST_FIGURE = b',"stop_reason":'
"""The start of the part of a line that is final only when the answer has ended."""


class JsonlStore:
    """Writes the lines that `entries` makes of the events to `path`. The file is created at the first turn, before init
    is printed (hosts look for it then), and not at all if there was no prompt. `first` gives the lines that a new file
    starts with (the history of a fork). `warn_host` is called once if nothing can be saved. `mirror` gets every entry,
    in order. `locks`: take the lock of `path` unless `lock` is given.

    It has no lock of its own: `EventOutput` feeds it from any thread, under its lock."""

    def __init__(
        self,
        path: str,
        log: Log,
        entries: Entries,
        *,
        lock: SessionLock | None = None,
        locks: bool = True,
        first: Callable[[], Iterator[Json]] | None = None,
        warn_host: Callable[[str], None] | None = None,
        mirror: Mirror | None = None,
    ) -> None:
        self.path = path
        self.log = log
        self.entries = entries
        self.warn_host = warn_host
        self.mirror = mirror
        self.at_end: Callable[[], None] | None = None
        """Called when the file is complete and still locked; not if the session moves to another one."""
        self._lock = lock
        self._locks = locks
        self._first = first
        self._fd: int | None = None
        self._torn = False
        """The file ends with half a line."""
        self._warned = False
        self._open_lines: dict[str, tuple[int, bytes]] = {}
        """uuid of an open line -> its offset, and its bytes."""
        self._open_block: OpenBlock | None = None
        """Text that is written while it streams; None = it is written when its block is complete."""
        self._unmirrored: dict[str, Json] = {}
        """Entries that wait until the open lines before them are settled, in order, by uuid or number."""

    def feed(self, tagged: Tagged) -> None:
        """Record an event; never raises."""
        if not self.entries.records(tagged):
            return
        try:
            entries = self.entries.feed(tagged)
            if isinstance(tagged.event, BlockStarted) and self._open_block is not None:
                self._open_block.start(tagged.event, tagged.at)
            if isinstance(tagged.event, SessionChanged):
                self._move_to(tagged.event.session_id)
            if entries or isinstance(tagged.event, TurnStarted):
                self._write_all(entries, tagged.at)
            if isinstance(tagged.event, TurnEnded):
                self._open_lines.clear()
                self._flush_mirror()
            if isinstance(tagged.event, (BlockEnded, ResponseDropped, TurnEnded)):
                self._drop_open_block()
        except Exception as error:
            # An event that cannot be written must not end the turn, whatever is wrong with it.
            self._warn(error)

    def write_open_text(self) -> None:
        """From now on write the text of a block while it streams: `feed_delta` is called for each piece."""
        from yume_shim.store.open_block import OpenBlock

        self._open_block = OpenBlock(self.entries)

    def feed_delta(self, event: BlockDelta, at: float) -> None:
        """A piece of the open block; never raises."""
        if self._open_block is None or event.kind != "text" or not self._open_block.add(event, at):
            return
        try:
            if self._fd is not None and not self._torn:
                self._open_block.write(self.path, at)
        except Exception as error:
            self._warn(error)

    def _drop_open_block(self) -> None:
        """The block is over. Remove its early line if no other took its place: what it showed is void."""
        span = self._open_block.take_span() if self._open_block is not None else None
        if span is not None and os.path.getsize(self.path) == span[1]:
            os.truncate(self.path, span[0])

    def close(self) -> None:
        """Close the file, do what is to be done at the end, and release the lock."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)
        at_end, self.at_end = self.at_end, None
        if at_end is not None:
            at_end()
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    def _move_to(self, session_id: str) -> None:
        self.at_end = None
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
            self._queue_for_mirror(entry)
        self._flush_mirror_if_settled()

    def _open(self, at: float) -> int:
        make_folders(os.path.dirname(self.path))
        if self._lock is None and self._locks:
            self._lock = hold(self.path, wait=0.0, now=lambda: timestamp(at))
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        fd = os.open(self.path, flags, FILE_MODE)
        size = os.fstat(fd).st_size
        if size:  # a killed process may have left half a line
            os.lseek(fd, size - 1, os.SEEK_SET)
            self._torn = os.read(fd, 1) != b"\n"
        if self._first is not None and not size:
            self._begin(fd, self._first())
        self._first = None
        return fd

    def _begin(self, fd: int, lines: Iterator[Json]) -> None:
        """Write the first lines of a new file: all of them, or none if that fails."""
        try:
            for line in lines:
                self._append(fd, dumps(line) + b"\n")
                if self.mirror is not None:
                    self.mirror(self.path, (line,))
        except BaseException:
            os.ftruncate(fd, 0)
            os.close(fd)
            self._torn = False
            raise

    def _append(self, fd: int, data: bytes) -> int:
        """Write a line with one call, and with more only if the system wrote a part of it. If the file ends with half a
        line, start a new one, so that readers lose only the torn line. Returns the offset of the end of the line."""
        span = self._open_block.take_span() if self._open_block is not None else None
        if span is not None and os.fstat(fd).st_size == span[1]:
            from yume_shim.store.open_block import replace_end

            return replace_end(self.path, span[0], data)[1]
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
            return  # the line was not written, or the figures are too long: it stays as it is
        # a second descriptor: in append mode Linux ignores the offset
        fd = os.open(self.path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
        try:
            os.lseek(fd, start + same, os.SEEK_SET)
            if os.read(fd, len(old) - same) != old[same:]:
                return  # another program rewrote the file: these are not our bytes
            os.lseek(fd, start + same, os.SEEK_SET)
            os.write(fd, new[same:])
        finally:
            os.close(fd)

    # ------------------------------------------------------------ the mirror and warnings

    def _queue_for_mirror(self, entry: Entry) -> None:
        """A settled entry replaces its open form in the queue, so that the order stays."""
        if self.mirror is not None:
            key = entry.line.get("uuid") or f"#{len(self._unmirrored)}"
            if entry.state != "settled" or key in self._unmirrored:
                self._unmirrored[key] = entry.line

    def _flush_mirror_if_settled(self) -> None:
        if not self._open_lines:
            self._flush_mirror()

    def _flush_mirror(self) -> None:
        waiting, self._unmirrored = self._unmirrored, {}
        if self.mirror is not None:
            for line in waiting.values():  # one by one: a line of the host protocol has a size limit
                self.mirror(self.path, (line,))

    def _warn(self, error: Exception) -> None:
        if self._warned:
            return
        self._warned = True
        message = f"the session is not being saved to {self.path}: {getattr(error, 'strerror', None) or error}"
        self.log("warning", message)
        if self.warn_host is not None:
            self.warn_host(message)


def make_folders(path: str) -> None:
    """Make every missing folder for the owner only (`os.makedirs` makes all but the last one with default rights)."""
    missing = []
    while path and not os.path.isdir(path):
        missing.append(path)
        parent = os.path.dirname(path)
        if parent == path:
            break
        path = parent
    for folder in reversed(missing):
        try:
            os.mkdir(folder, FOLDER_MODE)
        except FileExistsError:
            if not os.path.isdir(folder):
                raise
