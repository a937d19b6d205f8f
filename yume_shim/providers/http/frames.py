"""Body bytes in, frames out: SSE, JSON lines or one whole JSON text, recognised by the first byte of the body.

The content type is ignored: proxies label streams as JSON and JSON errors as streams. Bytes may be cut anywhere, even
inside a character or a CRLF. Work per event is one line split and one JSON parse; nothing is scanned twice.
"""

from __future__ import annotations

from codecs import BOM_UTF8

from yume_shim.providers.wire.failures import failure_protocol, failure_too_large
from yume_shim.text import codec
from yume_shim.types.errors import ProviderFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.types.blocks import Json

MAX_EVENT_BYTES = 32 * 1024 * 1024
"""The longest line, event or whole JSON body that is accepted."""
MAX_ANSWER_BYTES = 256 * 1024 * 1024
"""The longest body, comments and all that surrounds the content included."""
LINE_OVERHEAD = 64
"""Memory that a held line costs besides its bytes."""
QUOTE_CHARS = 500
WARM_AFTER = 2_500
"""Frames after which the faster JSON parser pays for its import: 11 ms, against 4.4 µs saved per frame parsed and line
written (measured).
A wait for the first byte would hide the time, but not the work: most answers are shorter."""


class FrameParser:
    """One response body. `feed` returns the complete frames; `finish` those that the end of the body completes."""

    def __init__(self, provider: str, largest: int = MAX_EVENT_BYTES) -> None:
        self._provider = provider
        self._largest = largest
        self._take: Callable[[FrameParser, bytes], list[Json]] = FrameParser._first_bytes
        """Not a bound method: that would be a cycle, and what a failed answer has held would stay until the collector
        comes, which is after several such answers of 32 MB."""
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._after_cr = False
        self._event: list[bytes] = []
        self._event_bytes = 0
        self._count = self._total = 0

    def feed(self, data: bytes) -> list[Json]:
        """Frames that are complete with these bytes."""
        self._total += len(data)
        if self._total > MAX_ANSWER_BYTES:
            raise ProviderFailed(failure_too_large(f"more than {MAX_ANSWER_BYTES:,} bytes", self._provider))
        frames = self._take(self, data)
        if self._count < WARM_AFTER:
            self._count += len(frames)
            if self._count >= WARM_AFTER:
                codec.warm()
        return frames

    def finish(self) -> list[Json]:
        """The body has ended. An event without its blank line counts if its JSON is whole, else it is dropped."""
        rest = self._join_held()
        if self._take is FrameParser._sse:
            frames: list[Json] = []
            if rest:
                self._sse_line(rest, frames)
            self._end_event(frames)
            return [frame for frame in frames if "!bad" not in frame]
        if self._take is FrameParser._lines:
            return [frame for frame in _json_frames(rest) if "!bad" not in frame] if rest.strip() else []
        return _json_frames(rest) if rest.strip() else []

    # ------------------------------------------------------------ which kind of body

    def _first_bytes(self, data: bytes) -> list[Json]:
        self._hold(data)
        text = self._join_held().lstrip()
        while text.startswith(BOM_UTF8):
            text = text[len(BOM_UTF8) :].lstrip()
        if BOM_UTF8.startswith(text):  # nothing, or a part of the mark
            self._hold(text)
            return []
        match text[:1]:
            case b"{":
                self._take = FrameParser._lines
            case b"[":
                self._take = FrameParser._whole
            case b"<":
                raise ProviderFailed(
                    failure_protocol(
                        self._provider, "the answer was a web page, not the API", retryable=False, case="web_page"
                    )
                )
            case _:
                self._take = FrameParser._sse
        return self._take(self, text)

    # ------------------------------------------------------------ server-sent events

    def _sse(self, data: bytes) -> list[Json]:
        """Most data are whole events of one or two lines; whatever is not is read line by line."""
        frames: list[Json] = []
        begin, end = 0, data.rfind(b"\n\n") + 2
        if end < 2 or b"\r" in data:
            self._sse_lines(self._split(data), frames)
            return frames
        if self._event or self._held or self._after_cr:  # the end of an event that began earlier
            begin = data.find(b"\n\n") + 2
            self._sse_lines(self._split(data[:begin]), frames)
        events = data[begin : end - 2]
        alike = _frames_alike(events)
        if alike is not None:
            frames += alike
            events = b""
        for event in events.split(b"\n\n"):
            head, _, last = event.rpartition(b"\n")
            simple = not head or (head.startswith(b"event:") and b"\n" not in head)
            frame = codec.loads_object(last[5:]) if simple and last.startswith(b"data:") else None
            if frame is not None:
                frames.append(frame)
            elif event:
                self._sse_lines([*event.split(b"\n"), b""], frames)
        if end < len(data):
            self._sse_lines(self._split(data[end:]), frames)
        return frames

    def _sse_lines(self, lines: list[bytes], frames: list[Json]) -> None:
        event = self._event
        for line in lines:
            if not line:
                if event:
                    self._end_event(frames)
            elif line.startswith(b"data:") and not event:
                event.append(line[5:])
            elif line[:1] != b"e":  # `event:` lines, the most frequent of those we do not need
                self._sse_line(line, frames)

    def _sse_line(self, line: bytes, frames: list[Json]) -> None:
        """The rarer lines: more data of an event, or JSON that a proxy wrote without `data:`."""
        if line.startswith(b"data:"):
            if len(self._event) == 1 and codec.loads_object(self._event[0]) is not None:
                self._end_event(frames)  # some servers leave out the blank line between events
            self._event.append(line[5:])
            self._event_bytes += len(line) + LINE_OVERHEAD
            self._check(self._event_bytes)
        elif line.startswith(b"{"):
            frames.extend(_json_frames(line))

    def _end_event(self, frames: list[Json]) -> None:
        event = self._event
        if not event:
            return
        data = event[0] if len(event) == 1 else b"\n".join(event)
        event.clear()
        self._event_bytes = 0
        parsed = codec.loads_object(data)
        if parsed is not None:
            frames.append(parsed)
            return
        data = data.strip()
        if data == b"[DONE]":
            frames.append({"!done": True})
        elif data:
            frames.extend(_json_frames(data))

    # ------------------------------------------------------------ JSON lines, whole JSON

    def _lines(self, data: bytes) -> list[Json]:
        frames: list[Json] = []
        lines = self._split(data)
        for place, line in enumerate(lines):
            parsed = codec.loads_object(line)
            if parsed is not None:
                frames.append(parsed)
            elif self._count == 0 and not frames:  # the first line is not an object: JSON over several lines
                rest = self._join_held()
                self._take = FrameParser._whole
                return self._whole(b"\n".join([*lines[place:], rest]))
            elif line.strip():
                frames.extend(_json_frames(line))
        return frames

    def _whole(self, data: bytes) -> list[Json]:
        self._hold(data)
        return []

    # ------------------------------------------------------------ bytes -> lines

    def _split(self, data: bytes) -> list[bytes]:
        """The complete lines; line ends are LF, CRLF or CR. The rest is held for the next call."""
        if self._after_cr and data:
            self._after_cr = False
            if data[:1] == b"\n":
                data = data[1:]
        if b"\r" in data:
            self._after_cr = data[-1:] == b"\r"
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\n" not in data:
            self._hold(data)
            return []
        if self._held:
            data = self._join_held() + data
        lines = data.split(b"\n")
        rest = lines.pop()
        if rest:
            self._hold(rest)
        return lines

    def _hold(self, data: bytes) -> None:
        if data:
            self._held.append(data)
            self._held_bytes += len(data)
            self._check(self._held_bytes)

    def _join_held(self) -> bytes:
        joined = self._held[0] if len(self._held) == 1 else b"".join(self._held)
        self._held = []
        self._held_bytes = 0
        return joined

    def _check(self, size: int) -> None:
        if size > self._largest:
            message = f"one event of the answer is larger than {self._largest} bytes"
            raise ProviderFailed(failure_protocol(self._provider, message, retryable=False))


