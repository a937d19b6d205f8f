"""The HTTP transports: streamable HTTP (a POST per message, answered by JSON or an event stream), and the older SSE.

Each exchange has a thread of its own, so that a slow server delays only the request it is about. Nothing is retried.
"""

from __future__ import annotations

import threading

from yume_shim.extensions.mcp.errors import CLOSED, McpError, NeedsAuth, ServerGone
from yume_shim.net.errors import NetError
from yume_shim.net.message import Body, is_sendable, read_final_head, request_head
from yume_shim.net.route import open_route
from yume_shim.net.url import parse_url, redirect_url
from yume_shim.text import codec
from yume_shim.types.errors import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from yume_shim.extensions.mcp.channel import Gone
    from yume_shim.extensions.mcp.peer import Peer
    from yume_shim.extensions.mcp.server import McpServices
    from yume_shim.extensions.mcp.tokens import SavedToken
    from yume_shim.net.message import Head
    from yume_shim.net.route import Connection
    from yume_shim.net.url import Url
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Cancel
    from yume_shim.types.settings import McpServer

    Log = Callable[[str, str], None]

MAX_MESSAGE_BYTES = 64 << 20
"""The longest message; an answer that is longer fails its request."""
MAX_ERROR_BYTES = 4_096
MAX_EXCHANGES = 32
"""Requests that may be open at the same time; a further one fails."""
IDLE_S = 300.0
"""Longest silence of an event stream that nobody waits for; it is opened again after that."""
MAX_REOPENED = 100
HELPER_S = 10.0
UNAUTHORIZED, FORBIDDEN = 401, 403


def open_http_channel(config: McpServer, services: McpServices, log: Log, peer: Peer, gone: Gone) -> HttpChannel:
    """The channel for an `http` or `sse` server; raises McpError."""
    try:
        url = parse_url(config.url)
    except ValueError as error:
        raise McpError(f"not a valid address: {error}") from None
    headers = {**config.headers, **(_helper_headers(config, services) if config.headers_helper else {})}
    for name, text in headers.items():
        if not is_sendable(name, text):
            raise McpError(f"the header {name} cannot be sent")
    token = None
    if not any(name.lower() == "authorization" for name in headers):
        from yume_shim.extensions.mcp.tokens import saved_token

        token = saved_token(config.url, services.env, services.lifetime)
    kind = SseChannel if config.kind == "sse" else HttpChannel
    channel = kind(url, headers, services, log, peer, gone, name=config.name, token=token)
    channel.open()
    return channel


