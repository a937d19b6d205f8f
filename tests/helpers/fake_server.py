"""Real HTTP servers on loopback: one that does what a handler says, and one that plays wire files as an API would."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.helpers.api_facts import FACTS

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from yume_shim.types.blocks import Json

WAIT = 30.0
"""Seconds after which a test server gives up on its peer."""
PAUSES = 12
"""How many of the cuts in a body are followed by a pause, so that the reader sees them as separate reads."""


class Received(NamedTuple):
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Exchange:
    """One request and the socket to answer it on. A handler that returns False closes the connection."""

    def __init__(self, sock: socket.socket, request: Received) -> None:
        self.sock = sock
        self.request = request

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def reply(self, status: int = 200, headers: dict[str, str] | None = None, body: bytes = b"") -> None:
        lines = [f"HTTP/1.1 {status} X", *(f"{name}: {text}" for name, text in (headers or {}).items())]
        self.send("\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body)

    def wait_for_close(self) -> float:
        """Block until the peer hangs up; when that was."""
        self.sock.settimeout(WAIT)
        try:
            while self.sock.recv(4096):
                pass
        except OSError:
            pass
        return time.monotonic()


class LoopbackServer:
    """Accepts connections, reads requests, hands each to `handle`, keeps the connection while it returns True."""

    def __init__(
        self, handle: Callable[[Exchange], bool], tls: ssl.SSLContext | None = None, host: str = "", port: int = 0
    ) -> None:
        self._handle = handle
        self._tls = tls
        self.requests: list[Received] = []
        self.connections = 0
        self._sockets: list[socket.socket] = []
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._listener.bind((host or "127.0.0.1", port))
        self._listener.listen(16)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host or '127.0.0.1'}:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        for sock in (self._listener, *self._sockets):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._sockets.append(sock)
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock: socket.socket) -> None:
        """Talk to one client."""
        try:
            sock.settimeout(WAIT)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls:
                sock = self._tls.wrap_socket(sock, server_side=True)
                self._sockets.append(sock)
            buffered = b""
            while True:
                request, buffered = read_request(sock, buffered)
                self.requests.append(request)
                if not self._handle(Exchange(sock, request)):
                    return
        except (OSError, EOFError):
            pass
        finally:
            sock.close()


def read_request(sock: socket.socket, data: bytes) -> tuple[Received, bytes]:
    """One request off a socket, and what was read beyond it."""
    while b"\r\n\r\n" not in data:
        data += _more(sock)
    head, _, data = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    method, path, _ = lines[0].split(" ")
    headers = {name.lower(): text.strip() for name, _, text in (line.partition(":") for line in lines[1:])}
    length = int(headers.get("content-length", 0))
    while len(data) < length:
        data += _more(sock)
    return Received(method, path, headers, data[:length]), data[length:]


def _more(sock: socket.socket) -> bytes:
    data = sock.recv(65536)
    if not data:
        raise EOFError
    return data


# ---------------------------------------------------------------- wire files as an API would send them


def frame_bytes(api: str, frame: Json) -> bytes:
    """A frame in its API's envelope."""
    if "!done" in frame:
        return b"data: [DONE]\n\n"
    if "!bad" in frame:
        return f"data: {frame['!bad']}\n\n".encode()
    if "!whole" in frame:
        return json.dumps(frame["!whole"], ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")
    return FACTS[api].framing(frame).encode("utf-8", "surrogatepass")


class FakeServer(LoopbackServer):
    """Plays one wire after the other, the last one for ever. Bodies are cut at random places, by `seed`."""

    def __init__(self, api: str, wires: list[list[Json]], seed: int = 0) -> None:
        self._api = api
        self._wires = list(wires)
        self._random = random.Random(seed)
        self.closed_at = 0.0
        """When a client hung up on a `!hold`."""
        super().__init__(self._play)

    def _play(self, exchange: Exchange) -> bool:
        return self.play(exchange, self._api, self._wires.pop(0) if len(self._wires) > 1 else self._wires[0])

    def play(self, exchange: Exchange, api: str, wire: list[Json]) -> bool:
        """Answer with one wire, in the envelope of its API."""
        if wire and "!status" in wire[0]:
            return self._refuse(exchange, wire[0])
        whole = any("!whole" in frame for frame in wire)
        kind = "application/json" if whole else "text/event-stream"
        headers = {"Content-Type": kind, "Transfer-Encoding": "chunked"}
        if wire and "!headers" in wire[0]:
            headers.update(wire[0]["!headers"])
            wire = wire[1:]
        if wire and "!drop" in wire[0]:
            return False
        lines = ["HTTP/1.1 200 OK", *(f"{name}: {text}" for name, text in headers.items()), "", ""]
        exchange.send("\r\n".join(lines).encode())
        return self._stream(exchange, api, wire)

    def _refuse(self, exchange: Exchange, cue: Json) -> bool:
        body = cue.get("body", "")
        kind = "text/html" if isinstance(body, str) else "application/json"
        packed = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        exchange.reply(cue["!status"], {"Content-Type": kind, **cue.get("headers", {})}, packed)
        return True

    def _stream(self, exchange: Exchange, api: str, wire: list[Json]) -> bool:
        gathered = b""
        for frame in wire:
            if "!drop" in frame or "!hold" in frame or "!sleep_ms" in frame:
                self._send_split(exchange, gathered)
                gathered = b""
            if "!drop" in frame:
                return False
            if "!hold" in frame:
                self.closed_at = exchange.wait_for_close()
                return False
            if "!sleep_ms" in frame:
                time.sleep(frame["!sleep_ms"] / 1000)
            else:
                gathered += frame_bytes(api, frame)
        self._send_split(exchange, gathered)
        exchange.send(b"0\r\n\r\n")
        return True

    def _send_split(self, exchange: Exchange, data: bytes) -> None:
        """As chunks of random size, written to the socket in pieces of other random sizes."""
        wire = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in self._cut(data))
        pieces = self._cut(wire)
        paused = set(self._random.sample(range(len(pieces)), min(PAUSES, len(pieces))))
        for place, piece in enumerate(pieces):
            exchange.send(piece)
            if place in paused:
                time.sleep(0.001)

    def _cut(self, data: bytes) -> list[bytes]:
        pieces: list[bytes] = []
        while data:
            size = self._random.choice((1, 2, 3, 7, 40, 200, 1000))
            pieces.append(data[:size])
            data = data[size:]
        return pieces
