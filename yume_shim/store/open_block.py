"""The text of a block that is still streaming, written to the transcript about once per second.

A host has read the text of an open block before its line can be complete. So that a killed process loses at most a
second of it, the line is written early and written again as it grows, always as the last line of the file. The line of
the complete block takes its place.
"""

from __future__ import annotations

import os

from yume_shim.text.codec import dumps
from yume_shim.types.blocks import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.store.entries import Entries
    from yume_shim.types.events import BlockDelta, BlockStarted

SECONDS = 1.0
"""Text is on disk at most so long after it was received."""


class OpenBlock:
    """The open text block of one transcript. Raises OSError."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        self._pieces: list[str] | None = None
        self._due = 0.0
        self._uuid = ""
        self.span: tuple[int, int] | None = None
        """Where its line is in the file; None = it was not written."""

    def start(self, event: BlockStarted, at: float) -> None:
        """A block begins; only text is written."""
        self._pieces = [event.block.text] if isinstance(event.block, Text) else None
        self._due, self._uuid = at + SECONDS, ""

    def add(self, event: BlockDelta, at: float) -> bool:
        """Keep a piece of the block. True if its line is to be written now."""
        if self._pieces is None:
            return False
        self._pieces.append(event.text)
        return at >= self._due or at < self._due - SECONDS  # the clock may be set back

    def write(self, path: str, at: float) -> None:
        """Write the line, over its earlier form."""
        if self._pieces is None:
            return
        if self.span is not None and os.path.getsize(path) != self.span[1]:
            self.take_span()  # another program has written after it: the early line stays, as a branch that ends
            return
        self._due = at + SECONDS
        self._pieces = ["".join(self._pieces)]
        self._uuid = self._uuid or self._entries.fresh_uuid()
        data = dumps(self._entries.open_line(self._pieces[0], self._uuid, at)) + b"\n"
        start = None if self.span is None else self.span[0]
        self.span = replace_end(path, start, data)

    def take_span(self) -> tuple[int, int] | None:
        """The place of the line, which the caller overwrites or removes; the block is over."""
        span, self.span, self._pieces = self.span, None, None
        return span


def replace_end(path: str, start: int | None, data: bytes) -> tuple[int, int]:
    """Write `data` at `start` (None = the end of the file) so that the file ends with it; returns its place. The old
    end is overwritten, never removed first: a process that is killed leaves the one or the other."""
    # a second descriptor: in append mode Linux ignores the offset
    fd = os.open(path, os.O_WRONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
    try:
        size = os.lseek(fd, 0, os.SEEK_END)
        start = size if start is None else start
        os.lseek(fd, start, os.SEEK_SET)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
        if size > start + len(data):
            os.ftruncate(fd, start + len(data))
        return start, start + len(data)
    finally:
        os.close(fd)
