"""One HTTP request to a server and its response: redirects, refusals, JSON bodies and event streams."""

from __future__ import annotations

from yume_shim.extensions.mcp.errors import McpError, NeedsAuth, SessionLost
from yume_shim.net.message import Body, is_sendable, read_final_head, request_head
from yume_shim.net.route import open_route
from yume_shim.net.url import redirect_url
from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from yume_shim.extensions.mcp.event_stream import EventStream, ServerEvent
    from yume_shim.extensions.mcp.http_channel import HttpChannel
    from yume_shim.net.message import Head
    from yume_shim.net.url import Url

MAX_MESSAGE_BYTES = 64 << 20
"""The longest message; an answer that is longer fails its request."""
MAX_ERROR_BYTES = 4_096
MAX_REDIRECTS = 3
UNAUTHORIZED, FORBIDDEN, NOT_FOUND = 401, 403, 404
REDIRECTS, KEEPING_REDIRECTS = (301, 302, 303), (307, 308)
"""The second kind keeps the method and the body, so it is followed for every request."""


class Exchange:
    """One request and its response, on a connection of its own. Entering it sends the request and reads the head."""

    def __init__(
        self, channel: HttpChannel, method: str, body: bytes, seconds: float, *, number: Any = None, last_id: str = ""
    ) -> None:
        """`number`: the JSON-RPC request that this is about; `last_id`: the event after which a stream goes on."""
        self._channel, self._method, self._body, self._seconds = channel, method, body, seconds
        self._number, self._last_id = number, last_id
        self.head: Head

    def __enter__(self) -> Exchange:
        headers = self._headers()
        try:
            self._follow(headers)
        except NeedsAuth:
            if self.head.status != UNAUTHORIZED or not self._channel.renew_token(headers):
                raise
            self._follow(self._headers())
        return self

    def _headers(self) -> list[tuple[str, str]]:
        accept = "text/event-stream" if self._method == "GET" else "application/json, text/event-stream"
        more = [("Content-Type", "application/json")] if self._body else []
        if self._last_id and is_sendable("Last-Event-ID", self._last_id):
            more.append(("Last-Event-ID", self._last_id))
        return self._channel.request_headers(accept) + more

    def _follow(self, headers: list[tuple[str, str]]) -> None:
        """Send the request; redirects are followed on the same host only, because the headers may hold a token."""
        url = self._channel.target
        for _ in range(MAX_REDIRECTS + 1):
            location = self._begin(url, headers)
            if location is None:
                return
            try:
                url, before = redirect_url(url, location), url
            except ValueError:
                raise McpError(f"HTTP {self.head.status}: the server redirects to no valid address") from None
            if url.origin != before.origin:
                where = f"redirects to {url.origin}: configure that address if it is right"
                raise McpError(f"HTTP {self.head.status}: the server {where}")
        raise McpError(f"the server redirects more than {MAX_REDIRECTS} times")

    def _begin(self, url: Url, headers: list[tuple[str, str]]) -> str | None:
        """Send the request and read the head; returns where to go instead, if the server redirects."""
        channel = self._channel
        connection = open_route(url, channel.env, channel.connect_s, channel.cancel)
        self._connection = connection
        channel.opened(connection, self._number, self._method)
        try:
            head = request_head(url, headers, len(self._body), connection.via, self._method)
            connection.sock.settimeout(self._seconds)
            connection.sock.sendall(head + self._body)
            self.head = read_final_head(connection, self._read)
            location = self._redirect()
            if location is None:
                self._check()
            else:
                channel.ended(connection)
            return location
        except BaseException:
            channel.ended(connection)
            raise

    def _redirect(self) -> str | None:
        status = self.head.status
        if status in KEEPING_REDIRECTS or (status in REDIRECTS and self._method == "GET"):
            return self.head.headers.get("location")
        return None

    def __exit__(self, *_: object) -> None:
        self._channel.ended(self._connection)

    def _read(self) -> bytes:
        return self._connection.read(self._seconds)

    def _check(self) -> None:
        status = self.head.status
        if 200 <= status <= 299:
            return
        if status in (UNAUTHORIZED, FORBIDDEN):
            raise NeedsAuth(f"HTTP {status}: the server wants a sign-in: {self._channel.sign_in_hint()}")
        if status == NOT_FOUND and self._channel.has_session:
            self._channel.forget_session()
            raise SessionLost("HTTP 404: the server no longer knows the session")
        text = next(self._pieces(0), b"")[:MAX_ERROR_BYTES].decode("utf-8", "replace").strip()
        raise McpError(f"HTTP {status}{f': {text}' if text else ''}")

    @property
    def is_stream(self) -> bool:
        """The response is an event stream."""
        return self.head.headers.get("content-type", "").lower().startswith("text/event-stream")

    def messages(self, stream: EventStream) -> Iterator[object]:
        """The JSON messages of the response; events are read into `stream`. Raises McpError."""
        if self.is_stream:
            for event in self.events(stream):
                if event.data.strip():
                    yield self._parsed(event.data)
            return
        body = b"".join(self._pieces(MAX_MESSAGE_BYTES))
        if body.strip():
            yield self._parsed(body)

    def events(self, stream: EventStream) -> Iterator[ServerEvent]:
        """Each server-sent event."""
        for piece in self._pieces(0):
            yield from stream.feed(piece)

    def _parsed(self, data: bytes) -> object:
        try:
            return codec.loads(data)
        except ValueError:
            kind = self.head.headers.get("content-type", "")[:100] or "no content type"
            raise McpError(f"the server's answer is not JSON ({kind})") from None

    def _pieces(self, most: int) -> Iterator[bytes]:
        """The body, as it arrives; more than `most` bytes (0 = no limit) raise McpError."""
        body, total = Body(self.head, self._read, MAX_MESSAGE_BYTES), 0
        while (piece := body.next()) is not None:
            total += len(piece)
            yield piece
            if most and total > most:
                raise McpError(f"the answer has more than {most} bytes")
