"""The SDK transport: what the vendors' clients send, and how requests end. Frames are compared by the wire goldens."""

from __future__ import annotations

import gzip
import socket
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.certificates import make_certificate
from tests.helpers.fake_server import Exchange, LoopbackServer
from tests.helpers.fakes import cancel
from tests.helpers.timing import set_when, soon
from yume_shim.providers.http.frames import MAX_EVENT_BYTES
from yume_shim.providers.load import load_adapter
from yume_shim.providers.sdk.error_bodies import MAX_ERROR_BODY
from yume_shim.providers.sdk.transport import SdkTransport
from yume_shim.providers.wire.failures import StatusFailed
from yume_shim.types.errors import Cancelled, ProviderFailed
from yume_shim.types.models import Credential, Endpoint, TransportSettings, WireRequest
from yume_shim.types.settings import Timeouts
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from yume_shim.engine.cancel import CancelSignal
    from yume_shim.types.blocks import Json

LIMITS = Timeouts(connect=30.0, first_byte=30.0, idle=30.0, total=60.0)
SSE = b'data: {"a":1}\n\ndata: {"a":2}\n\n'
FRAMES: list[Json] = [{"a": 1}, {"a": 2}]
WIRES = {
    "anthropic-messages": WireRequest(
        "/v1/messages",
        {"model": "m", "max_tokens": 9, "stream": True, "messages": [], "thinking": {"type": "adaptive"}, "odd": 1},
        {"anthropic-version": "2023-06-01"},
    ),
    "openai-responses": WireRequest("/responses", {"model": "m", "input": [], "stream": True, "odd": 1}),
    "openai-chat": WireRequest("/chat/completions", {"model": "m", "messages": [], "stream": True, "odd": 1}),
    "google-genai": WireRequest("/v1/models/m:streamGenerateContent?alt=sse", {"contents": [], "odd": 1}),
}
each_api = pytest.mark.parametrize("api", WIRES)
_made: list[SdkTransport] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _made:
        _made.pop().close()


def make(
    api: str,
    url: str,
    timeouts: Timeouts = LIMITS,
    credential: Credential | None = None,
    env: Mapping[str, str] | None = None,
) -> SdkTransport:
    credential = credential or Credential("secret-key", "key", "test")
    auth = load_adapter(api).auth_headers(credential)
    endpoint = Endpoint("p", api, url)
    made = SdkTransport(
        TransportSettings(endpoint, credential, auth, timeouts, env or {}, {"x-more": "1"}, lambda *_: None)
    )
    _made.append(made)
    return made


def fetch(transport: SdkTransport, api: str, stop: CancelSignal | None = None) -> list[Json]:
    stream = transport.open(WIRES[api], stop or cancel())
    try:
        return list(stream)
    finally:
        stream.close()


def answer(data: bytes, keep: bool = True) -> Callable[[Exchange], bool]:
    def handle(exchange: Exchange) -> bool:
        exchange.send(data)
        if not keep:
            exchange.wait_for_close()
        return keep

    return handle


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = b"%x\r\n%s\r\n" % (len(SSE), SSE)
WHOLE = HEAD + CHUNK + b"0\r\n\r\n"


@each_api
def test_the_same_request_as_ours(api: str) -> None:
    with LoopbackServer(answer(WHOLE)) as server:
        transport = make(api, server.url + "/base")
        assert [fetch(transport, api), fetch(transport, api)] == [FRAMES, FRAMES]
        assert server.connections == 1
    request = server.requests[0]
    wire = WIRES[api]
    assert (request.method, request.path) == ("POST", "/base" + wire.path)
    assert request.json() == wire.body
    auth = load_adapter(api).auth_headers(Credential("secret-key", "key", "test"))
    sent = {name.lower(): text for name, text in {**auth, **wire.headers, "x-more": "1"}.items()}
    assert {name: request.headers.get(name) for name in sent} == sent
    assert [name for name, text in request.headers.items() if "secret-key" in text] == [name.lower() for name in auth]


