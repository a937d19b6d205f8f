"""HTTP/1.1 as it comes off a socket: response heads, bodies in their three lengths, content codings.

Why not a library (CPU, 20,000 events, one chunk each): `http.client` costs 22 ms to import and 7 µs per event just to
give its lines, `h11` 21 ms and 6 µs per chunk; this reader takes all chunks of one read at once, 2.3 µs per event with
the JSON parsed, and imports in 4 ms.
"""

from __future__ import annotations

import time
from contextlib import suppress

from yume_shim.providers.wire.failures import failure_config, failure_cut, failure_protocol, failure_timeout
from yume_shim.types.errors import ProviderFailed
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from socket import socket
    from typing import Any

    from yume_shim.net.url import Url
    from yume_shim.types.settings import Timeouts

READ_BYTES = 65_536
MAX_HEAD_BYTES = 65_536
MAX_CHUNK_LINE = 4_096
MAX_INFLATED = 32 * 1024 * 1024
"""Bytes that one read may become by decompression."""


def check_header(name: str, text: str, provider: str, key_source: str = "") -> None:
    """Raises ProviderFailed for what cannot be sent. A header that holds a key is told by the place of the key."""
    if name.isascii() and name.replace("-", "").replace("_", "").isalnum() and text.isprintable():
        try:
            text.encode("latin-1")
            return
        except UnicodeEncodeError:
            pass
    what = f"the key from {key_source}" if key_source else f"the header {name!r}"
    raise ProviderFailed(failure_config(provider, f"{what} contains a character that cannot be sent"))


class Patience:
    """The time limits of one response, counted from its start."""

    def __init__(self, timeouts: Timeouts, provider: str) -> None:
        self._timeouts = timeouts
        self._provider = provider
        self._end = time.monotonic() + timeouts.total

    def seconds(self, limit: float) -> float:
        """How long the next step may take; raises when the whole response has taken too long."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise ProviderFailed(failure_timeout(self._provider, "complete answer", self._timeouts.total))
        return min(limit, left)

    def over(self, waiting_for: str, limit: float) -> ProviderFailed:
        """The failure of a step that ran out of time."""
        self.seconds(limit)
        return ProviderFailed(failure_timeout(self._provider, waiting_for, limit))


class Connection:
    """A socket and the bytes read from it too early."""

    __slots__ = ("idle_since", "kept", "key", "rest", "reused", "sock", "via")

    def __init__(self, sock: socket, key: str) -> None:
        self.sock = sock
        self.key = key
        self.rest = b""
        self.kept = True
        self.idle_since = 0.0
        self.via: Url | None = None
        """The proxy that plain http requests are written for; tunnels do not show."""

    def abort(self) -> None:
        """End whatever another thread waits for on it. (Not `SSLSocket.shutdown`, which takes the TLS layer away
        under the reader.)"""
        import socket

        with suppress(OSError):
            socket.socket.shutdown(self.sock, socket.SHUT_RDWR)

    def close(self) -> None:
        with suppress(OSError):
            self.sock.close()

    def is_alive(self) -> bool:
        """True if the idle peer has neither closed nor said anything."""
        if self.rest:
            return False
        self.sock.settimeout(0.0)
        try:
            self.sock.recv(1)
        except BlockingIOError:
            return True
        except OSError as exc:
            return type(exc).__name__ == "SSLWantReadError"  # named, not imported: plain http must not load ssl
        return False

    def read(self, seconds: float) -> bytes:
        """Some bytes, b"" at the end; raises TimeoutError and other OSErrors."""
        if self.rest:
            data, self.rest = self.rest, b""
            return data
        self.sock.settimeout(seconds)
        return self.sock.recv(READ_BYTES)


@value
class Head:
    """Status and headers (names in lower case, repeated ones joined) of a response."""

    status: int
    headers: Mapping[str, str]
    version: str = "HTTP/1.1"

    @property
    def keeps_alive(self) -> bool:
        """May the connection serve another request?"""
        said = self.headers.get("connection", "").lower()
        return "close" not in said if self.version == "HTTP/1.1" else "keep-alive" in said


def read_head(connection: Connection, read: Callable[[], bytes], provider: str) -> Head | None:
    """The next head; None if the peer closed before its first byte."""
    gathered = b""
    while True:
        data = read()
        if not data:
            if not gathered:
                return None
            raise ProviderFailed(failure_cut(provider, started=False))
        gathered += data
        end, gap = _head_end(gathered)
        if (len(gathered) if end < 0 else end) > MAX_HEAD_BYTES:
            raise ProviderFailed(failure_protocol(provider, f"the response head is larger than {MAX_HEAD_BYTES} bytes"))
        if end >= 0:
            break
    connection.rest = gathered[end + gap :]
    return _parse_head(gathered[:end], provider)


def _head_end(data: bytes) -> tuple[int, int]:
    """(where the blank line begins, how long it is); LF alone is taken as a line end too."""
    crlf, lf = data.find(b"\r\n\r\n"), data.find(b"\n\n")
    if crlf >= 0 and (lf < 0 or crlf < lf):
        return crlf, 4
    return lf, 2


def _parse_head(data: bytes, provider: str) -> Head:
    lines = data.decode("latin-1").replace("\r\n", "\n").split("\n")
    version, _, rest = lines[0].strip().partition(" ")
    number = rest[:3]
    if not version.startswith("HTTP/") or not number.isdigit():
        quote = lines[0][:80]
        raise ProviderFailed(failure_protocol(provider, f"the peer does not speak HTTP: {quote!r}", retryable=False))
    headers: dict[str, str] = {}
    name = ""
    for line in lines[1:]:
        if line[:1] in (" ", "\t") and name:  # an old way to continue a header
            headers[name] += " " + line.strip()
            continue
        name, colon, text = line.partition(":")
        name = name.strip().lower()
        if not colon or not name:
            continue
        text = text.strip()
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    return Head(int(number), headers, version.upper())


class Body:
    """A response body: pieces of content, whatever length rule and coding it came in."""

    def __init__(self, head: Head, read: Callable[[], bytes], provider: str) -> None:
        self._read = read
        self._provider = provider
        self._length: _Chunked | _Counted | None = _length_rule(head, provider)
        self._unpack = _unpacker(head.headers.get("content-encoding", ""), provider)
        self.started = False
        """A byte of content has come."""
        self.ended = False
        self.rest = b""
        """Bytes after the end: they belong to no body."""

    def next(self) -> bytes | None:
        """The next content, as much as is there; None at the end. Raises ProviderFailed when it is cut."""
        while not self.ended:
            if self._length is not None and self._length.done:
                self.ended = True
                break
            data = self._pull()
            if data and self._unpack is not None:
                data = self._unpack(data)
            if data:
                self.started = True
                return data
        return None

    def _pull(self) -> bytes:
        try:
            data = self._read()
        except OSError as exc:
            raise self._cut(exc) from None
        rule = self._length
        if not data:
            if rule is not None:
                raise self._cut(None)
            self.ended = True
            return b""
        if rule is None:
            return data
        content = rule.take(data)
        if rule.done:
            self.ended = True
            self.rest = rule.rest
        return content

    def _cut(self, exc: OSError | None) -> ProviderFailed:
        import errno

        code = errno.errorcode.get(exc.errno or 0, "") if exc is not None else ""
        return ProviderFailed(failure_cut(self._provider, started=self.started, detail=code))


class _Counted:
    """A body of known length."""

    def __init__(self, length: int) -> None:
        self._left = length
        self.done = length == 0
        self.rest = b""

    def take(self, data: bytes) -> bytes:
        content = data[: self._left]
        self.rest = data[len(content) :]
        self._left -= len(content)
        self.done = self._left == 0
        return content


class _Chunked:
    """A chunked body. `take` gives the content of all chunks in the bytes it is handed, joined."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._line = b""
        self._left = 0
        self._after_content = False
        self._in_trailer = False
        self.done = False
        self.rest = b""

    def take(self, data: bytes) -> bytes:
        content: list[bytes] = []
        if self._line:
            data, self._line = self._line + data, b""
        place, size = 0, len(data)
        while place < size:
            if self._left:
                piece = data[place : place + self._left]
                content.append(piece)
                place += len(piece)
                self._left -= len(piece)
                self._after_content = not self._left
                continue
            end = data.find(b"\n", place)
            if end < 0:
                self._line = data[place:]
                self._check_line(len(self._line))
                break
            self._take_line(data[place:end])
            place = end + 1
            if self.done:
                self.rest = data[place:]
                break
        return content[0] if len(content) == 1 else b"".join(content)

    def _take_line(self, line: bytes) -> None:
        self._check_line(len(line))
        if self._in_trailer:
            self.done = line.strip() == b""
        elif self._after_content:
            if line.strip():
                raise self._broken()
            self._after_content = False
        else:
            digits = line.partition(b";")[0].strip()
            try:
                if not digits.isalnum():
                    raise ValueError
                self._left = int(digits, 16)
            except ValueError:
                raise self._broken() from None
            self._in_trailer = self._left == 0

    def _check_line(self, length: int) -> None:
        if length > MAX_CHUNK_LINE:
            raise self._broken()

    def _broken(self) -> ProviderFailed:
        return ProviderFailed(failure_protocol(self._provider, "the answer's chunks are malformed"))


