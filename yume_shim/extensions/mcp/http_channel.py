"""The HTTP transports: streamable HTTP (a POST per message, answered by JSON or an event stream), and the older SSE.

Each exchange has a thread of its own, so that a slow server delays only the request it is about. Requests are not
repeated; an event stream that breaks off is opened again after its last event, if the server numbers them.
"""

from __future__ import annotations

import threading

from yume_shim.extensions.mcp.broken_answers import broken_answer
from yume_shim.extensions.mcp.errors import CLOSED, McpError, ServerGone
from yume_shim.extensions.mcp.event_stream import EventStream
from yume_shim.extensions.mcp.http_exchange import Exchange
from yume_shim.net.errors import NetError
from yume_shim.net.message import is_sendable
from yume_shim.net.url import parse_url, redirect_url
from yume_shim.text import codec
from yume_shim.types.errors import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.extensions.mcp.channel import Gone
    from yume_shim.extensions.mcp.peer import Peer
    from yume_shim.extensions.mcp.services import McpServices
    from yume_shim.extensions.mcp.tokens import SavedToken
    from yume_shim.net.route import Connection
    from yume_shim.net.url import Url
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Cancel
    from yume_shim.types.settings import McpServer

    Log = Callable[[str, str], None]

MAX_EXCHANGES = 32
"""Requests that may be open at the same time; a further one fails."""
IDLE_S = 300.0
"""Longest silence of an event stream that nobody waits for; it is opened again after that."""
MAX_REOPENED = 100
MAX_RESUMED = 5
"""How often the event stream of one answer is opened again after it broke off."""
PAUSE_S, MAX_PAUSE_S = 1.0, 30.0
"""Before a stream is opened again, unless the server names a pause; and the longest that it may name."""
MAX_SESSION_ID = 1_000
FAREWELL, FAREWELL_S = "DELETE", 1.0
"""The method that ends the session at the server, and how long a server may take for it."""


def open_http_channel(
    config: McpServer,
    services: McpServices,
    log: Log,
    peer: Peer,
    gone: Gone,
    cancel: Cancel,
    stopper: Callable[[Callable[[], None]], None],
) -> HttpChannel:
    """The channel for an `http` or `sse` server, to be opened. `stopper` is given what ends a command that this waits
    for. Raises McpError or Cancelled."""
    try:
        url = parse_url(config.url)
    except ValueError as error:
        raise McpError(f"not a valid address: {error}") from None
    headers = dict(config.headers)
    if config.headers_helper:
        from yume_shim.extensions.mcp.headers_helper import helper_headers

        headers |= helper_headers(config, services, cancel, stopper)
    for name, text in headers.items():
        if not is_sendable(name, text):
            raise McpError(f"the header {name} cannot be sent")
    token = None
    if not any(name.lower() == "authorization" for name in headers):
        from yume_shim.extensions.mcp.tokens import saved_token

        token = saved_token(config.url, services.env, services.lifetime)
    kind = SseChannel if config.kind == "sse" else HttpChannel
    return kind(url, headers, services, log, peer, gone, name=config.name, token=token)


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
        self._connections: dict[Connection, Any] = {}
        """Each with the number of the request that it is about."""
        self._session = self._version = ""
        self._closed = self._leaving = False

    def open(self, cancel: Cancel) -> None:
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
        """End the session at the server, if it has one; a server that does not answer in time is left alone."""
        if not self._session or self._leaving:
            return
        self._leaving = True
        farewell = threading.Thread(target=self._leave, name="mcp-http", daemon=True)
        farewell.start()
        farewell.join(min(seconds, FAREWELL_S))

    def _leave(self) -> None:
        try:
            with Exchange(self, FAREWELL, b"", FAREWELL_S) as exchange:
                self._log("debug", f"session ended: {exchange.head.status}")
        except (NetError, OSError, McpError, Cancelled) as error:
            self._log("debug", f"session not ended: {error}")

    # ------------------------------------------------------------ exchanges, each on its own thread

    def _post(self, message: Json) -> None:
        number = message.get("id") if "method" in message else None
        stream = EventStream()
        try:
            self._deliver("POST", codec.dumps(message), number, stream)
            for _ in range(MAX_RESUMED):
                if number is None or not stream.last_id or not self._peer.waits_for(number) or self._paused(stream):
                    break
                self._deliver("GET", b"", number, stream)
        except McpError as error:
            self._peer.fail(number, error)
        except (NetError, OSError, Cancelled) as error:
            self._peer.fail(number, ServerGone(CLOSED if self._closed else f"{error}"))
        else:
            self._peer.fail(number, ServerGone("the server ended its answer without a result"))

    def _deliver(self, method: str, body: bytes, number: Any, stream: EventStream) -> None:
        """One exchange, its messages given to the peer. A stream that breaks off after a numbered event just ends."""
        try:
            with Exchange(self, method, body, self._services.call_s, number=number, last_id=stream.last_id) as exchange:
                self._take_session(exchange.head.headers.get("mcp-session-id", ""))
                for answer in exchange.messages(stream):
                    self._peer.take(answer)
        except (NetError, OSError):
            if not stream.last_id or self._closed:
                raise

    def _take_session(self, given: str) -> None:
        if given and len(given) <= MAX_SESSION_ID and is_sendable("Mcp-Session-Id", given):
            self._session = given

    def _paused(self, stream: EventStream) -> bool:
        """Wait before a stream is opened again; True if it must not be."""
        pause = PAUSE_S if stream.retry_s is None else min(stream.retry_s, MAX_PAUSE_S)
        return self._services.lifetime.wait(pause) or self._closed

    def _listen(self) -> None:
        """Messages that the server sends by itself: one event stream, opened again when it ends."""
        stream = EventStream()
        for _ in range(MAX_REOPENED):
            try:
                with Exchange(self, "GET", b"", IDLE_S, last_id=stream.last_id) as exchange:
                    if not exchange.is_stream:
                        return
                    for message in exchange.messages(stream):
                        self._peer.take(message)
            except McpError as error:
                self._log("debug", f"no stream of messages: {error.message}")  # most servers have none (405)
                return
            except (NetError, OSError, Cancelled):
                pass
            stream = EventStream(stream.last_id)  # half an event is dropped
            if self._paused(stream):
                return

    def done(self, number: int) -> None:
        """Nobody waits for this request any more: what is still open for it is closed."""
        with self._lock:
            late = [connection for connection, about in self._connections.items() if about == number]
        for connection in late:
            connection.abort()

    @property
    def has_session(self) -> bool:
        return bool(self._session)

    def forget_session(self) -> None:
        """The server does not know it any more."""
        self._session = ""

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

    def opened(self, connection: Connection, number: Any, method: str) -> None:
        with self._lock:
            if self._closed and method != FAREWELL:
                connection.close()
                raise ServerGone(CLOSED)
            self._connections[connection] = number

    def ended(self, connection: Connection) -> None:
        with self._lock:
            self._connections.pop(connection, None)
        connection.close()

    @property
    def cancel(self) -> Cancel:
        return self._services.lifetime


