"""The SDK transport: the vendor's own client sends the request, the same plain frames come out.

It is the reference for the direct transport, and the only way to endpoints that need the SDK's sign-in. The packages
are imported inside functions: they cost 0.6 to 2 seconds. Their retries are off and their typed objects are not used:
anthropic and openai hand over the undecoded body; google's client does not, so it is taken before that reads it.
"""

from __future__ import annotations

import os
import threading
import time

from yume_shim.net.errors import NetError
from yume_shim.net.message import is_sendable
from yume_shim.net.url import parse_url
from yume_shim.providers.http.frames import FrameParser
from yume_shim.providers.sdk.clients import (
    MAX_REDIRECTS,
    OPENERS,
    PUBLIC_HEADERS,
    Client,
    class_names,
    lower,
    set_read_timeout,
)
from yume_shim.providers.sdk.clouds import not_signed_in
from yume_shim.providers.wire.failures import (
    failure_at_proxy,
    failure_config,
    failure_cut,
    failure_from_exception,
    failure_from_net,
    failure_header,
    failure_protocol,
    failure_proxy,
    failure_timeout,
    status_failed,
)
from yume_shim.types.errors import BadInvocation, ProviderFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import Any

    from yume_shim.providers.sdk.clients import Response
    from yume_shim.types.blocks import Json
    from yume_shim.types.errors import Failure
    from yume_shim.types.models import TransportSettings, WireRequest
    from yume_shim.types.ports import Cancel

MAX_IDLE_CLIENTS = 4
_CONNECTION_ERRORS = frozenset({"RemoteProtocolError", "ReadError", "WriteError", "CloseError"})
"""httpx2's errors for a connection that ended during a request."""
_BAD_PLACES = {"InvalidURL", "UnsupportedProtocol"}
"""Those for an address that is none; that of the endpoint was checked before."""


class SdkTransport:
    """Implements `types.ports.Transport` with the SDK of the endpoint's API."""

    def __init__(self, settings: TransportSettings) -> None:
        endpoint = settings.endpoint
        if endpoint.api not in OPENERS:
            raise BadInvocation(f"no SDK speaks {endpoint.api}: use the direct transport for {endpoint.name}")
        self.endpoint = endpoint
        self.credential = settings.credential
        self.timeouts = settings.timeouts
        self.env = settings.env
        self._auth = settings.auth_headers
        self._extra = settings.extra_headers
        self._idle: list[Client] = []

    def open(self, wire: WireRequest, cancel: Cancel) -> SdkStream:
        """Send the request in a thread (import, name lookup and connect cannot be interrupted); wait for the head."""
        opening = _Opening(self, wire)
        end = time.monotonic() + self.timeouts.total
        with cancel.guard(opening.abandon):
            threading.Thread(target=opening.run, name="sdk-open", daemon=True).start()
            in_time = opening.done.wait(self.timeouts.total)
        cancel.check()
        if not in_time:  # the limits of an SDK are for single reads: a head that trickles in has none
            opening.abandon()
            raise ProviderFailed(failure_timeout(self.endpoint.name, "complete answer", self.timeouts.total))
        if opening.error is not None:
            raise self._failed(opening.error) from None
        assert opening.client is not None
        return SdkStream(self, opening.client, opening.response, cancel, end)

    def close(self) -> None:
        """Close the kept clients."""
        idle, self._idle = self._idle, []
        for client in idle:
            client.close()

    def take_client(self) -> Client:
        """One client per running request, so that a cancel closes only its own sockets."""
        try:
            return self._idle.pop()
        except IndexError:
            return Client(self)

    def give_back(self, client: Client) -> None:
        if len(self._idle) < MAX_IDLE_CLIENTS:
            self._idle.append(client)
        else:
            client.close()

    def _failed(self, exc: BaseException) -> ProviderFailed:
        name = self.endpoint.name
        if isinstance(exc, NetError):
            return ProviderFailed(failure_from_net(exc, name))
        if isinstance(exc.__cause__, ProviderFailed):  # our own error, wrapped by the SDK
            return exc.__cause__
        response: Any = getattr(exc, "response", None)
        status = getattr(response, "status_code", None)
        if isinstance(status, int) and status >= 300:
            return status_failed(status, lower(response.headers), _content(response), name)
        if isinstance(exc, ImportError):
            from yume_shim.types.packages import missing_package

            return ProviderFailed(failure_config(name, missing_package(exc) or str(exc)))
        names = class_names(exc)
        if "TooManyRedirects" in names:
            message = f"more than {MAX_REDIRECTS} redirects"
            return ProviderFailed(failure_protocol(name, message, retryable=False))
        if names & _BAD_PLACES:
            return ProviderFailed(failure_protocol(name, "a redirect leads to no valid address", retryable=False))
        if names & _CONNECTION_ERRORS:
            return ProviderFailed(failure_cut(name, started=False))
        place = parse_url(self.endpoint.base_url).place if self.endpoint.base_url else ""
        if "ProxyError" in names:
            return ProviderFailed(_proxy_failed(exc, name, place))
        if (signed_out := not_signed_in(exc, names, self.endpoint)) is not None:
            return signed_out
        proxy = self._proxy_place()
        if proxy and not any(each.startswith("SSL") for each in names):
            return ProviderFailed(failure_at_proxy(exc, name, proxy))
        return ProviderFailed(failure_from_exception(exc, name, place))

    def _proxy_place(self) -> str:
        """The proxy on the way to the endpoint, as the SDKs take it from the process's environment; "" without one."""
        from yume_shim.net.proxy import choose_proxy

        try:
            proxy = choose_proxy(parse_url(self.endpoint.base_url), os.environ) if self.endpoint.base_url else None
        except ValueError:
            return ""
        return proxy.place if proxy is not None else ""

    def headers(self, wire: WireRequest) -> dict[str, str]:
        """Everything sent besides the SDK's own headers; later layers win. A header that cannot be sent is refused
        here: an SDK would quote it in its error, and it may be a key."""
        merged: dict[str, str] = {}
        for layer in (wire.headers, self.endpoint.headers, self._auth, self._extra):
            for header, text in layer.items():
                if not is_sendable(header, text):
                    source = self.credential.source if layer is self._auth else ""
                    raise ProviderFailed(failure_header(self.endpoint.name, header, source))
                merged[header.lower()] = text
        return merged


