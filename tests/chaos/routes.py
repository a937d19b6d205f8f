"""Faults on the way to an endpoint: refused connections, unknown names, TLS, proxies that fail at each step.

`Roads` opens one place per fault in front of one handler: the address that the program is given.
"""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

from tests.helpers.certificates import Authority, make_certificate
from tests.helpers.fake_server import LoopbackServer

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from tests.helpers.fake_server import Exchange

    Handler = Callable[[Exchange], bool]

FILLERS = 8
"""Connections that fill the queue of a listener."""
CUT_AFTER = 1_500
"""Bytes of the client that pass a tunnel before it is cut: more than the handshake, less than a request."""
REFUSED_FOR = 0.02
"""Seconds in which the first connection is refused."""
NOISE = b"\x16\x03\x03\x00\x20" + b"\xfe" * 64
"""A TLS record with nonsense in it."""
HOST = ".shim.test"
"""Hosts of this domain exist behind the proxy only; the first part of their names says how the proxy fails."""
PLAIN = ("refused", "refused-first", "dns", "connect-stall")
TLS = ("tls", "tls-expired", "tls-not-yet", "tls-wrong-host", "tls-self-signed", "tls-stranger")
TLS_BROKEN = ("tls-stall", "tls-plain", "tls-garbage", "tls-cut")
TUNNELS = ("tunnel", "proxy-silent", "proxy-closes", "proxy-403", "proxy-407", "proxy-502", "proxy-garbage")
TUNNELS_LATE = ("proxy-endless-head", "proxy-then-closes", "proxy-then-silent", "proxy-then-plain", "proxy-cuts")
ROADS = (*PLAIN, *TLS, *TLS_BROKEN, *TUNNELS, *TUNNELS_LATE, "proxy-trickle", "proxy-wrong-host")
"""All names. `tls` and `tunnel` lead to the server without a fault."""