class HttpChannel:
    """Implements `Channel` for streamable HTTP. The lock guards the open connections and the session's id."""

    def __init__(
        self,
        url: Url,
        headers: Mapping[str, str],
        services: McpServices,
        log: Log,
        peer: Peer,
        gone: Gone,
        *,
        name: str,
        token: SavedToken | None,
    ) -> None:
        self._url, self._headers, self._services = url, headers, services
        self._name, self._token = name, token
        self._log, self._peer, self._gone = log, peer, gone
        self._lock = threading.Lock()
        self._connections: set[Connection] = set()
        self._session = self._version = ""
        self._closed = False

    def open(self) -> None:
        """Nothing to do: the first message opens the first connection."""

    def use_version(self, version: str) -> None:
        """The handshake is done: requests carry the version, and the server may send messages by itself."""
        self._version = version
        threading.Thread(target=self._listen, name="mcp-listen", daemon=True).start()

    def send(self, message: Json) -> None:
        with self._lock:
            if self._closed:
                raise ServerGone(CLOSED)
            if len(self._connections) >= MAX_EXCHANGES:
                raise McpError(f"{MAX_EXCHANGES} requests are open already")
        threading.Thread(target=self._post, args=(message,), name="mcp-http", daemon=True).start()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            open_now = list(self._connections)
        for connection in open_now:
            connection.abort()

    def finish(self, seconds: float) -> None:
        """End the session at the server, if it has one; a server that does not answer is left alone."""
        if not self._session:
            return
        try:
            with _Exchange(self, "DELETE", b"", seconds) as exchange:
                self._log("debug", f"session ended: {exchange.head.status}")
        except (NetError, OSError, McpError, Cancelled) as error:
            self._log("debug", f"session not ended: {error}")

    # ------------------------------------------------------------ exchanges, each on its own thread

    def _post(self, message: Json) -> None:
        number = message.get("id") if "method" in message else None
        try:
            with _Exchange(self, "POST", codec.dumps(message), self._services.call_s) as exchange:
                self._session = exchange.head.headers.get("mcp-session-id", "") or self._session
                for answer in exchange.messages():
                    self._peer.take(answer)
        except McpError as error:
            self._peer.fail(number, error)
        except (NetError, OSError, Cancelled) as error:
            self._peer.fail(number, ServerGone(CLOSED if self._closed else f"{error}"))
        else:
            self._peer.fail(number, ServerGone("the server ended its answer without a result"))

    def _listen(self) -> None:
        """Messages that the server sends by itself: one event stream, opened again when it ends."""
        for _ in range(MAX_REOPENED):
            try:
                with _Exchange(self, "GET", b"", IDLE_S) as exchange:
                    if not exchange.is_stream:
                        return
                    for message in exchange.messages():
                        self._peer.take(message)
            except McpError:
                return  # most servers have no such stream (405)
            except (NetError, OSError, Cancelled):
                pass
            if self._services.lifetime.wait(1.0) or self._closed:
                return

    def request_headers(self, accept: str) -> list[tuple[str, str]]:
        """The headers of a request; the user's own come last."""
        made = [("Accept", accept), ("User-Agent", "yume-shim")]
        if self._session:
            made.append(("Mcp-Session-Id", self._session))
        if self._version:
            made.append(("MCP-Protocol-Version", self._version))
        if self._token is not None:
            made.append(("Authorization", self._token.header()))
        own = {name.lower() for name in self._headers}
        return [(name, text) for name, text in made if name.lower() not in own] + list(self._headers.items())

    # for exchanges

    def renew_token(self, refused: list[tuple[str, str]]) -> bool:
        """After a refusal: is there a new token to try?"""
        return self._token is not None and self._token.renew(dict(refused).get("Authorization", ""))

    def sign_in_hint(self) -> str:
        """What the user can do when the server wants a sign-in."""
        if any(name.lower() == "authorization" for name in self._headers):
            return "it refuses the configured Authorization header"
        return f"run `yume-shim mcp login {self._name}`, or configure a token in its `headers`"

    @property
    def target(self) -> Url:
        return self._url

    @property
    def env(self) -> Mapping[str, str]:
        return self._services.env

    @property
    def connect_s(self) -> float:
        return self._services.connect_s

    def opened(self, connection: Connection) -> None:
        with self._lock:
            if self._closed:
                connection.close()
                raise ServerGone(CLOSED)
            self._connections.add(connection)

    def ended(self, connection: Connection) -> None:
        with self._lock:
            self._connections.discard(connection)
        connection.close()

    @property
    def cancel(self) -> Cancel:
        return self._services.lifetime


class SseChannel(HttpChannel):
    """The transport of protocol version 2024-11-05: one event stream for all answers, whose first event names the
    address for messages."""

    def open(self) -> None:
        """Open the stream and wait for the address; raises McpError."""
        self._ready = threading.Event()
        self._place: Url | None = None
        self._why = McpError("no address for messages was sent")
        threading.Thread(target=self._stream, name="mcp-sse", daemon=True).start()
        self._ready.wait(self._services.connect_s)
        if self._place is None:
            self.close()
            raise self._why

    def use_version(self, version: str) -> None:
        self._version = version

    @property
    def target(self) -> Url:
        return self._place or self._url

    def _stream(self) -> None:
        try:
            with _Exchange(self, "GET", b"", self._services.call_s) as exchange:
                for kind, data in exchange.events():
                    if kind == "endpoint":
                        self._place = redirect_url(self._url, data.decode("utf-8", "replace"))
                        self._ready.set()
                    else:
                        self._peer.take(codec.loads(data))
            self._why = McpError(CLOSED)
        except McpError as error:
            self._why = error
        except (NetError, OSError, ValueError, Cancelled) as error:
            self._why = McpError(str(error))
        self._ready.set()
        if self._place is not None:
            self._gone(CLOSED)

    def _post(self, message: Json) -> None:
        try:
            with _Exchange(self, "POST", codec.dumps(message), self._services.call_s):
                pass  # the answer comes on the stream
        except (McpError, NetError, OSError, Cancelled) as error:
            self._peer.fail(message.get("id"), ServerGone(str(error)))

    def finish(self, seconds: float) -> None:
        """There is no session to end."""