@each_api
def test_a_redirect_to_another_origin_gets_no_key(api: str) -> None:
    with LoopbackServer(answer(WHOLE)) as other:

        def move(exchange: Exchange) -> bool:
            where = "/moved" if exchange.request.path != "/moved" else f"{other.url}/there"
            exchange.reply(307, {"Location": where})
            return True

        with LoopbackServer(move) as server:
            assert fetch(make(api, server.url + "/base"), api) == FRAMES
    assert ["secret-key" in str(request.headers) for request in server.requests] == [True, True]
    [request] = other.requests
    assert (request.json(), request.headers.get("x-more")) == (WIRES[api].body, None)
    assert "secret-key" not in str(request.headers)
    assert WIRES[api].headers.items() <= request.headers.items()


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"])
def test_the_roots_that_a_tls_failure_names_are_trusted(name: str, tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with LoopbackServer(answer(WHOLE), certificate.server) as server:
        assert fetch(make("openai-chat", server.url, env={name: certificate.trusted}), "openai-chat") == FRAMES


def test_a_redirect_to_plain_http_is_refused(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with LoopbackServer(answer(WHOLE)) as plain:

        def move(exchange: Exchange) -> bool:
            exchange.reply(307, {"Location": plain.url})
            return True

        with LoopbackServer(move, certificate.server) as server, pytest.raises(ProviderFailed) as caught:
            fetch(make("openai-chat", server.url, env={"SSL_CERT_FILE": certificate.trusted}), "openai-chat")
    assert (caught.value.failure.kind, caught.value.failure.retryable) == ("protocol", False)
    assert plain.requests == []


@each_api
def test_an_endpoint_without_a_key(api: str) -> None:
    with LoopbackServer(answer(WHOLE)) as server:
        transport = make(api, server.url, credential=Credential("", "none", "nowhere"))
        assert fetch(transport, api) == FRAMES
    assert "authorization" not in server.requests[0].headers


@each_api
def test_a_key_that_cannot_be_sent_is_named_by_its_place(api: str) -> None:
    with LoopbackServer(answer(WHOLE)) as server, pytest.raises(ProviderFailed) as caught:
        fetch(make(api, server.url, credential=Credential("secret\nkey", "key", "SOME_VAR")), api)
    message = "the key from SOME_VAR contains a character that cannot be sent"
    assert (caught.value.failure.kind, caught.value.failure.message) == ("config", message)
    assert server.requests == []


@each_api
def test_refusals(api: str) -> None:
    def handle(exchange: Exchange) -> bool:
        exchange.reply(429, {"Retry-After": "3", "Content-Type": "application/json"}, b'{"error":{"message":"slow"}}')
        return True

    with LoopbackServer(handle) as server, pytest.raises(StatusFailed) as caught:
        fetch(make(api, server.url), api)
    assert (caught.value.status, caught.value.body) == (429, b'{"error":{"message":"slow"}}')
    assert (caught.value.failure.kind, caught.value.failure.retry_after_ms) == ("rate_limit", 3_000)
    assert len(server.requests) == 1  # the SDKs' own retries are off


@each_api
def test_a_refusal_that_never_ends_and_is_no_text(api: str) -> None:
    """The SDKs read the whole body of a refusal."""

    def endless(exchange: Exchange) -> bool:
        exchange.send(b"HTTP/1.1 500 No\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n")
        while True:
            exchange.send(b"\xff" * 65_536)

    with LoopbackServer(endless) as server, pytest.raises(StatusFailed) as caught:
        fetch(make(api, server.url), api)
    assert (caught.value.status, caught.value.failure.kind) == (500, "server")
    assert caught.value.body.decode() == "\N{REPLACEMENT CHARACTER}" * MAX_ERROR_BODY


@each_api
def test_a_redirect_to_what_is_no_address(api: str) -> None:
    def handle(exchange: Exchange) -> bool:
        exchange.reply(307, {"Location": "javascript:alert(1)"})
        return False

    with LoopbackServer(handle) as server:
        failure = _failure(lambda: fetch(make(api, server.url), api))
    assert (failure.kind, failure.retryable) == ("protocol", False)


@each_api
@pytest.mark.parametrize("after", [b"", HEAD, HEAD + CHUNK])
def test_a_cancel_takes_effect_at_once(api: str, after: bytes) -> None:
    stop = cancel()
    with LoopbackServer(answer(after, keep=False)) as server:
        transport = make(api, server.url)
        transport.give_back(transport.take_client())  # the import is not what is measured
        set_when(stop, lambda: server.requests, after=0.1)
        with soon(), pytest.raises(Cancelled):
            fetch(transport, api, stop)


@each_api
def test_silence(api: str) -> None:
    with LoopbackServer(answer(HEAD + CHUNK, keep=False)) as server:
        assert _failure(lambda: fetch(make(api, server.url, replace(LIMITS, idle=0.2)), api)).kind == "timeout"


@each_api
def test_connection_refused(api: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    failure = _failure(lambda: fetch(make(api, f"http://127.0.0.1:{port}"), api))
    assert (failure.kind, failure.detail, failure.message) == (
        "network",
        "ECONNREFUSED",
        f"127.0.0.1:{port} refused the connection",
    )


# ---------------------------------------------------------------- what google's own reader would fail at, or never end


def test_comments_do_not_end_googles_stream() -> None:
    body = b': keepalive\r\n\r\ndata: {"a":1}\r\n\r\n: more\r\n\r\ndata: {"a":2}\r\n\r\n'
    data = HEAD + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    with LoopbackServer(answer(data)) as server:
        assert fetch(make("google-genai", server.url), "google-genai") == FRAMES


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_without_an_end(packed: bool) -> None:
    line = b"data: " + b"y" * (MAX_EVENT_BYTES + 1_000_000)
    body, head = (
        (gzip.compress(line, 1), HEAD.replace(b"Tr", b"Content-Encoding: gzip\r\nTr")) if packed else (line, HEAD)
    )
    with LoopbackServer(answer(head + b"%x\r\n%s\r\n" % (len(body), body), keep=False)) as server, soon():
        failure = _failure(lambda: fetch(make("google-genai", server.url), "google-genai"))
    assert (failure.kind, failure.retryable) == ("protocol", False)


def test_a_line_that_trickles_in() -> None:
    def trickle(exchange: Exchange) -> bool:
        exchange.send(HEAD)
        while True:
            exchange.send(b"1\r\ny\r\n")
            time.sleep(0.02)

    with LoopbackServer(trickle) as server, soon():
        assert (
            _failure(lambda: fetch(make("google-genai", server.url, replace(LIMITS, total=0.3)), "google-genai")).kind
            == "timeout"
        )


def test_a_base_url_with_a_query() -> None:
    with LoopbackServer(answer(WHOLE)) as server:
        assert fetch(make("openai-chat", server.url + "/v1?api-version=7"), "openai-chat") == FRAMES
    assert server.requests[0].path == "/v1/chat/completions?api-version=7"


def _failure(run: Callable[[], Any]) -> Any:
    with pytest.raises(ProviderFailed) as caught:
        run()
    return caught.value.failure
