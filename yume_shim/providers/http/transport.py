"""DirectTransport: one streaming POST (or a GET) per request, connections kept between them, no retries of its own."""

from __future__ import annotations

import time

from yume_shim import __version__
from yume_shim.net.message import Body, Connection, Patience, check_header, read_head
from yume_shim.net.proxy import basic_auth, proxy_auth
from yume_shim.net.route import open_route
from yume_shim.net.url import join_url, redirect_url
from yume_shim.providers.http.frames import MAX_EVENT_BYTES, FrameParser
from yume_shim.providers.wire.failures import (
    failure_config,
    failure_cut,
    failure_from_exception,
    failure_protocol,
    failure_timeout,
    status_failed,
)
from yume_shim.text import codec
from yume_shim.types.errors import ProviderFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from yume_shim.net.message import Head
    from yume_shim.net.url import Url
    from yume_shim.types.blocks import Json
    from yume_shim.types.models import Credential, Endpoint, WireRequest
    from yume_shim.types.ports import Cancel
    from yume_shim.types.settings import Timeouts

MAX_REDIRECTS = 5
MAX_INFORMATIONAL = 10
MAX_ERROR_BODY = 262_144
MAX_IDLE_CONNECTIONS = 4
KEEP_SECONDS = 50.0
"""Idle time after which a kept connection is not trusted; common servers close theirs after 60."""
DRAIN_SECONDS = 0.02
"""How long the end of an answer may trail its last event; then the connection is given up instead."""
QUICK_ANSWER = 0.005
"""A slower first byte leaves time to load the faster JSON parser meanwhile."""


