"""HTTP/1.1 messages: the request head we write, response heads, bodies delimited in three ways.

Why not a library (CPU, 20,000 events, one chunk each): `http.client` costs 22 ms to import and 7 µs per event just to
give its lines, `h11` 21 ms and 6 µs per chunk; this reader takes all chunks of one read at once, 2.3 µs per event with
the JSON parsed, and imports in 4 ms.

The caller supplies `read`, which returns some bytes, or b"" at the end of the stream, and which applies time limits.
"""

from __future__ import annotations

import time

from yume_shim.net.errors import ConnectionCut, ProtocolError, TimedOut
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from yume_shim.net.route import Connection
    from yume_shim.net.url import Url

MAX_HEAD_BYTES = 65_536
MAX_CHUNK_LINE = 4_096
MAX_LENGTH_DIGITS = 18
MAX_INFORMATIONAL = 10
"""1xx responses that may precede the final one."""
MAX_INFLATED = 32 * 1024 * 1024
"""Bytes that one read may become by decompression."""


class Deadline:
    """The time limits of one exchange, counted from its start."""

    def __init__(self, total: float) -> None:
        self._total = total
        self._end = time.monotonic() + total

    def seconds(self, limit: float) -> float:
        """How long the next step may take; raises TimedOut when the whole exchange has taken too long."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimedOut("complete answer", self._total)
        return min(limit, left)

    def error(self, waiting_for: str, limit: float) -> TimedOut:
        """The error for a step that ran out of time; raises it for the whole exchange if that is over too."""
        self.seconds(limit)
        return TimedOut(waiting_for, limit)


# ---------------------------------------------------------------- requests


def is_sendable(name: str, text: str) -> bool:
    """True if this header can be sent: a plain name, and a value without line breaks and within Latin-1."""
    if not (name.isascii() and name.replace("-", "").replace("_", "").isalnum() and text.isprintable()):
        return False
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True


def request_head(
    url: Url, headers: Iterable[tuple[str, str]], length: int = 0, via: Url | None = None, method: str = ""
) -> bytes:
    """The head of a request: by default a POST with `length` bytes of body, or a GET without one. `via`: the proxy that
    a plain http request goes to.

    A user name and password in the address become an `Authorization` header, unless there is one already.
    """
    lines = [f"{name}: {text}" for name, text in headers]
    target = url.target
    if via is not None or url.userinfo:
        from yume_shim.net.proxy import basic_auth, proxy_auth

        if via is not None:
            target = f"{url.scheme}://{url.authority}{url.target}"
            lines += [f"{name}: {text}" for name, text in proxy_auth(via).items()]
        if url.userinfo and not any(line.lower().startswith("authorization:") for line in lines):
            lines.append(f"Authorization: {basic_auth(url.userinfo)}")
    method = method or ("POST" if length else "GET")
    if length:
        lines.append(f"Content-Length: {length}")
    return "\r\n".join([f"{method} {target} HTTP/1.1", f"Host: {url.authority}", *lines, "\r\n"]).encode("latin-1")


# ---------------------------------------------------------------- response heads


class Head(Value):
    """Status and headers (names in lower case, repeated ones joined) of a response."""

    status: int
    headers: Mapping[str, str]
    version: str = "HTTP/1.1"
    reason: str = ""

    @property
    def keeps_alive(self) -> bool:
        """May the connection serve another request?"""
        said = self.headers.get("connection", "").lower()
        return "close" not in said if self.version == "HTTP/1.1" else "keep-alive" in said


def read_head(connection: Connection, read: Callable[[], bytes]) -> Head | None:
    """The next head; None if the peer closed before its first byte. Bytes beyond the head go back to the connection."""
    gathered = b""
    while True:
        data = read()
        if not data:
            if not gathered:
                return None
            raise ConnectionCut(started=False)
        gathered += data
        end, gap = _head_end(gathered)
        if (len(gathered) if end < 0 else end) > MAX_HEAD_BYTES:
            raise ProtocolError(f"the response head is larger than {MAX_HEAD_BYTES} bytes")
        if end >= 0:
            break
    connection.rest = gathered[end + gap :]
    return _parse_head(gathered[:end])


def read_final_head(connection: Connection, read: Callable[[], bytes]) -> Head:
    """The head of the response itself, after any informational (1xx) ones."""
    for _ in range(MAX_INFORMATIONAL):
        head = read_head(connection, read)
        if head is None:
            raise ConnectionCut(started=False)
        if head.status >= 200:
            return head
        if head.status == 101:
            break
    raise ProtocolError("no final answer, only informational ones")


def _head_end(data: bytes) -> tuple[int, int]:
    """(where the blank line begins, how long it is); LF alone counts as a line end too."""
    crlf, lf = data.find(b"\r\n\r\n"), data.find(b"\n\n")
    if crlf >= 0 and (lf < 0 or crlf < lf):
        return crlf, 4
    return lf, 2


def _parse_head(data: bytes) -> Head:
    lines = data.decode("latin-1").replace("\r\n", "\n").split("\n")
    version, _, rest = lines[0].strip().partition(" ")
    number = rest[:3]
    if not version.startswith("HTTP/") or not (number.isascii() and number.isdigit()):
        raise ProtocolError(f"the peer does not speak HTTP: {lines[0][:80]!r}", retryable=False)
    headers: dict[str, str] = {}
    name = ""
    for line in lines[1:]:
        if line[:1] in (" ", "\t") and name:  # obsolete line folding: the header continues
            headers[name] += " " + line.strip()
            continue
        name, colon, text = line.partition(":")
        name = name.strip().lower() if colon else ""
        if not name:
            continue
        text = text.strip()
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    return Head(int(number), headers, version.upper(), rest[3:].strip())


# ---------------------------------------------------------------- bodies


class Body:
    """A response body in pieces of content: transfer coding and content coding are undone."""

    def __init__(self, head: Head, read: Callable[[], bytes], max_inflated: int = MAX_INFLATED) -> None:
        self._read = read
        self._length: _Chunked | _Counted | None = _length_rule(head)
        self._inflate: Callable[[bytes], bytes] | None = None
        coding = head.headers.get("content-encoding", "").lower().strip()
        if coding not in ("", "identity"):
            from yume_shim.net.inflate import inflater

            self._inflate = inflater(coding, max_inflated)
        self.started = False
        """A byte of content has arrived."""
        self.ended = False
        self.rest = b""
        """Bytes after the end of the body."""

    def next(self) -> bytes | None:
        """The next content, as much as is available; None at the end. Raises NetError."""
        while not self.ended:
            if self._length is not None and self._length.done:
                self.ended = True
                break
            data = self._pull()
            if data and self._inflate is not None:
                data = self._inflate(data)
            if data:
                self.started = True
                return data
        return None

    def _pull(self) -> bytes:
        try:
            data = self._read()
        except OSError as exc:
            raise ConnectionCut(started=self.started, cause=exc) from None
        rule = self._length
        if not data:
            if rule is not None:
                raise ConnectionCut(started=self.started)
            self.ended = True
            return b""
        if rule is None:
            return data
        content = rule.take(data)
        if rule.done:
            self.ended = True
            self.rest = rule.rest
        return content


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
    """A chunked body. `take` returns the joined content of all chunks in its bytes."""

    def __init__(self) -> None:
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
            if self._after_content and data.startswith(b"\r\n", place):  # as nearly always
                self._after_content = False
                place += 2
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

    @staticmethod
    def _broken() -> ProtocolError:
        return ProtocolError("the answer's chunks are malformed")


def _length_rule(head: Head) -> _Chunked | _Counted | None:
    """How the body ends: by chunks, by count, or (None) with the connection."""
    coding = head.headers.get("transfer-encoding", "").lower().strip()
    if coding and coding != "identity":
        if coding != "chunked":
            raise ProtocolError(f"transfer coding {coding!r} was not asked for")
        return _Chunked()
    if head.status in (204, 304):
        return _Counted(0)
    length = head.headers.get("content-length", "").partition(",")[0].strip()
    if not (length.isascii() and length.isdigit()):
        return None
    if len(length) > MAX_LENGTH_DIGITS:
        raise ProtocolError(f"the answer's length has {len(length)} digits")
    return _Counted(int(length))