def _length_rule(head: Head, provider: str) -> _Chunked | _Counted | None:
    """How the body ends: by chunks, by count, or (None) with the connection."""
    coding = head.headers.get("transfer-encoding", "").lower().strip()
    if coding and coding != "identity":
        if coding != "chunked":
            raise ProviderFailed(failure_protocol(provider, f"transfer coding {coding!r} was not asked for"))
        return _Chunked(provider)
    if head.status in (204, 304):
        return _Counted(0)
    length = head.headers.get("content-length", "").partition(",")[0].strip()
    return _Counted(int(length)) if length.isdigit() else None


def _unpacker(coding: str, provider: str) -> Callable[[bytes], bytes] | None:
    """Undo gzip or deflate, which we never ask for but some proxies apply; flushed blocks come out at once."""
    coding = coding.lower().strip()
    if coding in ("", "identity"):
        return None
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise ProviderFailed(failure_protocol(provider, f"content coding {coding!r} was not asked for"))
    import zlib

    state: list[Any] = [] if coding == "deflate" else [zlib.decompressobj(31)]

    def unpack(data: bytes) -> bytes:
        if not state:  # "deflate" is zlib by the standard and raw in some servers; the first byte tells
            state.append(zlib.decompressobj(15 if data[0] & 0x0F == 8 else -15))
        try:
            content: bytes = state[0].decompress(data, MAX_INFLATED)
        except zlib.error:
            raise ProviderFailed(failure_protocol(provider, "the answer's compression is broken")) from None
        if state[0].unconsumed_tail:
            raise ProviderFailed(failure_protocol(provider, "the answer unpacks to more than can be taken"))
        return content

    return unpack
