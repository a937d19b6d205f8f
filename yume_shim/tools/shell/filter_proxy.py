"""A small HTTP proxy that connects sandboxed commands to the hosts that the settings allow, and to no others.

A sandbox has no network but its own loopback. There a helper opens a listening socket, passes it to this process and
then becomes the command; this process accepts on it. So nothing else of the machine's network is reachable. The proxy
knows CONNECT and plain HTTP and goes by the host's name; what is inside an encrypted connection it does not see.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading

from yume_shim.system.linux.passed_sockets import helper_argv, take_socket
from yume_shim.tools.web.addresses import why_refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

PORT = 3128
"""The proxy's port on the loopback of every sandbox."""
MAX_HEAD = 16_384
MAX_CONNECTIONS = 64
CONNECT_S = 20.0
IDLE_S = 300.0
HELPER_S = 20.0
"""How long the helper in the sandbox may take to pass its socket."""
_COPY = 65_536
_REQUEST = re.compile(rb"([A-Z]+) (\S+) HTTP/1\.[01]\r\n")
_HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")


class FilterProxy:
    """The rules, shared by all commands of a session. `relay_port`: a proxy of the user's on this machine that gets
    everything instead."""

    def __init__(self, allowed: Iterable[str], denied: Iterable[str], relay_port: int = 0) -> None:
        self._allowed, self._denied = tuple(map(_plain, allowed)), tuple(map(_plain, denied))
        self._relay_port = relay_port
        self._slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._closed = False

    def channel(self) -> Channel:
        """A way to one sandbox."""
        return Channel(self)

    def close(self) -> None:
        self._closed = True

    def allows(self, host: str) -> bool:
        return _listed(host, self._allowed) and not _listed(host, self._denied)

    def accept(self, listener: socket.socket) -> None:
        """Serve one sandbox until its listener closes."""
        while not self._closed:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            if not self._slots.acquire(timeout=CONNECT_S):
                client.close()
                continue
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, contextlib.suppress(OSError):
                client.settimeout(CONNECT_S)
                self._answer(client)
        finally:
            self._slots.release()

    def _answer(self, client: socket.socket) -> None:
        if self._relay_port:
            with socket.create_connection(("127.0.0.1", self._relay_port), CONNECT_S) as server:
                _copy_both(client, server)
            return
        data = b""
        while b"\r\n\r\n" not in data and len(data) < MAX_HEAD:
            more = client.recv(4_096)
            if not more:
                return
            data += more
        wanted = read_request(data)
        if wanted is None:
            client.sendall(_refusal(400, "not a proxy request"))
            return
        host, port, head = wanted
        if not self.allows(host):
            client.sendall(_refusal(403, f"the sandbox does not allow {host}"))
            return
        try:
            server = self._connect(host, port)
        except OSError as error:
            client.sendall(_refusal(502, f"cannot connect to {host}: {error}"))
            return
        with server:
            if head:
                server.sendall(head)
            else:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                server.sendall(data.partition(b"\r\n\r\n")[2])
            _copy_both(client, server)

    def _connect(self, host: str, port: int) -> socket.socket:
        """A name must lead to a public address, unless it is listed itself: a pattern cannot reach this machine."""
        failure: OSError = OSError("it has no address")
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            refused = why_refused(str(address[0]))
            if refused and host not in self._allowed:
                failure = OSError(f"it leads to {refused}")
                continue
            made = socket.socket(family, kind, protocol)
            made.settimeout(CONNECT_S)
            try:
                made.connect(address)
            except OSError as error:
                made.close()
                failure = error
                continue
            return made
        raise failure


class Channel:
    """One sandbox's way to the proxy: the helper's command line, and the socket that comes back."""

    def __init__(self, proxy: FilterProxy) -> None:
        self._proxy = proxy
        self._ours, theirs = socket.socketpair()
        self.inherited = theirs.detach()
        address = f"http://127.0.0.1:{PORT}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        self.env = {spelled: address for name in names for spelled in (name, name.lower())}
        self.env |= {"NO_PROXY": "", "no_proxy": ""}
        self._listener: socket.socket | None = None

    def argv(self, argv: list[str]) -> list[str]:
        return helper_argv(self.inherited, PORT, argv)

    def serve(self) -> None:
        """The command has been started: take its socket and serve it."""
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with self._ours:
            self._ours.settimeout(HELPER_S)
            self._listener = take_socket(self._ours)
        if self._listener is not None:
            with self._listener:
                self._proxy.accept(self._listener)

    def close(self) -> None:
        """The sandbox has ended."""
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)


def read_request(data: bytes) -> tuple[str, int, bytes] | None:
    """(host, port, the request to pass on; b"" for CONNECT), or None if it is no request for a proxy."""
    first = _REQUEST.match(data)
    if first is None or b"\r\n\r\n" not in data:
        return None
    method, target = first.group(1), first.group(2).decode("latin-1")
    if method == b"CONNECT":
        host, _, port = target.rpartition(":")
        return _checked(host, port, b"")
    if not target.lower().startswith("http://"):
        return None
    place, slash, path = target[len("http://") :].partition("/")
    host, _, port = place.partition(":")
    head, _, body = data.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n")[1:] if not _hop(line)]
    start = method + b" " + (slash + path or "/").encode("latin-1") + b" HTTP/1.1"
    passed = b"\r\n".join([start, *lines, b"Connection: close"]) + b"\r\n\r\n" + body
    return _checked(host, port or "80", passed)


def _checked(host: str, port: str, head: bytes) -> tuple[str, int, bytes] | None:
    host = host.lower().rstrip(".")
    if not _HOST.fullmatch(host) or not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65_536):
        return None
    return host, int(port), head


def _hop(line: bytes) -> bool:
    name = line.partition(b":")[0].strip().lower()
    return name in (b"connection", b"keep-alive") or name.startswith(b"proxy-")


def _plain(pattern: str) -> str:
    return pattern.strip().lower().rstrip(".")


def _listed(host: str, patterns: tuple[str, ...]) -> bool:
    """`example.com` is that host alone, `*.example.com` every host below it."""
    return any(host.endswith(p[1:]) if p.startswith("*.") else host == p for p in patterns)


def _refusal(code: int, why: str) -> bytes:
    text = f"{why}\n".encode("ascii", "replace")
    return b"HTTP/1.1 %d Refused\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (code, len(text), text)


def _copy_both(client: socket.socket, server: socket.socket) -> None:
    """Copy until one side has closed."""
    client.settimeout(IDLE_S)
    server.settimeout(IDLE_S)
    back = threading.Thread(target=_copy, args=(server, client), daemon=True)
    back.start()
    _copy(client, server)
    back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_COPY):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
