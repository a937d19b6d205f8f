"""Connections: the way to an address, directly or through a proxy, then TLS."""

from __future__ import annotations

import _socket  # `socket` is a layer of enums over it, for which every start would pay
import time

from yume_shim.net.errors import ConnectFailed, ProxyRefused, ProxyUnusable, TimedOut
from yume_shim.net.message import read_head
from yume_shim.system import end_waits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from yume_shim.net.url import Url
    from yume_shim.types.ports import Cancel

READ_BYTES = 65_536
_PROXY_VARIABLES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")


class Connection:
    """A socket, and the bytes that were read from it too early."""

    __slots__ = ("idle_since", "kept", "origin", "rest", "sock", "via")

    def __init__(self, sock: _socket.socket, origin: str) -> None:
        self.sock = sock
        self.origin = origin
        self.rest = b""
        self.kept = True
        """May serve another request after this one."""
        self.idle_since = 0.0
        self.via: Url | None = None
        """The proxy that plain http requests are written for; a tunnel needs no special requests."""

    def abort(self) -> None:
        """End whatever another thread waits for on this socket."""
        try:
            end_waits(self.sock)
        except OSError:
            pass  # it has ended before

    def close(self) -> None:
        try:
            self.sock.close()
        except OSError:
            pass  # the peer has reset it

    def is_alive(self) -> bool:
        """True if the idle peer has neither closed the connection nor sent anything."""
        if self.rest:
            return False
        self.sock.settimeout(0.0)
        try:
            self.sock.recv(1)
        except BlockingIOError:
            return True
        except OSError as exc:
            return type(exc).__name__ == "SSLWantReadError"  # by name: plain http must not load ssl
        return False

    def read(self, seconds: float) -> bytes:
        """Some bytes, b"" at the end; raises TimeoutError and other OSErrors."""
        if self.rest:
            data, self.rest = self.rest, b""
            return data
        if self.sock.gettimeout() != seconds:  # setting it is a system call, and most reads of an answer have the same
            self.sock.settimeout(seconds)
        return self.sock.recv(READ_BYTES)


def open_route(
    url: Url,
    env: Mapping[str, str],
    seconds: float,
    cancel: Cancel,
    check: Callable[[str], None] | None = None,
) -> Connection:
    """A connection that is ready for a request. Raises NetError or Cancelled.

    `env` names proxies and root certificates. `check` gets every IP address of the host before any of them is
    connected to, and raises to refuse them. With a `check` there must be no proxy in `env`: a proxy looks the name up
    again, out of our sight. `seconds` is the limit for the whole way: name, socket, tunnel and TLS.
    """
    proxy = _proxy_for(url, env)
    if proxy is not None and check is not None:
        raise ProxyUnusable("addresses behind a proxy cannot be checked")
    try:
        return _open(url, proxy, env, seconds, cancel, check, full_roots=False)
    except TimeoutError:
        cancel.check()
        way = f" through the proxy {proxy.place}" if proxy is not None else ""
        raise TimedOut(f"connection to {url.place}{way}", seconds) from None
    except OSError as exc:
        cancel.check()
        if not _lacks_root(exc, env):
            raise ConnectFailed(url.place, exc, note=_about_roots(exc, env)) from None
    try:  # once more with the system's whole bundle: a hashed folder may hold only a part of it
        return _open(url, proxy, env, seconds, cancel, check, full_roots=True)
    except OSError as exc:
        cancel.check()
        raise ConnectFailed(url.place, exc, note=_about_roots(exc, env)) from None


def _open(
    url: Url,
    proxy: Url | None,
    env: Mapping[str, str],
    seconds: float,
    cancel: Cancel,
    check: Callable[[str], None] | None,
    *,
    full_roots: bool,
) -> Connection:
    from yume_shim.net.connect import open_socket, secured

    first = proxy or url
    deadline = time.monotonic() + seconds
    try:
        sock = open_socket(first.host, first.port, seconds, cancel, check)
    except OSError as exc:
        raise _at_proxy(exc, proxy, cancel) from None
    connection = Connection(sock, url.origin)
    try:
        with cancel.guard(connection.abort):
            if url.scheme == "https":
                if proxy is not None:
                    try:
                        _tunnel(connection, url, proxy, deadline)
                    except OSError as exc:
                        raise _at_proxy(exc, proxy, cancel) from None
                sock.settimeout(_left(deadline))
                connection.sock = encrypted = secured(sock, url.host, env, full=full_roots)
                cancel.check()  # an abort before this line met the void socket
                encrypted.do_handshake()
            elif proxy is not None:
                connection.via = proxy
    except BaseException:
        connection.close()
        raise
    return connection


def _proxy_for(url: Url, env: Mapping[str, str]) -> Url | None:
    if not any(env.get(name) for name in _PROXY_VARIABLES):
        return None
    from yume_shim.net.proxy import choose_proxy

    try:
        return choose_proxy(url, env)
    except ValueError as exc:
        raise ProxyUnusable(str(exc)) from None


def _left(deadline: float) -> float:
    """Seconds until then; raises TimeoutError if there are none."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("no connection in time")
    return left


def _tunnel(connection: Connection, url: Url, proxy: Url, deadline: float) -> None:
    from yume_shim.net.proxy import connect_request

    connection.sock.settimeout(_left(deadline))
    connection.sock.sendall(connect_request(url, proxy))
    head = read_head(connection, lambda: connection.read(_left(deadline)))
    if head is None:
        raise ConnectionResetError("the proxy closed the connection")
    if not 200 <= head.status <= 299:
        message = f"the proxy {proxy.place} refused a connection to {url.place} (status {head.status})"
        raise ProxyRefused(message, retryable=head.status >= 500)


def _at_proxy(exc: OSError, proxy: Url | None, cancel: Cancel) -> Exception:
    """The error of the way to a proxy, named as that. A limit that ran out is one of the whole way."""
    if proxy is None or isinstance(exc, TimeoutError):
        return exc
    cancel.check()
    return ConnectFailed(proxy.place, exc, is_proxy=True)


def _about_roots(exc: OSError, env: Mapping[str, str]) -> str:
    if type(exc).__name__ != "SSLCertVerificationError":
        return ""
    from yume_shim.net.connect import missing_roots

    return missing_roots(env)


def _lacks_root(exc: OSError, env: Mapping[str, str]) -> bool:
    if type(exc).__name__ != "SSLCertVerificationError":
        return False
    from yume_shim.net.connect import has_lazy_roots

    return has_lazy_roots(env)
