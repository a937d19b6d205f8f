"""The direct transport against real sockets."""

from __future__ import annotations

import gzip
import socket
import threading
import time
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.certificates import make_certificate
from tests.helpers.fake_server import Exchange, LoopbackServer, read_request
from tests.helpers.fakes import cancel
from tests.helpers.timing import SOON, set_when, soon, wait_until
from yume_shim import __version__
from yume_shim.net import message
from yume_shim.providers.http import stream, transport
from yume_shim.providers.http.stream import MAX_ERROR_BODY
from yume_shim.providers.http.transport import DirectTransport
from yume_shim.providers.wire.failures import StatusFailed
from yume_shim.types.errors import Cancelled, ProviderFailed
from yume_shim.types.models import Credential, Endpoint, TransportSettings, WireRequest
from yume_shim.types.settings import Timeouts
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from yume_shim.engine.cancel import CancelSignal
    from yume_shim.types.blocks import Json

WIRE = WireRequest("/v1/x", {"say": "hällo"}, {"X-Wire": "1"})
FAST = Timeouts(connect=20.0, first_byte=20.0, idle=20.0, total=40.0)
"""More than a busy machine needs, less than a test may take."""
SSE = b'data: {"a":1}\n\ndata: {"a":2}\n\n'
FRAMES: list[Json] = [{"a": 1}, {"a": 2}]


def make(
    url: str,
    timeouts: Timeouts = FAST,
    env: dict[str, str] | None = None,
    auth: dict[str, str] | None = None,
    extra: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
) -> DirectTransport:
    endpoint = Endpoint("p", "anthropic-messages", url, headers=headers or {})
    credential = Credential("k", "key", "SOME_VAR")
    made = DirectTransport(
        TransportSettings(endpoint, credential, auth or {}, timeouts, env or {}, extra or {}, lambda *_: None)
    )
    _made.append(made)
    return made


