"""The vendors' clients: how to build each, send our request with it, and get the undecoded response."""

from __future__ import annotations

import re
from importlib import import_module

from yume_shim.net.connect import trusting
from yume_shim.net.url import join_url
from yume_shim.providers.sdk.clouds import build_cloud, from_event_stream
from yume_shim.providers.sdk.error_bodies import coding_of, uncoded
from yume_shim.providers.wire.failures import failure_config, failure_protocol
from yume_shim.providers.wire.history_memo import plain_body
from yume_shim.types.errors import ProviderFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from yume_shim.providers.sdk.transport import SdkTransport
    from yume_shim.types.models import WireRequest

_NO_KEY = "none"
MAX_REDIRECTS = 5
PUBLIC_HEADERS = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding"),
        "user-agent",
        "x-stainless-raw-response",  # the SDKs of anthropic and openai read it again after the response
    }
)
EVENT_STREAM = "application/vnd.amazon.eventstream"
GOOGLE_CLOUD = "https://aiplatform.googleapis.com"
"""Placeholder for the regional address that Google's SDK computes itself."""
_GOOGLE_PATH = re.compile(r"(.*?)/(v\d+[a-z0-9]*)/(models/.*)")


class Client:
    """An SDK client with its own connections. Their sockets are recorded, so that another thread can shut them down."""

    def __init__(self, transport: SdkTransport) -> None:
        import_module(SDK_MODULES[transport.endpoint.api])  # first: what is missing is the SDK, not what it brings
        import httpx2

        limits = transport.timeouts
        timeout = httpx2.Timeout(limits.first_byte, connect=limits.connect)
        self._limits = timeout.as_dict()
        self.idle = limits.idle
        self.taken: list[tuple[Any, Any]] = []
        """Google: the answer, and its body as it comes from the network."""
        self.sockets: list[Any] = []
        self.public_headers: frozenset[str] = PUBLIC_HEADERS
        """Headers of the current request that any server may see."""
        self._name = transport.endpoint.name
        self.http = httpx2.Client(
            timeout=timeout,
            headers={"Accept-Encoding": "identity"},
            follow_redirects=True,
            max_redirects=MAX_REDIRECTS,
            verify=trusting(transport.env),
            # (Not by a transport of our own: httpx2 leaves out the proxies of the environment then.)
            event_hooks={"request": [self._watch], "response": [_limit_refusal]},
        )
        if transport.endpoint.api == "google-genai":
            self.http.event_hooks = {"request": [self._watch], "response": [_limit_refusal, _taker(self)]}
        build = build_cloud if transport.endpoint.sign_in else BUILDERS[transport.endpoint.api]
        self.sdk: Any = build(transport, self.http)

    def _watch(self, request: Any) -> None:
        """Called for every request, also after a redirect; the redirected one has the extensions of the first."""
        origin = (request.url.scheme, request.url.host, request.url.port)
        first = request.extensions.setdefault("origin", origin)
        if origin != first:
            if (first[0], origin[0]) == ("https", "http"):
                message = f"{first[1]} redirects to an unencrypted address ({origin[1]})"
                raise ProviderFailed(failure_protocol(self._name, message, retryable=False))
            for name in [name for name in request.headers if name.lower() not in self.public_headers]:
                del request.headers[name]  # httpx2 itself removes only `Authorization`
        request.extensions["trace"] = self._trace
        request.extensions["timeout"] = self._limits.copy()  # google's client sets none

    def _trace(self, event: str, info: Any) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            stream = info.get("return_value")
            sock = stream.get_extra_info("socket") if stream is not None else None
            if sock is not None:
                self.sockets.append(sock)

    def abort(self) -> None:
        """End whatever a thread waits for on these connections."""
        import socket

        for sock in self.sockets:
            try:
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        self.abort()
        self.http.close()


class Response:
    """The result of an opener: headers, the body in pieces, and `leave`, which releases the response."""

    def __init__(self, http: Any, pieces: Iterator[bytes], leave: Callable[[], None]) -> None:
        self.http = http
        self.headers = lower(http.headers)
        self.pieces = pieces
        self.leave = leave


# ---------------------------------------------------------------- anthropic, openai: the undecoded body


def _client_options(transport: SdkTransport, http: Any) -> dict[str, Any]:
    """What both SDKs are built with."""
    return {
        "api_key": transport.credential.key or _NO_KEY,
        "base_url": _bare(transport.endpoint.base_url),
        "default_query": _query(transport.endpoint.base_url),
        "max_retries": 0,
        "http_client": http,
    }


def _build_anthropic(transport: SdkTransport, http: Any) -> Any:
    import anthropic

    return anthropic.Anthropic(**_client_options(transport, http), open_telemetry=False)


def _open_anthropic(transport: SdkTransport, client: Client, wire: WireRequest) -> Response:
    import anthropic

    headers: dict[str, Any] = transport.headers(wire)
    if transport.endpoint.sign_in:
        headers.pop("anthropic-version", None)  # in the clouds it belongs into the body, where the SDK puts it
    elif "authorization" not in headers:
        headers["authorization"] = anthropic.Omit()  # otherwise 2.x sends the key as a bearer token too
    body = plain_body(wire.body)
    needed = {name: body.pop(name) for name in ("model", "messages", "max_tokens")}
    manager = client.sdk.messages.with_streaming_response.create(
        **needed, stream=body.pop("stream"), extra_body=body, extra_headers=headers
    )
    return _entered(manager)


