"""Writes stdout; no other code does. Lines are written whole, and lines of one event in one write.

Writing is synchronous: a host that reads slowly slows the turn down instead of filling our memory. Nothing goes through
`sys.stdout`, so the interpreter has nothing to flush, and no error to print, when the host has gone.
"""

from __future__ import annotations

import os
import sys
import threading

from yume_shim.host.descriptors import claim
from yume_shim.text import codec
from yume_shim.text.separators import escape_separators

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from yume_shim.types.blocks import Json

    Shrink = Callable[[Json, int], Json]
    """(object, largest size of its JSON in bytes) -> the same line with its long parts cut."""

STDOUT, STDERR = 1, 2
LEAST_LINE_BYTES = 1_024
"""A lower cap is raised to this: a shorter line has no room for any content."""
MOST_ESCAPED = 6
"""Bytes that one byte of a line may become by escapes (DEL is `\\u007f`)."""
NO_ROOM = ("ENOSPC", "EDQUOT", "EFBIG")
"""Errors of a file that cannot take more: nobody has stopped reading, what is missing there will be missed."""
WAIT_FOR_ROOM = 1.0
"""Seconds between attempts to write to a full pipe that another process has set to non-blocking."""


class LineWriter:
    """Writes lines, from any thread, in the order of the calls. Once the host has gone everything is dropped."""

    def __init__(
        self,
        fd: int,
        max_line_bytes: int,
        wide_escapes: bool,
        shrink: Shrink | None = None,
        on_gone: Callable[[], None] | None = None,
    ) -> None:
        self._fd = claim(fd)
        self._max_line = max(max_line_bytes, LEAST_LINE_BYTES)
        self._wide = wide_escapes
        self._shrink = shrink
        self._on_gone = on_gone
        self._lock = threading.Lock()
        self._room: Callable[[float], bool] | None = None
        self._meter: Callable[[], int] | None = None
        self.gone = False
        self.problem = ""
        """Why the file that stdout is redirected to could not be written; "" if that is not the reason."""

    def write(self, objects: Iterable[Json]) -> None:
        """One line for each object, all of them in one write."""
        if self.gone:
            return
        self._send(b"".join([self._line_of(obj) for obj in objects]))

    def write_lines(self, lines: list[bytes]) -> int:
        """Write finished lines in one write, unless one of them could be over the cap. Returns how many were
        written."""
        if self.gone:
            return len(lines)
        whole = b"".join(lines)
        if len(whole) * MOST_ESCAPED > self._max_line and max(map(len, lines)) * MOST_ESCAPED > self._max_line:
            return 0
        self._send(escape_separators(whole, self._wide))
        return len(lines)

    def write_text(self, text: str) -> None:
        """Write text as it is, for the modes that print no lines."""
        if not self.gone:
            from yume_shim.text.clean import clean_model_text

            self._send(clean_model_text(text).encode("utf-8"))

    def has_room(self, seconds: float = 0.0) -> bool:
        """Does stdout take a line at once, or within this time? True where that cannot be found out, and once the host
        has gone."""
        if self.gone or self._fd < 0:
            return True
        check = self._room if not seconds else None  # one that waits is not shared with other threads
        if check is None:
            from yume_shim.system import room_check

            check = room_check(self._fd)
            if not seconds:
                self._room = check
        return check(seconds)

    def room(self) -> int:
        """How many bytes stdout takes at once, or fewer. For one thread."""
        if self.gone or self._fd < 0:
            return sys.maxsize
        if self._meter is None:
            from yume_shim.system import room_meter

            self._meter = room_meter(self._fd)
        return self._meter()

    def waits(self) -> bool:
        """Is a line being written? For longer than a moment that means that the host does not read."""
        return self._lock.locked()

    def watch_reader(self) -> None:
        """From now on notice that the host no longer reads, also while nothing is written."""
        from yume_shim.system import watch_reader

        if self._fd < 0:  # stdout was closed from the start
            return
        watch_reader(self._fd, self._reader_gone)

    def drain(self, timeout: float) -> bool:
        """Wait until no other thread is inside a write; False if one still is."""
        free = self._lock.acquire(timeout=timeout)
        if free:
            self._lock.release()
        return free

    # ------------------------------------------------------------ lines

    def _line_of(self, obj: Json) -> bytes:
        try:
            line = self._encode(obj)
            if len(line) <= self._max_line:
                return line
            if self._shrink is not None:
                obj = self._shrink(obj, self._max_line - 1)
                line = self._encode(obj)
                if len(line) <= self._max_line:
                    return line
        except Exception:
            pass  # not JSON, or it could not be shrunk: the fallback prints what it can
        from yume_shim.host.line_fallback import shrink_object

        return self._encode(shrink_object(obj, self._max_line - 1))

    def _encode(self, obj: Json) -> bytes:
        return escape_separators(codec.dumps(obj), self._wide) + b"\n"

    # ------------------------------------------------------------ bytes

    def _reader_gone(self) -> None:
        """Runs on the watching thread. Not under the lock: a write to a reader that has gone ends at once."""
        known, self.gone = self.gone, True
        if not known and self._on_gone is not None:
            self._on_gone()

    def _send(self, data: bytes) -> None:
        with self._lock:
            lost = not self.gone and not self._write_all(data)
            if lost:
                self.gone = True
        if lost and self._on_gone is not None:  # outside the lock: it may write
            self._on_gone()

    def _write_all(self, data: bytes) -> bool:
        """False when the host has gone. Any error but "not now" means that: EPIPE and EBADF, EINVAL on Windows, EIO of
        a lost terminal, ENOSPC of a full disk that stdout is redirected to."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BlockingIOError:
                from yume_shim.system import await_room

                await_room(self._fd, WAIT_FOR_ROOM)
            except OSError as error:
                from errno import errorcode

                if errorcode.get(error.errno or 0) in NO_ROOM:
                    self.problem = error.strerror or str(error)
                return False
        return True


def print_text(text: str) -> int:
    """Print a text for people. The exit code: 1, with a message, if a file could not take it."""
    writer = LineWriter(STDOUT, 0, wide_escapes=False)
    writer.write_text(text)
    if not writer.problem:
        return 0
    try:
        os.write(STDERR, f"yume-shim: stdout cannot be written: {writer.problem}\n".encode("utf-8", "replace"))
    except OSError:
        pass  # stderr is closed: only the exit code is left
    return 1
