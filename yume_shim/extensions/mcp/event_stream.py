"""Server-sent events out of the bytes of a response. Pure."""

from __future__ import annotations

from yume_shim.extensions.mcp.errors import McpError
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_EVENT_BYTES = 64 << 20
MAX_ID = 1_000


class ServerEvent(Value):
    """One event. `id` is the last one that the stream named, also in an earlier event."""

    name: str
    data: bytes
    id: str = ""


class EventStream:
    """Reads one stream; `retry_s` is the pause that the server wants before the stream is opened again, if it said so.
    Not safe from several threads."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self.retry_s: float | None = None
        self._line = bytearray()
        self._after_return = False
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        """The events that this piece completes; raises McpError if one is too long."""
        if self._after_return and piece.startswith(b"\n"):
            piece = piece[1:]  # the second half of a line end
        self._after_return = piece.endswith(b"\r")
        first, *rest = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._line += first
        if self._size + len(self._line) > MAX_EVENT_BYTES:
            raise McpError(f"the server sent an event of more than {MAX_EVENT_BYTES >> 20} MB")
        if not rest:
            return
        *lines, last = [bytes(self._line), *rest]
        self._line = bytearray(last)
        for line in lines:
            if line:
                self._take(line)
            elif self._data or self._name:
                yield ServerEvent(self._name or "message", b"\n".join(self._data), self.last_id)
                self._name, self._data, self._size = "", [], 0

    def _take(self, line: bytes) -> None:
        field, _, text = line.partition(b":")
        text = text.removeprefix(b" ")
        match field:
            case b"data":
                self._data.append(text)
                self._size += len(text)
            case b"event":
                self._name = text.strip().decode("ascii", "replace")
            case b"id" if b"\0" not in text and len(text) <= MAX_ID:
                self.last_id = text.decode("ascii", "replace")
            case b"retry" if text.isdigit() and len(text) < 10:
                self.retry_s = int(text) / 1000