_made: list[DirectTransport] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Kept connections end with their test."""
    yield
    while _made:
        _made.pop().close()


def fetch(direct: DirectTransport, wire: WireRequest = WIRE, stop: CancelSignal | None = None) -> list[Json]:
    stream = direct.open(wire, stop or cancel())
    try:
        return list(stream)
    finally:
        stream.close()


def failure_of(run: Callable[[], Any]) -> Any:
    with pytest.raises(ProviderFailed) as caught:
        run()
    return caught.value.failure


def reply(body: bytes = SSE, **headers: str) -> Callable[[Exchange], bool]:
    def handle(exchange: Exchange) -> bool:
        exchange.reply(200, {name.replace("_", "-"): text for name, text in headers.items()}, body)
        return True

    return handle


def raw(data: bytes, keep: bool = False) -> Callable[[Exchange], bool]:
    def handle(exchange: Exchange) -> bool:
        exchange.send(data)
        return keep

    return handle


# ---------------------------------------------------------------- what is sent


def test_the_request_that_arrives() -> None:
    with LoopbackServer(reply()) as server:
        direct = make(
            server.url + "/base/?v=2",
            auth={"x-api-key": "k"},
            extra={"User-Agent": "me", "x-more": "1"},
            headers={"X-Wire": "2"},
        )
        assert fetch(direct, WireRequest("/v1/a b?alt=sse", {"say": "hällo"}, {"X-Wire": "1"})) == FRAMES
        direct.close()
    [request] = server.requests
    assert request.method == "POST"
    assert request.path == "/base/v1/a%20b?v=2&alt=sse"
    assert request.body == '{"say":"hällo"}'.encode()
    assert request.headers == {
        "host": f"127.0.0.1:{server.port}",
        "user-agent": "me",
        "content-type": "application/json",
        "accept": "text/event-stream, application/x-ndjson, application/json",
        "accept-encoding": "identity",
        "x-wire": "2",
        "x-api-key": "k",
        "x-more": "1",
        "content-length": "16",
    }


def test_user_agent() -> None:
    with LoopbackServer(reply()) as server:
        fetch(make(server.url))
    assert server.requests[0].headers["user-agent"] == f"yume-shim/{__version__}"


def test_a_name_and_password_in_the_address() -> None:
    with LoopbackServer(reply()) as server:
        fetch(make(f"http://us%40er:pass@127.0.0.1:{server.port}"))
    assert server.requests[0].headers["authorization"] == "Basic dXNAZXI6cGFzcw=="


@pytest.mark.parametrize("key", ["a\nb", "a\r\nX: y", "clé–", "a\x00b"])
def test_a_key_that_cannot_be_sent_is_named_by_its_place(key: str) -> None:
    failure = failure_of(lambda: fetch(make("http://127.0.0.1:1", auth={"x-api-key": key})))
    assert (failure.kind, failure.message) == (
        "config",
        "the key from SOME_VAR contains a character that cannot be sent",
    )


def test_an_invalid_base_url() -> None:
    failure = failure_of(lambda: fetch(make("ftp://x")))
    assert (failure.kind, failure.retryable) == ("config", False)


# ---------------------------------------------------------------- how bodies come

PACKED = gzip.compress(SSE)
BODIES = {
    "length": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(SSE), SSE),
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\ndata:\r\n%x\r\n%s\r\n0\r\nT: 1\r\n\r\n"
    % (len(SSE) - 5, SSE[5:]),
    "until close": b"HTTP/1.1 200 OK\r\n\r\n" + SSE,
    "http 1.0": b"HTTP/1.0 200 OK\r\n\r\n" + SSE,
    "bare newlines": b"HTTP/1.1 200 OK\nContent-Length: %d\n\n%s" % (len(SSE), SSE),
    "no reason": b"HTTP/1.1 200\r\nContent-Length: %d\r\n\r\n%s" % (len(SSE), SSE),
    "informational first": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"
    + SSE,
    "folded header": b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: %d\r\n\r\n%s" % (len(SSE), SSE),
    "gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s" % (len(PACKED), PACKED),
    "deflate": b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n" + zlib.compress(SSE),
    "raw deflate": b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n" + zlib.compress(SSE, wbits=-15),
    "json": b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[{"a":1},\n{"a":2}]',
    "json lines": b'HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n{"a":1}\n{"a":2}\n',
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("split", [False, True])
def test_bodies(name: str, split: bool) -> None:
    def handle(exchange: Exchange) -> bool:
        data = BODIES[name]
        for place in range(0, len(data), 1 if split else len(data)):
            exchange.send(data[place : place + (1 if split else len(data))])
        return False

    with LoopbackServer(handle) as server:
        assert fetch(make(server.url)) == FRAMES


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "network"),
        (b"HTTP/1.1 200 OK\r\nContent-", "network"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n", "network"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\ndata: {}", "stream_interrupted"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ndata", "stream_interrupted"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ndata\r\n", "stream_interrupted"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ndataX\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 5_000, "protocol"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nnot gzip", "protocol"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "protocol"),
        (b"HTTP/1.1 101 Switching\r\n\r\n", "protocol"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 20, "protocol"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * message.MAX_HEAD_BYTES + b"\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\n\r\n<html></html>", "protocol"),
    ],
)
def test_broken_responses(data: bytes, kind: str) -> None:
    with LoopbackServer(raw(data)) as server:
        assert failure_of(lambda: fetch(make(server.url))).kind == kind


def test_a_compressed_bomb_is_not_unpacked() -> None:
    bomb = zlib.compress(b"\0" * (message.MAX_INFLATED * 2), 9)
    data = b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n" + bomb
    with LoopbackServer(raw(data)) as server:
        assert failure_of(lambda: fetch(make(server.url))).kind == "protocol"


def test_a_refusal_carries_its_headers_and_body() -> None:
    def handle(exchange: Exchange) -> bool:
        exchange.reply(429, {"Retry-After": "3"}, b'{"error":{"message":"slow"}}')
        return True

    with LoopbackServer(handle) as server, pytest.raises(StatusFailed) as caught:
        fetch(make(server.url))
    assert (caught.value.status, caught.value.body) == (429, b'{"error":{"message":"slow"}}')
    assert (caught.value.failure.retry_after_ms, caught.value.failure.message) == (3_000, "slow")


def test_a_refusal_before_the_whole_request_was_read() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        sock, _ = listener.accept()
        sock.recv(100)
        sock.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
        sock.shutdown(socket.SHUT_WR)
        time.sleep(0.2)
        sock.close()

    thread = threading.Thread(target=serve)
    thread.start()
    big = WireRequest("/v1/x", {"text": "x" * 3_000_000})
    failure = failure_of(lambda: fetch(make(f"http://127.0.0.1:{listener.getsockname()[1]}"), big))
    thread.join()
    listener.close()
    assert failure.kind in ("context_length", "network")  # the answer counts where the system still hands it over


def test_an_error_body_is_read_up_to_a_limit() -> None:
    data = b"HTTP/1.1 500 X\r\n\r\n" + b"y" * (MAX_ERROR_BODY * 2)
    with LoopbackServer(raw(data)) as server, pytest.raises(StatusFailed) as caught:
        fetch(make(server.url))
    assert len(caught.value.body) == MAX_ERROR_BODY


# ---------------------------------------------------------------- redirects


def test_redirects_keep_the_method_and_lose_the_key_at_another_origin() -> None:
    with LoopbackServer(reply()) as target:

        def handle(exchange: Exchange) -> bool:
            where = "/second" if exchange.request.path == "/v1/x" else f"{target.url}/third"
            exchange.reply(307 if where == "/second" else 308, {"Location": where}, b"moved")
            return True

        with LoopbackServer(handle) as first:
            direct = make(first.url, auth={"x-api-key": "k"}, extra={"x-secret": "s"}, headers={"X-Row-Key": "r"})
            assert fetch(direct) == FRAMES
    assert [(request.method, request.path, request.headers.get("x-api-key")) for request in first.requests] == [
        ("POST", "/v1/x", "k"),
        ("POST", "/second", "k"),
    ]
    assert first.connections == 1
    [request] = target.requests
    assert (request.path, request.body) == ("/third", '{"say":"hällo"}'.encode())
    assert first.requests[1].headers["x-row-key"] == "r"
    assert not {"x-api-key", "x-secret", "x-row-key"} & request.headers.keys()


def test_redirects_are_limited() -> None:
    def handle(exchange: Exchange) -> bool:
        exchange.reply(307, {"Location": "/again"})
        return True

    with LoopbackServer(handle) as server:
        failure = failure_of(lambda: fetch(make(server.url)))
    assert (failure.kind, failure.message) == ("protocol", "more than 5 redirects")
    assert len(server.requests) == transport.MAX_REDIRECTS + 1


@pytest.mark.parametrize("status", [301, 302, 303])
def test_redirects_that_would_lose_the_body_are_not_followed(status: int) -> None:
    def handle(exchange: Exchange) -> bool:
        exchange.reply(status, {"Location": "/again"})
        return True

    with LoopbackServer(handle) as server:
        assert failure_of(lambda: fetch(make(server.url))).kind == "protocol"
    assert len(server.requests) == 1


# ---------------------------------------------------------------- connections


def test_a_connection_is_used_again() -> None:
    with LoopbackServer(reply()) as server:
        direct = make(server.url)
        assert [fetch(direct) for _ in range(3)] == [FRAMES] * 3
        assert server.connections == 1
        direct.close()


def test_a_connection_is_used_again_after_a_stream_was_left_at_its_last_event() -> None:
    with LoopbackServer(reply()) as server:
        direct = make(server.url)
        for _ in range(2):
            stream = direct.open(WIRE, cancel())
            frames = iter(stream)
            assert [next(frames), next(frames)] == FRAMES
            stream.close()
        assert server.connections == 1


@pytest.mark.parametrize("headers", [{"Connection": "close"}, {}])
def test_a_connection_that_was_closed_meanwhile_is_replaced(headers: dict[str, str]) -> None:
    def handle(exchange: Exchange) -> bool:
        exchange.reply(200, headers, SSE)
        return False

    with LoopbackServer(handle) as server:
        direct = make(server.url)
        assert fetch(direct) == FRAMES
        time.sleep(0.05)  # a close that is noticed later only takes the other way to the same end
        assert fetch(direct) == FRAMES
        assert server.connections == 2


def test_a_kept_connection_that_dies_during_the_request_is_replaced_once() -> None:
    def handle(exchange: Exchange) -> bool:
        if len(server.requests) == 2:
            return False
        exchange.reply(200, {}, SSE)
        return True

    with LoopbackServer(handle) as server:
        direct = make(server.url)
        assert fetch(direct) == FRAMES
        assert fetch(direct) == FRAMES
        assert (server.connections, len(server.requests)) == (2, 3)


def test_a_fresh_connection_that_dies_is_not_retried_here() -> None:
    with LoopbackServer(raw(b"")) as server:
        assert failure_of(lambda: fetch(make(server.url))).kind == "network"
        assert len(server.requests) == 1


def test_a_stream_left_in_the_middle_closes_its_connection() -> None:
    closed: list[float] = []

    def handle(exchange: Exchange) -> bool:
        exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(SSE), SSE))
        closed.append(exchange.wait_for_close())
        return False

    with LoopbackServer(handle) as server:
        stream = make(server.url).open(WIRE, cancel())
        assert next(iter(stream)) == {"a": 1}
        stream.close()
        wait_until(lambda: closed, "the end of the connection", SOON)


def test_ipv6() -> None:
    try:
        server = LoopbackServer(reply(), host="::1")
    except OSError:
        pytest.skip("no IPv6 loopback here")
    with server:
        assert fetch(make(server.url)) == FRAMES
    assert server.requests[0].headers["host"] == f"[::1]:{server.port}"


def test_a_host_name_is_resolved() -> None:
    with LoopbackServer(reply()) as server:
        assert fetch(make(f"http://localhost:{server.port}")) == FRAMES


def test_connection_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    failure = failure_of(lambda: fetch(make(f"http://127.0.0.1:{port}")))
    assert (failure.kind, failure.detail, failure.retryable, failure.message) == (
        "network",
        "ECONNREFUSED",
        True,
        f"127.0.0.1:{port} refused the connection",
    )


def test_a_name_that_does_not_exist() -> None:
    failure = failure_of(lambda: fetch(make("http://no-such-host.invalid")))
    assert (failure.kind, failure.retryable) == ("dns", True)
    assert "no-such-host.invalid:80" in failure.message


# ---------------------------------------------------------------- waiting and stopping


def hang(after: bytes) -> Callable[[Exchange], bool]:
    def handle(exchange: Exchange) -> bool:
        exchange.send(after)
        exchange.wait_for_close()
        return False

    return handle


HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = HEAD + b"%x\r\n%s\r\n" % (len(SSE), SSE)


@pytest.mark.parametrize(
    ("after", "timeouts", "what"),
    [
        (b"", replace(FAST, first_byte=0.1), "no answer within 0.1 seconds"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", replace(FAST, first_byte=0.1), "no answer within 0.1 seconds"),
        (CHUNK, replace(FAST, idle=0.1), "no further part of the answer within 0.1 seconds"),
        (CHUNK, replace(FAST, total=0.1), "no complete answer within 0.1 seconds"),
    ],
)
def test_limits(after: bytes, timeouts: Timeouts, what: str) -> None:
    with LoopbackServer(hang(after)) as server, soon():
        failure = failure_of(lambda: fetch(make(server.url, timeouts)))
    assert (failure.kind, failure.message, failure.retryable) == ("timeout", what, True)


@pytest.mark.parametrize(("complete", "idle"), [(True, 10 * SOON), (False, 0.3)])
def test_an_answer_that_stays_open(complete: bool, idle: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is complete by what it says is waited for shortly; any other one as long as any silence lasts."""
    monkeypatch.setattr(stream, "END_WAIT_S", 0.1)
    with LoopbackServer(hang(CHUNK)) as server, soon():
        answer = make(server.url, replace(FAST, idle=idle, total=20 * SOON)).open(WIRE, cancel())
        answer.over = lambda: complete
        failure = failure_of(lambda: list(answer))
        answer.close()
    assert (failure.kind, failure.message) == ("timeout", f"no further part of the answer within {idle:g} seconds")


