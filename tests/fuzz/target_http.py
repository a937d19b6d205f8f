"""HTTP/1.1 responses and event streams, cut anywhere: heads, chunks, compression, SSE, JSON lines."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

from tests.fuzz.harness import Target
from yume_shim.extensions.mcp.errors import McpError
from yume_shim.extensions.mcp.event_stream import EventStream
from yume_shim.net.errors import NetError
from yume_shim.net.message import Body, read_final_head
from yume_shim.net.route import Connection
from yume_shim.net.url import parse_url, redirect_url
from yume_shim.providers.http.frames import FrameParser
from yume_shim.providers.wire.failures import failure_from_net, status_failed
from yume_shim.providers.wire.rate_limits import read_limits
from yume_shim.text import codec
from yume_shim.types.errors import ProviderFailed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ("http", "frames")
BODY = b'data: {"a":1}\n\n: comment\n\nevent: x\ndata: {"b":\ndata: 2}\n\ndata: [DONE]\n\n'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
LIMITS = (
    b"HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nretry-after-ms: 70\r\nx-ratelimit-limit-requests: 60\r\n"
    b"x-ratelimit-remaining-requests: 0\r\nx-ratelimit-reset-requests: 1m2.5s\r\n"
    b"anthropic-ratelimit-tokens-limit: 1000\r\nanthropic-ratelimit-tokens-remaining: 5\r\n"
    b"anthropic-ratelimit-tokens-reset: 2026-01-01T00:00:00Z\r\nrequest-id: req_1\r\n"
)
ERROR = b'{"error":{"type":"rate_limit_error","code":"x","message":"at most 1000 tokens, 2000 given","param":"p"}}'


def _chunked(body: bytes, size: int) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x;x=y\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\nTrailer: x\r\n\r\n"


HTTP = (
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + _chunked(BODY, 7),
    HEAD + b"Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n" + _chunked(gzip.compress(BODY, mtime=0), 30),
    HEAD + b"Content-Encoding: deflate\r\nContent-Length: %d\r\n\r\n" % len(zlib.compress(BODY)) + zlib.compress(BODY),
    HEAD + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(BODY) + BODY,
    b"HTTP/1.0 200\n\n" + BODY,
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" + HEAD + b"\r\n" + BODY,
    LIMITS + b"Content-Length: %d\r\n\r\n" % len(ERROR) + ERROR,
    b"HTTP/1.1 307 Moved\r\nLocation: //other.example:8443/x?y#z\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 204 None\r\nX: a\r\n b\r\n\r\n",
)
HTTP_WORDS = (
    *(b"Content-Length: ", b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: gzip\r\n", b"0\r\n\r\n", b"\r\n\r\n"),
    *(b"HTTP/1.1 ", b"100", b"0x1", b"-1", b"ffffffffffffffff\r\n", b"\xb2\xb3", b"[::1", b"//", b"@", b"Location: "),
)
FRAMES = (
    BODY,
    BODY.replace(b"\n", b"\r\n"),
    BODY.replace(b"\n", b"\r"),
    b'\xef\xbb\xbf{"a":1}\n{"b":[1,2]}\n\n{"c":"\xc3\xa9"}',
    b'[{"a":1},\n{"b":2}]',
    b"<html>",
    b"id: 7\nretry: 10\nevent: message\ndata\ndata: x\n\n",
)
FRAME_WORDS = (b"data:", b"data: ", b"event: ", b"id: ", b"retry: ", b": ", b"[DONE]", b'data: {"error":1}\n\n')
MAX_READS = 100_000


def open_target(name: str, folder: Path) -> Target:
    """The target of this name."""
    if name == "http":
        return Target(name, check_http, HTTP, HTTP_WORDS)
    return Target(name, check_frames, FRAMES, FRAME_WORDS)


def pieces(data: bytes) -> Iterator[bytes]:
    """The bytes as reads of a socket, cut by their own checksum."""
    mark = zlib.crc32(data)
    size = (len(data) + 1, 1 + len(data) // 40, 1 + len(data) // 7, 16 + mark % 100)[mark % 4]
    for at in range(0, len(data), size):
        yield data[at : at + size]


def check_http(data: bytes) -> None:
    """A response is read to its end, or ends with a NetError."""
    try:
        _read_response(data)
    except NetError as error:
        codec.dumps({"message": failure_from_net(error, "test").message})


def _read_response(data: bytes) -> None:
    reads = pieces(data)
    connection = Connection(None, "test")  # type: ignore[arg-type]  # nothing reads its socket

    def read() -> bytes:
        if connection.rest:
            rest, connection.rest = connection.rest, b""
            return rest
        return next(reads, b"")

    head = read_final_head(connection, read)
    assert 200 <= head.status <= 999 or head.status == 101
    read_limits(head.headers, refused=head.status == 429)
    if "location" in head.headers:
        try:
            redirect_url(parse_url("https://example.com/v1"), head.headers["location"])
        except ValueError:
            pass
    body = Body(head, read)
    got, count = [], 0
    while (content := body.next()) is not None:
        got.append(content)
        count += 1
        assert count < MAX_READS
    whole = b"".join(got)
    if head.status > 299:
        failed = status_failed(head.status, head.headers, whole, "test")
        codec.dumps({"message": failed.failure.message, "code": failed.failure.provider_code})


def check_frames(data: bytes) -> None:
    """Frames are objects, the same however the bytes are cut (but for quotes of invalid ones); the events of an MCP stream likewise."""
    whole = _frames([data])
    for cut in (list(pieces(data)), [data[:1], data[1:2], data[2:]]):
        assert _frames(cut) == whole, "frames depend on how reads are cut"
        assert _events(cut) == _events([data]), "events depend on how reads are cut"


def _frames(reads: list[bytes]) -> object:
    parser = FrameParser("test")
    frames = []
    try:
        for data in reads:
            frames += parser.feed(data)
        frames += parser.finish()
    except ProviderFailed as failed:
        return failed.failure.message
    assert all(isinstance(frame, dict) for frame in frames)
    return codec.dumps([{"!bad": True} if "!bad" in frame else frame for frame in frames])


def _events(reads: list[bytes]) -> object:
    stream = EventStream()
    try:
        return [(event.name, event.data, event.id) for data in reads for event in stream.feed(data)]
    except McpError as error:
        return error.message