class DirectTransport:
    """Implements `types.ports.Transport`. Safe for several threads, one request each."""

    def __init__(
        self,
        endpoint: Endpoint,
        credential: Credential,
        auth_headers: Mapping[str, str],
        timeouts: Timeouts,
        env: Mapping[str, str],
        extra_headers: Mapping[str, str],
        log: Callable[[str, str], None],
        largest: int = MAX_EVENT_BYTES,
    ) -> None:
        self._endpoint = endpoint
        self._name = endpoint.name
        self._key_source = credential.source
        self._auth = dict(auth_headers)
        self._timeouts = timeouts
        self._env = env
        self._extra = dict(extra_headers)
        self._log = log
        self.largest = largest
        """Bytes of one event, or of a whole answer that is not a stream."""
        self._idle: list[Connection] = []

    def open(self, wire: WireRequest, cancel: Cancel) -> DirectStream:
        """Send the request, follow redirects, give the stream of a 2xx answer."""
        try:
            return self._open(wire, cancel)
        except (OSError, ProviderFailed):
            cancel.check()  # a closed socket is how a cancel is heard
            raise

    def close(self) -> None:
        """Close the kept connections."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    # ------------------------------------------------------------ one request

    def _open(self, wire: WireRequest, cancel: Cancel) -> DirectStream:
        try:
            url = join_url(self._endpoint.base_url, wire.path)
        except ValueError as exc:
            raise ProviderFailed(failure_config(self._name, f"base URL: {exc}")) from None
        headers = self._headers(wire)
        body = b""
        if wire.method == "POST":
            body = codec.dumps(wire.body)
        else:
            headers.pop("content-type", None)
        patience = Patience(self._timeouts, self._name)
        for _ in range(MAX_REDIRECTS + 1):
            stream = self._exchange(url, headers, body, patience, cancel)
            location = stream.headers.get("location", "")
            if stream.status in (307, 308) and location:
                stream.drain_and_close()
                url = self._redirected(url, location, headers)
                continue
            if not 200 <= stream.status <= 299:
                raise status_failed(stream.status, stream.headers, stream.read_error_body(), self._name)
            return stream
        raise ProviderFailed(failure_protocol(self._name, f"more than {MAX_REDIRECTS} redirects", retryable=False))

    def _redirected(self, url: Url, location: str, headers: dict[str, tuple[str, str]]) -> Url:
        """The next address. Another origin gets no credentials; a step down to plain http is refused."""
        try:
            target = redirect_url(url, location)
        except ValueError:
            raise ProviderFailed(failure_protocol(self._name, "redirect to nowhere", retryable=False)) from None
        if target.origin != url.origin:
            if url.scheme == "https" and target.scheme == "http":
                message = f"{url.place} redirects to an unencrypted address ({target.place})"
                raise ProviderFailed(failure_protocol(self._name, message, retryable=False))
            given = (*self._auth, *self._extra, *self._endpoint.headers)  # people write keys into rows, too
            secrets = {"authorization", "cookie", *(name.lower() for name in given)}
            for name in secrets & headers.keys():
                del headers[name]
            self._log("warning", f"{self._name}: redirected to {target.place}; credentials are not sent there")
        return target

    def _exchange(
        self, url: Url, headers: Mapping[str, tuple[str, str]], body: bytes, patience: Patience, cancel: Cancel
    ) -> DirectStream:
        """Request out, head in. A kept connection that turns out dead before its first byte is replaced once."""
        kept = self._take_idle(url.origin)
        if kept is not None:
            try:
                return self._talk(kept, url, headers, body, patience, cancel)
            except ProviderFailed as exc:
                if exc.failure.kind != "network":
                    raise
                cancel.check()
                self._log("debug", f"{self._name}: kept connection to {url.place} was gone")
        fresh = open_route(url, self._env, patience.seconds(self._timeouts.connect), cancel, self._name)
        return self._talk(fresh, url, headers, body, patience, cancel)

    def _talk(
        self,
        connection: Connection,
        url: Url,
        headers: Mapping[str, tuple[str, str]],
        body: bytes,
        patience: Patience,
        cancel: Cancel,
    ) -> DirectStream:
        guard = cancel.guard(connection.abort)
        guard.__enter__()
        try:
            self._send(connection, _request_head(url, headers, len(body), connection.via), body, patience)
            head = self._await_head(connection, patience)
        except BaseException:
            guard.__exit__(None, None, None)
            connection.close()
            raise
        connection.kept = head.keeps_alive
        return DirectStream(self, connection, head, guard, cancel, patience)

    def _send(self, connection: Connection, head: bytes, body: bytes, patience: Patience) -> None:
        """A peer may answer (413) and close before it has read everything: then its answer counts, not our error."""
        try:
            connection.sock.settimeout(patience.seconds(self._timeouts.first_byte))
            connection.sock.sendall(head + body)
        except TimeoutError:
            raise ProviderFailed(
                failure_timeout(self._name, "progress in sending", self._timeouts.first_byte)
            ) from None
        except OSError as exc:
            self._log("debug", f"{self._name}: sending stopped early: {exc}")

    def _await_head(self, connection: Connection, patience: Patience) -> Head:
        limit = self._timeouts.first_byte
        quick = True

        def read() -> bytes:
            nonlocal quick
            try:
                if quick:
                    quick = False
                    try:
                        return connection.read(min(QUICK_ANSWER, patience.seconds(limit)))
                    except TimeoutError:
                        codec.warm()
                return connection.read(patience.seconds(limit))
            except TimeoutError:
                raise patience.over("answer", limit) from None
            except OSError as exc:
                detail = failure_from_exception(exc, self._name).detail
                raise ProviderFailed(failure_cut(self._name, started=False, detail=detail)) from None

        for _ in range(MAX_INFORMATIONAL):
            head = read_head(connection, read, self._name)
            if head is None:
                raise ProviderFailed(failure_cut(self._name, started=False))
            if head.status >= 200:
                return head
            if head.status == 101:
                break
        raise ProviderFailed(failure_protocol(self._name, "no final answer, only informational ones"))

    # ------------------------------------------------------------ connections

    def _take_idle(self, origin: str) -> Connection | None:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread was faster
                return None
            fresh = time.monotonic() - connection.idle_since < KEEP_SECONDS
            if connection.key == origin and fresh and connection.is_alive():
                return connection
            connection.close()
        return None

    def give_back(self, connection: Connection) -> None:
        """Keep a connection whose answer was read to its end."""
        connection.idle_since = time.monotonic()
        if len(self._idle) < MAX_IDLE_CONNECTIONS:
            self._idle.append(connection)
        else:
            connection.close()

    # ------------------------------------------------------------ headers

    def _headers(self, wire: WireRequest) -> dict[str, tuple[str, str]]:
        """Lower-case name -> (name as sent, value); later layers win, names compared without case."""
        layers: tuple[Mapping[str, str], ...] = (
            {
                "User-Agent": f"yume-shim/{__version__}",
                "Content-Type": "application/json",
                "Accept": "text/event-stream, application/x-ndjson, application/json",
                "Accept-Encoding": "identity",
            },
            wire.headers,
            self._endpoint.headers,
            self._auth,
            self._extra,
        )
        merged: dict[str, tuple[str, str]] = {}
        for layer in layers:
            for name, text in layer.items():
                check_header(name, text, self._name, self._key_source if layer is self._auth else "")
                merged[name.lower()] = (name, text)
        return merged


class DirectStream:
    """An open response. Implements `types.ports.FrameStream`."""

    def __init__(
        self,
        owner: DirectTransport,
        connection: Connection,
        head: Head,
        guard: AbstractContextManager[None],
        cancel: Cancel,
        patience: Patience,
    ) -> None:
        self.status = head.status
        self.headers: Mapping[str, str] = head.headers
        self._owner = owner
        self._name = owner._name
        self._idle_limit = owner._timeouts.idle
        self._connection = connection
        self._guard = guard
        self._cancel = cancel
        self._patience = patience
        self._open = True
        try:
            self._body = Body(head, self._read, self._name)
        except ProviderFailed:
            connection.kept = False
            self._release(connection.close)
            raise

    def __iter__(self) -> Iterator[Json]:
        parser = FrameParser(self._name, self._owner.largest)
        body, feed = self._body, parser.feed
        try:
            while True:
                data = body.next()
                if data is None:
                    break
                yield from feed(data)
        except ProviderFailed:
            self._cancel.check()
            raise
        self._cancel.check()  # shutting the socket down looks like a clean end where the end is the connection's
        yield from parser.finish()

    def close(self) -> None:
        """Give the connection back if the answer is at its end (or comes to it at once), else hang up."""
        if self._open:
            self._drain(DRAIN_SECONDS)
            self._finish()

    def drain_and_close(self) -> None:
        """Leave a redirect's body behind."""
        self._drain(DRAIN_SECONDS)
        self._finish()

    def read_error_body(self) -> bytes:
        """What comes with a status that is not 2xx; a body that breaks off is used as far as it came."""
        pieces: list[bytes] = []
        try:
            while sum(map(len, pieces)) < MAX_ERROR_BODY:
                data = self._body.next()
                if data is None:
                    break
                pieces.append(data)
        except ProviderFailed:
            self._cancel.check()
        finally:
            self._finish()
        return b"".join(pieces)[:MAX_ERROR_BODY]

    def _read(self) -> bytes:
        try:
            return self._connection.read(self._patience.seconds(self._idle_limit))
        except TimeoutError:
            raise self._patience.over("further part of the answer", self._idle_limit) from None

    def _drain(self, seconds: float) -> None:
        self._idle_limit = seconds
        end = time.monotonic() + seconds
        try:
            while not self._body.ended and time.monotonic() < end:
                self._body.next()
        except (ProviderFailed, OSError):
            self._connection.kept = False

    def _finish(self) -> None:
        whole = self._body.ended and not self._body.rest and not self._connection.rest
        if whole and self._connection.kept and not self._cancel.is_set():
            self._release(lambda: self._owner.give_back(self._connection))
        else:
            self._release(self._connection.close)

    def _release(self, then: Callable[[], None]) -> None:
        if self._open:
            self._open = False
            self._guard.__exit__(None, None, None)
            then()


def _request_head(url: Url, headers: Mapping[str, tuple[str, str]], length: int, via: Url | None) -> bytes:
    target, more = url.target, {}
    if via is not None:
        target, more = f"{url.scheme}://{url.authority}{url.target}", proxy_auth(via)
    if url.userinfo and "authorization" not in headers:
        more["Authorization"] = basic_auth(url.userinfo)
    method = "POST" if length else "GET"  # the body of a POST is at least `{}`
    lines = [f"{method} {target} HTTP/1.1", f"Host: {url.authority}"]
    lines += [f"{name}: {text}" for name, text in (*headers.values(), *more.items())]
    if length:
        lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