class SseChannel(HttpChannel):
    """The transport of protocol version 2024-11-05: one event stream for all answers, whose first event names the
    address for messages."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._ready = threading.Event()
        self._place: Url | None = None
        self._why = McpError("no address for messages was sent")

    def open(self, cancel: Cancel) -> None:
        """Open the stream and wait for the address; raises McpError or Cancelled."""
        threading.Thread(target=self._stream, name="mcp-sse", daemon=True).start()
        with cancel.guard(self._ready.set):
            self._ready.wait(self._services.connect_s)
        if self._place is None:
            self.close()
            cancel.check()
            raise self._why

    def close(self) -> None:
        super().close()
        self._ready.set()

    def use_version(self, version: str) -> None:
        self._version = version

    @property
    def target(self) -> Url:
        return self._place or self._url

    def _stream(self) -> None:
        try:
            with Exchange(self, "GET", b"", self._services.call_s) as exchange:
                for event in exchange.events(EventStream()):
                    if event.name == "endpoint":
                        self._place = self._message_address(event.data.decode("utf-8", "replace"))
                        self._ready.set()
                    else:
                        self._take_data(event.data)
            self._why = McpError(CLOSED)
        except McpError as error:
            self._why = error
        except (NetError, OSError, Cancelled) as error:
            self._why = McpError(str(error))
        self._ready.set()
        if self._place is not None:
            self._gone(CLOSED)

    def _message_address(self, given: str) -> Url:
        """The address for messages; it must be on the same host, because our headers may hold a token."""
        try:
            found = redirect_url(self._url, given)
        except ValueError:
            raise McpError("the server names no valid address for messages") from None
        if found.origin != self._url.origin:
            raise McpError(f"the server names an address for messages on another host ({found.origin})")
        return found

    def _take_data(self, data: bytes) -> None:
        try:
            message = codec.loads(data)
        except ValueError:
            message = broken_answer(data)
        if message is not None:
            self._peer.take(message)

    def _post(self, message: Json) -> None:
        try:
            with Exchange(self, "POST", codec.dumps(message), self._services.call_s):
                pass  # the answer comes on the stream
        except McpError as error:
            self._peer.fail(message.get("id"), error)
        except (NetError, OSError, Cancelled) as error:
            self._peer.fail(message.get("id"), ServerGone(str(error)))

    def finish(self, seconds: float) -> None:
        """There is no session to end."""