def test_a_connect_that_hangs() -> None:
    """A listener whose queue is full leaves further connects unanswered."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        fillers = [socket.socket() for _ in range(8)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        with soon():
            failure = failure_of(lambda: fetch(make(f"http://127.0.0.1:{address[1]}", replace(FAST, connect=0.2))))
        for filler in fillers:
            filler.close()
    assert failure.kind == "timeout"


@pytest.mark.parametrize("after", [b"", HEAD, CHUNK, b"HTTP/1.1 500 X\r\nContent-Length: 9\r\n\r\nab"])
def test_a_cancel_takes_effect_at_once(after: bytes) -> None:
    stop = cancel()
    with LoopbackServer(hang(after)) as server:
        direct = make(server.url)
        set_when(stop, lambda: server.requests, after=0.1)
        with soon(), pytest.raises(Cancelled):
            fetch(direct, stop=stop)


def test_a_cancel_before_the_start() -> None:
    stop = cancel()
    stop.set()
    with LoopbackServer(reply()) as server, pytest.raises(Cancelled):
        fetch(make(server.url), stop=stop)


# ---------------------------------------------------------------- TLS


def test_tls(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with LoopbackServer(reply(), certificate.server) as server:
        direct = make(server.url, env={"SSL_CERT_FILE": certificate.trusted})
        assert [fetch(direct), fetch(direct)] == [FRAMES, FRAMES]
        assert server.connections == 1
        direct.close()


@pytest.mark.parametrize("name", ["NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"])
def test_tls_with_custom_roots(tmp_path: Path, name: str) -> None:
    certificate = make_certificate(tmp_path)
    with LoopbackServer(reply(), certificate.server) as server:
        assert fetch(make(server.url, env={name: certificate.trusted})) == FRAMES


def test_tls_that_is_not_trusted(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with LoopbackServer(reply(), certificate.server) as server:
        failure = failure_of(lambda: fetch(make(server.url)))
    assert (failure.kind, failure.retryable) == ("tls", False)
    assert f"127.0.0.1:{server.port}" in failure.message


def test_tls_to_a_server_without_tls() -> None:
    with LoopbackServer(raw(b"plain")) as server:
        listener_url = server.url.replace("http:", "https:")
        assert failure_of(lambda: fetch(make(listener_url, replace(FAST, connect=1.0)))).kind in (
            "tls",
            "network",
            "timeout",
        )


def test_a_cancel_takes_effect_under_tls(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    stop = cancel()
    with LoopbackServer(hang(CHUNK), certificate.server) as server:
        set_when(stop, lambda: server.requests, after=0.1)
        with soon(), pytest.raises(Cancelled):
            fetch(make(server.url, env={"SSL_CERT_FILE": certificate.trusted}), stop=stop)


def test_a_redirect_to_plain_http_is_refused(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)

    def handle(exchange: Exchange) -> bool:
        exchange.reply(307, {"Location": "http://127.0.0.1:9/x"})
        return True

    with LoopbackServer(handle, certificate.server) as server:
        failure = failure_of(lambda: fetch(make(server.url, env={"SSL_CERT_FILE": certificate.trusted})))
    assert (failure.kind, failure.retryable) == ("protocol", False)


# ---------------------------------------------------------------- proxies


class Proxy(LoopbackServer):
    """Forwards CONNECT tunnels; answers plain requests itself."""

    def __init__(self, status: int = 200) -> None:
        self._status = status
        super().__init__(self._forward)

    def _forward(self, exchange: Exchange) -> bool:
        if exchange.request.method != "CONNECT":
            exchange.reply(200, {}, SSE)
            return True
        if self._status != 200:
            exchange.reply(self._status)
            return False
        host, _, port = exchange.request.path.rpartition(":")
        upstream = socket.create_connection((host, int(port)))
        exchange.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        threading.Thread(target=_pump, args=(upstream, exchange.sock), daemon=True).start()
        with upstream:
            _pump(exchange.sock, upstream)
        return False


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    finally:
        for sock in (source, target):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def test_plain_http_through_a_proxy() -> None:
    with Proxy() as proxy:
        env = {"HTTP_PROXY": f"http://us:pa%20ss@127.0.0.1:{proxy.port}"}
        direct = make("http://api.invalid/base", env=env)
        assert fetch(direct) == FRAMES
    [request] = proxy.requests
    assert request.path == "http://api.invalid/base/v1/x"
    assert request.headers["host"] == "api.invalid"
    assert request.headers["proxy-authorization"] == "Basic dXM6cGEgc3M="


def test_https_through_a_tunnel(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with LoopbackServer(reply(), certificate.server) as server, Proxy() as proxy:
        env = {"https_proxy": f"us:pass@127.0.0.1:{proxy.port}", "SSL_CERT_FILE": certificate.trusted}
        direct = make(server.url, env=env)
        assert [fetch(direct), fetch(direct)] == [FRAMES, FRAMES]
        direct.close()
    [request] = proxy.requests
    assert (request.method, request.path) == ("CONNECT", f"127.0.0.1:{server.port}")
    assert request.headers["proxy-authorization"] == "Basic dXM6cGFzcw=="
    assert "proxy-authorization" not in server.requests[0].headers


@pytest.mark.parametrize(("status", "retryable"), [(407, False), (502, True)])
def test_a_proxy_that_refuses(status: int, retryable: bool) -> None:
    with Proxy(status) as proxy:
        failure = failure_of(lambda: fetch(make("https://api.invalid", env={"ALL_PROXY": proxy.url})))
    assert (failure.kind, failure.retryable, failure.status) == ("network", retryable, None)
    assert f"127.0.0.1:{proxy.port}" in failure.message


def test_no_proxy_connects_directly() -> None:
    with LoopbackServer(reply()) as server:
        env = {"HTTP_PROXY": "http://127.0.0.1:1", "NO_PROXY": "127.0.0.0/8"}
        assert fetch(make(server.url, env=env)) == FRAMES


def test_an_unsupported_proxy_is_named() -> None:
    failure = failure_of(lambda: fetch(make("https://api.invalid", env={"ALL_PROXY": "socks5://secret@127.0.0.1:1"})))
    assert failure.kind == "config"
    assert "secret" not in failure.message


def test_the_servers_helper_reads_what_was_sent() -> None:
    left, right = socket.socketpair()
    with left, right:
        left.sendall(b"POST /x HTTP/1.1\r\nContent-Length: 2\r\n\r\nokrest")
        request, rest = read_request(right, b"")
    assert (request.body, rest) == (b"ok", b"rest")
