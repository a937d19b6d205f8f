"""Joins pieces of text into one line while the host does not read, or for the time that it asked for.

A piece is held only if stdout has no room for it or an interval is set; then pieces of the same block join it. Any
other line, a full buffer, the end of the interval and a host that reads again send what is held first, so nothing
changes but the number of lines.
"""

from __future__ import annotations

import threading
from time import monotonic, sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.host.writer import LineWriter
    from yume_shim.types.blocks import Json

CONTENT = {"text": "content", "thinking": "thought"}
"""The lines that are joined, and the field that grows."""
MAX_HELD = 12_000
"""Characters of a joined line: with the worst escapes it stays below the cap of a line."""
CAP_SHARE = 8
"""A lower cap of lines lowers that limit, too."""
LOOK_S = 0.1
"""How often a host that does not read is looked at."""


class DeltaMerger:
    """Writes lines through a LineWriter. `write` runs on the threads that emit events, one at a time; a thread of its
    own sends what is held when nothing else does. The lock guards what is held."""

    def __init__(self, writer: LineWriter, interval_s: float, max_line: int) -> None:
        """`interval_s` 0: pieces are joined only while the host does not read."""
        self._writer, self._interval = writer, interval_s
        self._limit = min(MAX_HELD, max_line // CAP_SHARE)
        self._lock = threading.Lock()
        self._filled = threading.Condition(self._lock)
        self._held: Json | None = None
        self._room = 0
        """Bytes that stdout still takes at once, as far as is known."""
        self._since = 0.0
        self._sender: threading.Thread | None = None

    def write(self, lines: Sequence[Json]) -> None:
        """Write lines now, or hold a piece of text."""
        with self._lock:
            if len(lines) == 1 and self._take(lines[0]):
                return
            self._send()
            self._room = 0
            self._writer.write(lines)

    def write_lines(self, lines: list[bytes]) -> int:
        """Write as many finished lines as stdout takes at once; returns their number. The others must come as
        objects."""
        with self._lock:
            if self._interval or self._held is not None:
                return 0
            if self._has_room_for(sum(map(len, lines))):
                return self._writer.write_lines(lines)
            done = size = 0
            for line in lines:
                if self._room < size + len(line):
                    break
                done, size = done + 1, size + len(line)
            self._room -= size
            return self._writer.write_lines(lines[:done]) if done else 0

    def write_text(self, text: str) -> None:
        """Write text as it is."""
        self._writer.write_text(text)

    # ------------------------------------------------------------ holding; the lock is held

    def _has_room_for(self, size: int) -> bool:
        """Does stdout take so many bytes at once? Looking costs a system call, so the room that was found is remembered
        until it is used up."""
        if size > self._room:
            self._room = self._writer.room()
        if size > self._room:
            return False
        self._room -= size
        return True

    def _take(self, line: Json) -> bool:
        """Hold a piece of text, or add it to the one that is held; False if it must be written now."""
        field = CONTENT.get(line["type"])
        if field is None or field not in line:
            return False
        held = self._held
        if held is not None:
            if _same_block(held, line) and len(held[field]) + len(line[field]) <= self._limit:
                held[field] += line[field]
                if self._interval and monotonic() - self._since >= self._interval:
                    self._send()
                return True
            self._send()
        if len(line[field]) > self._limit or (not self._interval and self._writer.has_room()):
            return False
        self._held, self._since = dict(line), monotonic()
        if self._sender is None:
            self._sender = threading.Thread(target=self._send_later, daemon=True, name="held-text")
            self._sender.start()
        self._filled.notify()
        return True

    def _send(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._room = 0
            self._writer.write((held,))

    def _send_later(self) -> None:
        """Send what is held when its time is over and the host reads."""
        while True:
            with self._lock:
                while self._held is None:
                    self._filled.wait()
                wait = self._since + self._interval - monotonic()
            if wait > 0:
                sleep(wait)
                continue
            if not self._writer.has_room(LOOK_S):
                continue
            with self._lock:
                if monotonic() - self._since >= self._interval:
                    self._send()


def _same_block(held: Json, line: Json) -> bool:
    names = ("type", "id", "parent_tool_use_id")
    return all(held.get(name) == line.get(name) for name in names)