class _Opening:
    """One `open`, in a thread that is abandoned on cancel."""

    def __init__(self, transport: SdkTransport, wire: WireRequest) -> None:
        self._transport = transport
        self._wire = wire
        self.client: Client | None = None
        self.response: Response = None  # type: ignore[assignment]  # set before `done` unless there is an error
        self.error: BaseException | None = None
        self.done = threading.Event()
        self._abandoned = False

    def run(self) -> None:
        try:
            self.client = self._transport.take_client()
            self.client.public_headers = PUBLIC_HEADERS | {name.lower() for name in self._wire.headers}
            opener = OPENERS[self._transport.endpoint.api]
            self.response = opener(self._transport, self.client, self._wire)
        except Exception as exc:  # `_failed` translates whatever the SDK raises
            self.error = exc
            if self.client is not None:
                self.client.close()
        finally:
            if self._abandoned and self.client is not None:
                self.client.close()
            self.done.set()

    def abandon(self) -> None:
        self._abandoned = True
        if self.client is not None:
            self.client.abort()
        self.done.set()


class SdkStream:
    """An open response. Implements `types.ports.FrameStream`."""

    def __init__(self, owner: SdkTransport, client: Client, response: Response, cancel: Cancel, end: float) -> None:
        """`end`: when the answer must be complete, on the monotonic clock."""
        self.headers: Mapping[str, str] = response.headers
        self._owner = owner
        self._client = client
        self._response = response
        self._cancel = cancel
        self._end = end
        self._ended = False
        self._closed = False
        self.over: Callable[[], bool] = lambda: False  # not asked: httpx2 fixes its limit when the body begins
        self._guard: AbstractContextManager[None] = cancel.guard(client.abort)
        self._guard.__enter__()

    def __iter__(self) -> Iterator[Json]:
        for frames in self.reads():
            yield from frames

    def reads(self) -> Iterator[list[Json]]:
        name, limits = self._owner.endpoint.name, self._owner.timeouts
        parser = FrameParser(name)
        started = False
        set_read_timeout(self._response.http.request, limits.idle)
        try:
            for data in self._response.pieces:
                started = started or bool(data)
                yield parser.feed(data)
                if time.monotonic() > self._end:
                    raise ProviderFailed(failure_timeout(name, "complete answer", limits.total))
        except ProviderFailed:
            raise
        except NetError as exc:
            raise ProviderFailed(failure_from_net(exc, name)) from None
        except Exception as exc:  # errors of httpx2 and of google's client
            self._cancel.check()
            if "TimeoutException" in class_names(exc):
                raise ProviderFailed(failure_timeout(name, "further part of the answer", limits.idle)) from None
            if class_names(exc) & _CONNECTION_ERRORS:
                raise ProviderFailed(failure_cut(name, started=started)) from None
            raise
        self._cancel.check()
        self._ended = True
        yield parser.finish()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._guard.__exit__(None, None, None)
        if self._ended and not self._cancel.is_set():
            self._response.leave()
            self._owner.give_back(self._client)
        else:
            self._client.close()


def _proxy_failed(exc: BaseException, name: str, place: str) -> Failure:
    """The failure of a tunnel. httpx2 gives the proxy's status line, e.g. "403 Forbidden", as the text of its error."""
    step: BaseException | None = exc
    while step is not None and type(step).__name__ != "ProxyError":
        step = step.__cause__ or step.__context__
    status = str(step).partition(" ")[0]
    said = f"status {status}" if status.isdigit() else str(step)
    message = f"the proxy refused a connection to {place} ({said})"
    return failure_proxy(name, message, retryable=status.startswith("5"))


def _content(response: Any) -> bytes:
    """The body of a refused request; b"" if it cannot be read any more."""
    try:
        content: bytes = response.read()
    except Exception:
        return b""
    return content