class _Exchange:
    """One request and its response, on a connection of its own. Entering it sends the request and reads the head."""

    def __init__(self, channel: HttpChannel, method: str, body: bytes, seconds: float) -> None:
        self._channel, self._method, self._body, self._seconds = channel, method, body, seconds
        self.head: Head

    def __enter__(self) -> _Exchange:
        headers = self._headers()
        try:
            self._begin(headers)
        except NeedsAuth:
            if self.head.status != UNAUTHORIZED or not self._channel.renew_token(headers):
                raise
            self._begin(self._headers())
        return self

    def _headers(self) -> list[tuple[str, str]]:
        accept = "text/event-stream" if self._method == "GET" else "application/json, text/event-stream"
        content = [("Content-Type", "application/json")] if self._body else []
        return self._channel.request_headers(accept) + content

    def _begin(self, headers: list[tuple[str, str]]) -> None:
        channel, url = self._channel, self._channel.target
        connection = open_route(url, channel.env, channel.connect_s, channel.cancel)
        self._connection = connection
        channel.opened(connection)
        try:
            head = request_head(url, headers, len(self._body), connection.via, self._method)
            connection.sock.settimeout(self._seconds)
            connection.sock.sendall(head + self._body)
            self.head = read_final_head(connection, self._read)
            self._check()
        except BaseException:
            channel.ended(connection)
            raise

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
        text = next(self._pieces(0), b"")[:MAX_ERROR_BYTES].decode("utf-8", "replace").strip()
        raise McpError(f"HTTP {status}{f': {text}' if text else ''}")

    @property
    def is_stream(self) -> bool:
        """The response is an event stream."""
        return self.head.headers.get("content-type", "").lower().startswith("text/event-stream")

    def messages(self) -> Iterator[object]:
        """The JSON messages of the response."""
        if self.is_stream:
            for _, data in self.events():
                if data.strip():
                    yield _parsed(data)
            return
        body = b"".join(self._pieces(MAX_MESSAGE_BYTES))
        if body.strip():
            yield _parsed(body)

    def events(self) -> Iterator[tuple[str, bytes]]:
        """(name, data) of each server-sent event."""
        held = late = b""
        for piece in self._pieces(0):
            piece = late + piece
            late = b"\r" if piece.endswith(b"\r") else b""  # its line feed may follow in the next piece
            held += piece.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            while b"\n\n" in held:
                block, _, held = held.partition(b"\n\n")
                yield _event(block)
            if len(held) > MAX_MESSAGE_BYTES:
                raise McpError(f"the server sent an event of more than {MAX_MESSAGE_BYTES >> 20} MB")

    def _pieces(self, most: int) -> Iterator[bytes]:
        """The body, as it arrives; more than `most` bytes (0 = no limit) raise McpError."""
        body, total = Body(self.head, self._read, MAX_MESSAGE_BYTES), 0
        while (piece := body.next()) is not None:
            total += len(piece)
            yield piece
            if most and total > most:
                raise McpError(f"the answer has more than {most} bytes")


def _event(block: bytes) -> tuple[str, bytes]:
    name, data = "message", []
    for line in block.split(b"\n"):
        field, _, text = line.partition(b":")
        if field == b"data":
            data.append(text.removeprefix(b" "))
        elif field == b"event":
            name = text.strip().decode("ascii", "replace")
    return name, b"\n".join(data)


def _parsed(data: bytes) -> object:
    try:
        return codec.loads(data)
    except ValueError:
        raise McpError("the server's answer is not JSON") from None


def _helper_headers(config: McpServer, services: McpServices) -> dict[str, str]:
    """The headers that a command prints as a JSON object; raises McpError."""
    import subprocess

    try:
        done = subprocess.run(
            config.headers_helper,
            shell=True,
            cwd=services.cwd,
            env={**services.env, "CLAUDE_CODE_MCP_SERVER_NAME": config.name, "CLAUDE_CODE_MCP_SERVER_URL": config.url},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=HELPER_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise McpError(f"headersHelper failed: {type(error).__name__}") from None
    found = codec.loads_object(done.stdout) if done.returncode == 0 else None
    if found is None:
        raise McpError(f"headersHelper must print a JSON object of headers (exit code {done.returncode})")
    return {str(name): str(text) for name, text in found.items()}