def _build_openai(transport: SdkTransport, http: Any) -> Any:
    import openai

    return openai.OpenAI(**_client_options(transport, http))


def _open_responses(transport: SdkTransport, client: Client, wire: WireRequest) -> Response:
    return _open_openai(transport, client.sdk.responses, wire, ("model", "input"))


def _open_chat(transport: SdkTransport, client: Client, wire: WireRequest) -> Response:
    return _open_openai(transport, client.sdk.chat.completions, wire, ("model", "messages"))


def _open_openai(transport: SdkTransport, resource: Any, wire: WireRequest, required: tuple[str, ...]) -> Response:
    import openai

    headers: dict[str, Any] = transport.headers(wire)
    if "authorization" not in headers and not transport.endpoint.sign_in:
        headers["authorization"] = openai.Omit()
    body = plain_body(wire.body)
    needed = {name: body.pop(name) for name in required}
    manager = resource.with_streaming_response.create(
        **needed, stream=body.pop("stream"), extra_body=body, extra_headers=headers
    )
    return _entered(manager)


def _entered(manager: Any) -> Response:
    response = manager.__enter__()
    http = response.http_response
    pieces = uncoded(coding_of(http.headers), http.iter_raw())
    if response.http_response.headers.get("content-type", "").startswith(EVENT_STREAM):
        pieces = from_event_stream(pieces)
    return Response(response.http_response, pieces, lambda: manager.__exit__(None, None, None))


# ---------------------------------------------------------------- google: the body is taken before its client reads


def _build_google(transport: SdkTransport, http: Any) -> Any:
    from google import genai
    from google.genai import types

    options = types.HttpOptions(base_url=_bare(transport.endpoint.base_url), httpx_client=http)
    return genai.Client(vertexai=False, api_key=transport.credential.key or _NO_KEY, http_options=options)


def _open_google(transport: SdkTransport, client: Client, wire: WireRequest) -> Response:
    from google.genai import types

    base = wire.base_url or transport.endpoint.base_url
    url = join_url(base or GOOGLE_CLOUD, wire.path)
    found = _GOOGLE_PATH.fullmatch(url.target)
    if not found:
        raise ProviderFailed(failure_config(transport.endpoint.name, f"not an address of a Gemini model: {url.target}"))
    folder, version, path = found.groups()
    if transport.endpoint.sign_in:
        path = f"publishers/google/{path}"
    options = types.HttpOptions(
        base_url=url.origin + folder if base else None,
        api_version=version,
        headers=transport.headers(wire),
        httpx_client=client.http,
    )
    client.taken.clear()
    failed: Exception | None = None
    try:
        for _ in client.sdk._api_client.request_streamed("post", path, plain_body(wire.body), options):
            pass  # the first step sends the request; the body that its client sees is empty
    except Exception as exc:
        failed = exc
    if not client.taken:
        raise failed or RuntimeError("the SDK sent no request")
    http, body = client.taken.pop()
    return Response(http, uncoded(coding_of(http.headers), body), body.close)


def _limit_refusal(response: Any) -> None:
    """A hook for every response."""
    if not response.is_success:
        from yume_shim.providers.sdk.error_bodies import shorten

        shorten(response)


def _taker(client: Client) -> Callable[[Any], None]:
    """A hook for every response: the body of an answer is put into `client.taken`, and google's client reads an empty
    one. Its own reader has no limits: it keeps a line of any length, looks at each character of it, and unpacks a
    compressed body however large it becomes."""
    import httpx2

    class Empty(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            return iter(())

        def close(self) -> None:
            """Do nothing: httpx2 closes when the SDK's reader is done, which is before we have read."""

    def take(response: httpx2.Response) -> None:
        if response.is_success:
            client.taken.append((response, response.stream))
            response.stream = Empty()

    return take


# ---------------------------------------------------------------- tables and helpers

BUILDERS: dict[str, Callable[[SdkTransport, Any], Any]] = {
    "anthropic-messages": _build_anthropic,
    "openai-responses": _build_openai,
    "openai-chat": _build_openai,
    "google-genai": _build_google,
}
SDK_MODULES = {
    "anthropic-messages": "anthropic",
    "openai-responses": "openai",
    "openai-chat": "openai",
    "google-genai": "google.genai",
}
OPENERS: dict[str, Callable[[SdkTransport, Client, WireRequest], Response]] = {
    "anthropic-messages": _open_anthropic,
    "openai-responses": _open_responses,
    "openai-chat": _open_chat,
    "google-genai": _open_google,
}


def class_names(exc: BaseException) -> set[str]:
    """Names of the classes of an exception and its causes; so the packages need not be imported for `isinstance`."""
    names: set[str] = set()
    step: BaseException | None = exc
    while step is not None and type(step).__name__ not in names:
        names |= {cls.__name__ for cls in type(step).__mro__}
        step = step.__cause__ or step.__context__
    return names


def lower(headers: Any) -> dict[str, str]:
    return {str(name).lower(): str(text) for name, text in headers.items()}


def _bare(base_url: str) -> str:
    return base_url.partition("?")[0].rstrip("/")


def _query(base_url: str) -> dict[str, object]:
    pairs = (pair.partition("=") for pair in base_url.partition("?")[2].split("&") if pair)
    return {name: text for name, _, text in pairs}


def set_read_timeout(request: Any, seconds: float) -> None:
    """The time limit for each read of the body. (httpx2 reads the setting when it begins to read the body.)"""
    request.extensions["timeout"]["read"] = seconds
