"""HTTP/1.1 messages without a socket."""

from __future__ import annotations

import gzip
import socket
import time
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import cancel
from yume_shim.net.errors import ConnectionCut, ProtocolError, ProxyUnusable, TimedOut, TooLarge
from yume_shim.net.message import Body, Deadline, Head, is_sendable, read_final_head, request_head
from yume_shim.net.route import Connection, open_route
from yume_shim.net.url import parse_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def connection() -> Iterator[Connection]:
    with socket.socket() as sock:
        yield Connection(sock, "http://h:80")


def reader(*pieces: bytes) -> Callable[[], bytes]:
    waiting = list(pieces)
    return lambda: waiting.pop(0) if waiting else b""


def test_a_request() -> None:
    url = parse_url("http://us:pw@h:81/a?b")
    assert request_head(url, [("X-A", "1")], 2) == (
        b"POST /a?b HTTP/1.1\r\nHost: h:81\r\nX-A: 1\r\nAuthorization: Basic dXM6cHc=\r\nContent-Length: 2\r\n\r\n"
    )
    assert request_head(url, [("authorization", "x")]) == b"GET /a?b HTTP/1.1\r\nHost: h:81\r\nauthorization: x\r\n\r\n"
    assert request_head(parse_url("http://h/"), [], via=parse_url("http://p")) == (
        b"GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("name", "text", "sendable"),
    [("X-A_1", "é", True), ("X-A", "a\r\nb", False), ("X A", "b", False), ("", "b", False), ("X-A", "–", False)],
)
def test_headers(name: str, text: str, sendable: bool) -> None:
    assert is_sendable(name, text) == sendable


def test_a_head_after_informational_ones(connection: Connection) -> None:
    data = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 404 Not  Found \r\nA: 1\r\na: 2\r\n\r\nbody"
    more = reader(data[:10], data[10:])

    def read() -> bytes:
        return connection.read(1.0) if connection.rest else more()

    assert read_final_head(connection, read) == Head(404, {"a": "1, 2"}, "HTTP/1.0", "Not  Found")
    assert connection.rest == b"body"


def test_a_head_without_end(connection: Connection) -> None:
    with pytest.raises(ConnectionCut):
        read_final_head(connection, reader(b"HTTP/1.1 200 OK\r\n"))


def test_a_body_that_inflates_beyond_the_limit() -> None:
    head = Head(200, {"content-encoding": "gzip"})
    assert Body(head, reader(gzip.compress(b"x" * 100)), 100).next() == b"x" * 100
    with pytest.raises(TooLarge):
        Body(head, reader(gzip.compress(b"x" * 10_000)), 100).next()
    with pytest.raises(ProtocolError, match="'br'"):
        Body(Head(200, {"content-encoding": "br"}), reader())


def test_a_deadline() -> None:
    deadline = Deadline(60.0)
    assert deadline.seconds(5.0) == 5.0
    assert 50.0 < deadline.seconds(100.0) < 60.001  # the sum with the time of the clock is rounded
    assert str(deadline.error("answer", 5.0)) == "no answer within 5 seconds"
    over = Deadline(0.01)
    time.sleep(0.02)
    with pytest.raises(TimedOut, match=r"^no complete answer within 0\.01 seconds$"):
        over.seconds(5.0)


def test_addresses_behind_a_proxy_cannot_be_checked() -> None:
    with pytest.raises(ProxyUnusable):
        open_route(parse_url("http://h"), {"ALL_PROXY": "http://p"}, 1.0, cancel(), lambda _: None)