class Roads:
    """The places; `url(name)` opens one on its first use. `env` must be in the environment of the program."""

    def __init__(self, folder: Path, handler: Handler, refused_for: float = REFUSED_FOR) -> None:
        self._folder, self._handler, self._refused_for = folder, handler, refused_for
        self._open: list[LoopbackServer | socket.socket] = []
        self._urls: dict[str, str] = {}
        self._late: Callable[[], None] | None = None
        self._authority = Authority(folder)
        self._proxy = FailingProxy(self.tls_port)
        self.env = {
            "SSL_CERT_FILE": self._authority.trusted,
            "https_proxy": self._proxy.url,
            "no_proxy": "127.0.0.1,localhost,.invalid",
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all places."""
        for place in (*self._open, self._proxy):
            place.close()

    def url(self, name: str) -> str:
        """The address of a place."""
        if name not in self._urls:
            self._urls[name] = self._make(name)
        return self._urls[name]

    def begin(self, name: str) -> None:
        """The program is about to go there: a place that refuses at first opens in a moment."""
        if self._late is not None and name == "refused-first":
            threading.Timer(self._refused_for, self._late).start()

    def tls_port(self, host: str) -> int:
        """The port of the TLS server behind the proxy, for a host of `HOST`."""
        name = "for-another-host" if host.startswith("proxy-wrong-host") else "for-hosts"
        if name not in self._urls:
            context = self._authority.issue("elsewhere.test" if name == "for-another-host" else f"*{HOST}")
            self._urls[name] = self._serve(self._handler, context).url
        return int(self._urls[name].rpartition(":")[2])

    def _make(self, name: str) -> str:
        if name in (*TUNNELS, *TUNNELS_LATE, "proxy-trickle", "proxy-wrong-host"):
            return f"https://{name}{HOST}"
        match name:
            case "dns":
                return "http://no-such-host.invalid"
            case "refused":
                return f"http://127.0.0.1:{self._listener().getsockname()[1]}"
            case "refused-first":
                return self._refused_first()
            case "connect-stall":
                return self._full_queue()
            case _:
                return self._secured(name)

    def _secured(self, name: str) -> str:
        authority = self._authority
        match name:
            case "tls":
                return self._serve(self._handler, authority.issue()).url
            case "tls-expired":
                return self._serve(self._handler, authority.issue(start=-9, end=-2)).url
            case "tls-not-yet":
                return self._serve(self._handler, authority.issue(start=5, end=9)).url
            case "tls-wrong-host":
                return self._serve(self._handler, authority.issue("elsewhere.test")).url
            case "tls-self-signed":
                return self._serve(self._handler, make_certificate(self._folder).server).url
            case "tls-stranger":
                return self._serve(self._handler, Authority(self._folder, "stranger").issue()).url
        raw = RawServer({"tls-stall": None, "tls-plain": b"HTTP/1.1 400 X\r\n\r\n", "tls-cut": b""}.get(name, NOISE))
        self._open.append(raw)
        return raw.url.replace("http:", "https:")

    def _serve(self, handler: Handler, context: ssl.SSLContext | None = None) -> LoopbackServer:
        server = LoopbackServer(handler, context)
        self._open.append(server)
        return server

    def _listener(self) -> socket.socket:
        """A port that nobody listens on, and that nobody else gets."""
        held = socket.socket()
        held.bind(("127.0.0.1", 0))
        self._open.append(held)
        return held

    def _refused_first(self) -> str:
        held = self._listener()
        port = held.getsockname()[1]

        def open_late() -> None:
            held.close()
            self._open.append(LoopbackServer(self._handler, port=port))

        self._late = open_late
        return f"http://127.0.0.1:{port}"

    def _full_queue(self) -> str:
        listener = self._listener()
        listener.listen(0)
        for _ in range(FILLERS):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
            self._open.append(filler)
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


class RawServer(LoopbackServer):
    """Sends some bytes to whoever connects and closes; None: reads, and says nothing."""

    def __init__(self, data: bytes | None) -> None:
        self._data = data
        super().__init__(lambda _: False)

    def serve(self, sock: socket.socket) -> None:
        sock.settimeout(30.0)
        try:
            if self._data is None:
                while sock.recv(65_536):
                    pass
            else:
                sock.recv(65_536)
                sock.sendall(self._data)
        except OSError:
            pass
        finally:
            sock.close()


class FailingProxy(LoopbackServer):
    """Opens tunnels to the ports that `port_of` names, and fails as the first part of the wanted host says."""

    def __init__(self, port_of: Callable[[str], int]) -> None:
        self._port_of = port_of
        super().__init__(self._take)

    def _take(self, exchange: Exchange) -> bool:
        host = exchange.request.path.partition(":")[0]
        name = host.partition(".")[0]
        match name:
            case "proxy-silent":
                exchange.wait_for_close()
            case "proxy-closes":
                pass
            case "proxy-403" | "proxy-407" | "proxy-502":
                exchange.reply(int(name[-3:]), {"Proxy-Authenticate": "Basic"}, b"<html>no</html>")
            case "proxy-garbage":
                exchange.send(b"\x00\xff nothing that is HTTP\r\n\r\n")
            case "proxy-endless-head":
                exchange.send(b"HTTP/1.1 200 OK\r\n" + b"X-More: yes\r\n" * 20_000)
            case "proxy-trickle":
                self._trickle(exchange)
            case "proxy-then-closes":
                exchange.send(b"HTTP/1.1 200 OK\r\n\r\n")
            case "proxy-then-silent":
                exchange.send(b"HTTP/1.1 200 OK\r\n\r\n")
                exchange.wait_for_close()
            case "proxy-then-plain":
                exchange.send(b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 400 Bad Request\r\n\r\n")
            case _:
                self._tunnel(exchange, host, CUT_AFTER if name == "proxy-cuts" else 0)
        return False

    def _trickle(self, exchange: Exchange) -> None:
        """A head that never ends, a byte at a time."""
        stopped = threading.Event()
        exchange.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        for _ in range(200):
            exchange.send(b"x")
            stopped.wait(0.05)

    def _tunnel(self, exchange: Exchange, host: str, limit: int) -> None:
        upstream = socket.create_connection(("127.0.0.1", self._port_of(host)))
        exchange.send(b"HTTP/1.1 200 OK\r\n\r\n")
        threading.Thread(target=_pump, args=(upstream, exchange.sock, 0), daemon=True).start()
        with upstream:
            _pump(exchange.sock, upstream, limit)


def _pump(source: socket.socket, target: socket.socket, limit: int) -> None:
    """Pass bytes on until either end closes, or `limit` of them have passed (0: no limit)."""
    passed = 0
    try:
        while data := source.recv(65_536):
            passed += len(data)
            if limit and passed > limit:
                break
            target.sendall(data)
    except OSError:
        pass
    finally:
        for sock in (source, target):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
