"""A small web server for one person on this machine. It only answers GET on 127.0.0.1, to requests that name its own
host and know its token; it has a limit for everything and no way to change anything."""

from __future__ import annotations

import hmac
import socket
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from yume_shim.app.watch.follower import RELOAD, Follower
from yume_shim.pages.html.live_page import live_index, live_page, live_policy
from yume_shim.text.codec import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from yume_shim.app.watch.session_list import SessionList
    from yume_shim.types.blocks import Json

HOST = "127.0.0.1"
MAX_CONNECTIONS = 32
MAX_STREAMS = 12
READ_SECONDS = 10
"""How long a request may take to arrive."""
WRITE_SECONDS = 20
"""How long a browser may not read what it asked for."""
POLL_SECONDS = 0.4
LIST_SECONDS = 2.0
PING_SECONDS = 15.0
EVENT_CHARACTERS = 1 << 20
"""Characters of HTML in one event: what is more comes in several."""
MAX_ITEM = 16 << 20
"""Characters of one item; the page of a larger one is loaded by hand."""
STREAM_SECONDS = 3600.0
"""A browser connects again by itself."""


class WatchServer(ThreadingHTTPServer):
    """Serves until `close`."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 16

    def __init__(self, port: int, token: str, sessions: SessionList, secrets: Sequence[str]) -> None:
        self.token, self.sessions, self.secrets = token, sessions, secrets
        self.stopping = threading.Event()
        self.streams = threading.BoundedSemaphore(MAX_STREAMS)
        self._connections = threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__((HOST, port), WatchHandler)
        self.hosts = tuple(f"{name}:{self.server_port}" for name in (HOST, "localhost"))

    @property
    def address(self) -> str:
        """What to open."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def close(self) -> None:
        """End all streams and stop listening."""
        self.stopping.set()
        self.shutdown()
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer on a thread of its own, unless there are too many."""
        if not self._connections.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._connections.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """One connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away is no error worth a word."""


class WatchHandler(BaseHTTPRequestHandler):
    """One request."""

    server: WatchServer  # pyright: ignore[reportIncompatibleVariableOverride] # only this server makes them
    timeout = READ_SECONDS
    _late: threading.Timer | None = None
    server_version, sys_version = "yume-shim", ""

    def handle_one_request(self) -> None:
        """The whole head of a request has to arrive in time, not only each piece of it."""
        self._late = threading.Timer(READ_SECONDS, _hang_up, (self.connection,))
        self._late.daemon = True
        self._late.start()
        try:
            super().handle_one_request()
        finally:
            self._late.cancel()

    def parse_request(self) -> bool:
        """The head has arrived."""
        parsed = super().parse_request()
        if self._late is not None:
            self._late.cancel()
        return parsed

    def do_GET(self) -> None:
        """A page or a stream of events."""
        path = self._permitted()
        if path is None:
            return
        sessions = self.server.sessions
        if path == "":
            self._send(200, "text/html; charset=utf-8", live_index(sessions.entries()))
        elif path == "events":
            self._stream(self._list_events())
        elif path.startswith("s/"):
            key, _, rest = path.removeprefix("s/").partition("/")
            found = sessions.path_of(key)
            if not found or rest not in ("", "events"):
                self._refuse(404)
            elif rest:
                self._stream(self._session_events(found))
            else:
                self._page(found)
        else:
            self._refuse(404)

    def _permitted(self) -> str | None:
        """The path below the token; None after a refusal. A page of another site that resolves its name to 127.0.0.1
        sends its own name as the host."""
        origin, hosts = self.headers.get("Origin"), self.server.hosts
        foreign = origin is not None and origin not in (f"http://{host}" for host in hosts)
        if foreign or self.headers.get("Host", "") not in hosts:
            self._refuse(403)
            return None
        given, mark, path = urlsplit(self.path).path.removeprefix("/").partition("/")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.server.token.encode("ascii")) or not mark:
            self._refuse(404)
            return None
        return path

    def _page(self, path: str) -> None:
        follower = Follower(path, self.server.secrets)
        try:
            document = follower.document()
        except OSError:
            self._refuse(404)
            return
        self._send(
            200, "text/html; charset=utf-8", live_page(document, follower.offset, follower.number, cut=follower.cut)
        )

    # ------------------------------------------------------------ events

    def _stream(self, events: Iterator[Json | None]) -> None:
        if not self.server.streams.acquire(blocking=False):
            self._refuse(503)
            return
        try:
            self.connection.settimeout(WRITE_SECONDS)
            self._head(200, "text/event-stream; charset=utf-8", None)
            self.wfile.write(b"retry: 2000\n\n")
            ends = time.monotonic() + STREAM_SECONDS
            pinged = time.monotonic()
            for event in events:
                if event is not None:
                    self.wfile.write(b"data: " + dumps(event) + b"\n\n")
                elif time.monotonic() - pinged > PING_SECONDS:
                    pinged = time.monotonic()
                    self.wfile.write(b": ping\n\n")
                self.wfile.flush()
                if time.monotonic() > ends:
                    return
        except OSError:  # the browser has gone
            return
        finally:
            self.server.streams.release()

    def _list_events(self) -> Iterator[Json | None]:
        from yume_shim.pages.html.index_page import index_list

        shown = ""
        while not self.server.stopping.is_set():
            made = index_list(self.server.sessions.entries())
            yield {"list": made} if made != shown else None
            shown = made
            self.server.stopping.wait(LIST_SECONDS)

    def _session_events(self, path: str) -> Iterator[Json | None]:
        query = parse_qs(urlsplit(self.path).query)
        offset, number = (_whole(query, name) for name in ("offset", "turn"))
        follower = Follower(path, self.server.secrets, offset, max(number, 1))
        while not self.server.stopping.is_set():
            started = time.monotonic()
            try:
                changes = follower.changes()
            except OSError:
                yield {"gone": True}
                return
            yield from _portions(changes)
            if changes is RELOAD:
                return
            spent = time.monotonic() - started
            self.server.stopping.wait(
                max(POLL_SECONDS, 4 * spent)
            )  # a long turn takes longer to read: never a busy loop

    # ------------------------------------------------------------ answers

    def _send(self, status: int, kind: str, text: str) -> None:
        data = text.encode("utf-8", "replace")
        self.connection.settimeout(WRITE_SECONDS)
        self._head(status, kind, len(data))
        if self.command != "HEAD":
            self.wfile.write(data)

    def _refuse(self, status: int) -> None:
        self._send(
            status,
            "text/plain; charset=utf-8",
            {403: "Not for you.\n", 405: "Only GET.\n", 503: "Too many streams.\n"}.get(status, "Nothing here.\n"),
        )

    def _head(self, status: int, kind: str, size: int | None) -> None:
        self.send_response(status)
        headers: tuple[tuple[str, str], ...] = (
            ("Content-Type", kind),
            ("Content-Security-Policy", f"{live_policy()}; frame-ancestors 'none'"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
            ("Connection", "close"),
        )
        if size is not None:
            headers = (*headers, ("Content-Length", str(size)))
        if status == 405:
            headers = (*headers, ("Allow", "GET"))
        for name, text in headers:
            self.send_header(name, text)
        self.end_headers()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard handler refuses: other methods (it calls them not implemented), broken requests."""
        self.close_connection = True
        self._refuse(405 if code == 501 else code)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: an address holds the token."""


def _portions(changes: Json | None) -> Iterator[Json | None]:
    """Changes as events of a bounded size."""
    if changes is None or "parts" not in changes:
        yield changes
        return
    portion: list[Json] = []
    used = 0
    for part in changes["parts"]:
        html = str(part.get("html") or "")
        if len(html) > MAX_ITEM:
            note = "This item is too large to be sent; it is there after the page is loaded again."
            part = part | {"html": f'<p class="item mark" id="{part["item"]}" data-kind="mark">{note}</p>'}
            html = note
        if portion and used + len(html) > EVENT_CHARACTERS:
            yield {"parts": portion}
            portion, used = [], 0
        portion.append(part)
        used += len(html)
    yield {"parts": portion}


def _whole(query: dict[str, list[str]], name: str) -> int:
    text = query.get(name, ["0"])[0]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):  # it has ended by itself
        connection.shutdown(socket.SHUT_RDWR)


def serve(server: WatchServer, wait: Callable[[], object]) -> None:
    """Serve until `wait` returns."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.2}, name="watch", daemon=True)
    thread.start()
    try:
        wait()
    finally:
        server.close()