def _frames_alike(events: bytes) -> list[Json] | None:
    """The frames of events that begin alike, as the pieces of an answer do: parsed as one array, in half the time. None
    if they do not, or if one of them is anything but an object."""
    head = events[: events.find(b"{")]
    name, _, last = head.rpartition(b"\n")
    if not last.startswith(b"data:") or (name and (not name.startswith(b"event:") or b"\n" in name)):
        return None
    count = events.count(b"\n\n")
    between = b"\n\n" + head
    if not count or events.count(between + b"{") != count or not events.endswith(b"}"):
        return None
    try:
        frames = codec.loads(b"[%b]" % events[len(head) :].replace(between, b","))
    except ValueError:
        return None
    return frames if len(frames) == count + 1 and set(map(type, frames)) == {dict} else None


def _json_frames(data: bytes) -> list[Json]:
    """An object is a frame, an array one frame per element; anything else becomes a `!bad` frame that quotes it."""
    try:
        parsed: Any = codec.loads(data)
    except ValueError:
        return [{"!bad": data.decode("utf-8", "replace")[:QUOTE_CHARS]}]
    items = parsed if isinstance(parsed, list) else [parsed]
    return [item if isinstance(item, dict) else {"!bad": codec.dumps(item).decode()[:QUOTE_CHARS]} for item in items]
