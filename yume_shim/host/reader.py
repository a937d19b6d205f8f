"""Reads stdin on a separate thread and splits it into lines.

A thread and plain reads work alike for pipes, files, terminals and on Windows, where no event loop can wait for stdin.
Lines end at LF only: U+2028 and the like are ordinary characters of a JSON string.
"""

from __future__ import annotations

import os
import threading
from codecs import BOM_UTF8

from yume_shim.host.descriptors import claim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MAX_INPUT_LINE = 64 * 1024 * 1024
"""Bytes of one line, without its end."""
READ_CHUNK = 64 * 1024
"""The capacity of a Linux pipe; larger reads would only allocate more."""
LONG_LINE_HEAD = 1024
"""Bytes kept of a line that is too long, for the message about it."""
WAIT_FOR_INPUT = 1.0
"""Seconds between attempts to read a stdin that another process has set to non-blocking."""


class LineReader:
    """Calls `on_line` for every line (without CR and LF), `on_long` with the start of each line that was too long and
    dropped, and `on_end` once, however the input ended. All of them run on the reader's thread: a slow callback delays
    reading, and so the host."""

    def __init__(
        self,
        fd: int,
        on_line: Callable[[bytes], None],
        on_end: Callable[[], None],
        on_long: Callable[[bytes], None],
        max_line: int = MAX_INPUT_LINE,
    ) -> None:
        self._fd = claim(fd)
        self._on_line = on_line
        self._on_end = on_end
        self._on_long = on_long
        self._max_line = max_line
        self._parts: list[bytes] = []
        self._size = 0
        self._long_head: bytes | None = None
        self._at_start = True

    def start(self) -> None:
        """Begin to read. The thread is a daemon: it never keeps the process alive."""
        threading.Thread(target=self._run, name="stdin", daemon=True).start()

    def _run(self) -> None:
        try:
            while chunk := self._read():
                self._take(chunk)
            self._finish()
        finally:
            self._on_end()

    def _read(self) -> bytes:
        """The next bytes; b"" at the end. A stdin that cannot be read (closed, lost terminal) is at its end."""
        while True:
            try:
                return os.read(self._fd, READ_CHUNK)
            except BlockingIOError:
                from yume_shim.system import await_input

                await_input(self._fd, WAIT_FOR_INPUT)
            except OSError:
                return b""

    def _take(self, chunk: bytes) -> None:
        lines = chunk.split(b"\n")
        for line in lines[:-1]:
            self._add(line)
            self._deliver()
        self._add(lines[-1])

    def _add(self, part: bytes) -> None:
        """Gather a piece of the current line; beyond the limit only its head is kept, so memory stays bounded."""
        if not part or self._long_head is not None:
            return
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._max_line + 1:  # the CR of a CRLF may still be among them
            self._mark_long(b"".join(self._parts))

    def _mark_long(self, line: bytes) -> None:
        self._long_head = line[:LONG_LINE_HEAD]
        self._parts.clear()
        self._size = 0

    def _deliver(self) -> None:
        line = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        if line.endswith(b"\r"):
            line = line[:-1]
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(BOM_UTF8)
        if self._long_head is None and len(line) > self._max_line:
            self._mark_long(line)
        if self._long_head is not None:
            head, self._long_head = self._long_head, None
            self._on_long(head.rstrip(b"\r"))
        else:
            self._on_line(line)

    def _finish(self) -> None:
        """A last line without its LF counts."""
        if self._parts or self._long_head is not None:
            self._deliver()
