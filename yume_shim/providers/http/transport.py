"""DirectTransport: one streaming POST (or a GET) per request. It keeps connections and does not retry."""

from __future__ import annotations

import time

from yume_shim import __version__
from yume_shim.net.errors import ConnectionCut, NetError, TimedOut
from yume_shim.net.message import Deadline, is_sendable, read_final_head, request_head
from yume_shim.net.route import open_route
from yume_shim.net.url import join_url, redirect_url
from yume_shim.providers.http.frames import MAX_EVENT_BYTES
from yume_shim.providers.http.stream import DirectStream
from yume_shim.providers.wire.failures import (
    failure_config,
    failure_from_net,
    failure_header,
    failure_protocol,
    status_failed,
)
from yume_shim.providers.wire.history_memo import body_text
from yume_shim.text import codec
from yume_shim.types.errors import ProviderFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.net.message import Head
    from yume_shim.net.route import Connection
    from yume_shim.net.url import Url
    from yume_shim.types.models import TransportSettings, WireRequest
    from yume_shim.types.ports import Cancel

MAX_REDIRECTS = 5
MAX_IDLE_CONNECTIONS = 4
KEEP_SECONDS = 50.0
"""Idle time after which a kept connection is not reused; common servers close theirs after 60."""

LARGE_BODY, WARM_AFTER = 250_000, 8
"""Bytes, and the number of such requests after which the faster JSON encoder pays for its import: it saves 3 ms per
megabyte and costs 20 (measured)."""


class DirectTransport:
    """Implements `types.ports.Transport`. Safe for several threads, one request each."""

    def __init__(self, settings: TransportSettings, largest: int = MAX_EVENT_BYTES) -> None:
        self.name = settings.endpoint.name
        self._settings = settings
        self._timeouts = settings.timeouts
        self._log = settings.log
        self.largest = largest
        """The largest event, or whole answer that is not a stream, in bytes."""
        self._idle: list[Connection] = []
        self._large = 0

    def open(self, wire: WireRequest, cancel: Cancel) -> DirectStream:
        """Send the request, follow redirects, return the stream of a 2xx answer."""
        try:
            return self._open(wire, cancel)
        except NetError as exc:
            cancel.check()  # a cancel closes the socket: the error is its effect
            raise ProviderFailed(failure_from_net(exc, self.name)) from None
        except (OSError, ProviderFailed):
            cancel.check()
            raise

    def close(self) -> None:
        """Close the kept connections."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    # ------------------------------------------------------------ one request

    def _open(self, wire: WireRequest, cancel: Cancel) -> DirectStream:
        try:
            url = join_url(self._settings.endpoint.base_url, wire.path)
            if wire.base_url:
                own, url = url, join_url(wire.base_url, wire.path)
                if url.origin != own.origin:
                    raise ValueError(f"{url.place} is not {own.place}")
        except ValueError as exc:
            raise ProviderFailed(failure_config(self.name, f"base URL: {exc}")) from None
        headers = self._headers(wire)
        body = b""
        if wire.method == "POST":
            body, known = body_text(wire.body)
            self._large += len(body) - known > LARGE_BODY
            if self._large == WARM_AFTER:
                codec.warm()
        else:
            headers.pop("content-type", None)
        deadline = Deadline(self._timeouts.total)
        for _ in range(MAX_REDIRECTS + 1):
            stream = self._exchange(url, headers, body, deadline, cancel)
            location = stream.headers.get("location", "")
            if stream.status in (307, 308) and location:
                stream.drain_and_close()
                url = self._redirected(url, location, headers)
                continue
            if not 200 <= stream.status <= 299:
                raise status_failed(stream.status, stream.headers, stream.read_error_body(), self.name)
            return stream
        raise ProviderFailed(failure_protocol(self.name, f"more than {MAX_REDIRECTS} redirects", retryable=False))

    def _redirected(self, url: Url, location: str, headers: dict[str, tuple[str, str]]) -> Url:
        """The next address. Another origin gets no credentials; a step down to plain http is refused."""
        try:
            target = redirect_url(url, location)
        except ValueError:
            raise ProviderFailed(failure_protocol(self.name, "redirect to nowhere", retryable=False)) from None
        if target.origin != url.origin:
            if url.scheme == "https" and target.scheme == "http":
                message = f"{url.place} redirects to an unencrypted address ({target.place})"
                raise ProviderFailed(failure_protocol(self.name, message, retryable=False))
            # An endpoint's own headers may hold keys too.
            settings = self._settings
            given = (*settings.auth_headers, *settings.extra_headers, *settings.endpoint.headers)
            secrets = {"authorization", "cookie", *(name.lower() for name in given)}
            for name in secrets & headers.keys():
                del headers[name]
            self._log("warning", f"{self.name}: redirected to {target.place}; credentials are not sent there")
        return target

    def _exchange(
        self, url: Url, headers: Mapping[str, tuple[str, str]], body: bytes, deadline: Deadline, cancel: Cancel
    ) -> DirectStream:
        """Send the request, read the head. A kept connection that is dead before its first byte is replaced once."""
        kept = self._take_idle(url.origin)
        if kept is not None:
            try:
                return self._talk(kept, url, headers, body, deadline, cancel)
            except ConnectionCut:
                cancel.check()
                self._log("debug", f"{self.name}: kept connection to {url.place} was gone")
        fresh = open_route(url, self._settings.env, deadline.seconds(self._timeouts.connect), cancel)
        return self._talk(fresh, url, headers, body, deadline, cancel)

    def _talk(
        self,
        connection: Connection,
        url: Url,
        headers: Mapping[str, tuple[str, str]],
        body: bytes,
        deadline: Deadline,
        cancel: Cancel,
    ) -> DirectStream:
        guard = cancel.guard(connection.abort)
        guard.__enter__()
        try:
            self._send(connection, request_head(url, headers.values(), len(body), connection.via), body, deadline)
            head = self._await_head(connection, deadline)
        except BaseException:
            guard.__exit__(None, None, None)
            connection.close()
            raise
        connection.kept = head.keeps_alive
        return DirectStream(self, connection, head, guard, cancel, deadline, self._timeouts.idle)

    def _send(self, connection: Connection, head: bytes, body: bytes, deadline: Deadline) -> None:
        """A peer may answer (413) and close before it has read everything: its answer matters then, not our error."""
        try:
            connection.sock.settimeout(deadline.seconds(self._timeouts.first_byte))
            connection.sock.sendall(head + body)
        except TimeoutError:
            raise TimedOut("progress in sending", self._timeouts.first_byte) from None
        except OSError as exc:
            self._log("debug", f"{self.name}: sending stopped early: {exc}")

    def _await_head(self, connection: Connection, deadline: Deadline) -> Head:
        limit = self._timeouts.first_byte

        def read() -> bytes:
            try:
                return connection.read(deadline.seconds(limit))
            except TimeoutError:
                raise deadline.error("answer", limit) from None
            except OSError as exc:
                raise ConnectionCut(started=False, cause=exc) from None

        return read_final_head(connection, read)

    # ------------------------------------------------------------ connections

    def _take_idle(self, origin: str) -> Connection | None:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread was faster
                return None
            fresh = time.monotonic() - connection.idle_since < KEEP_SECONDS
            if connection.origin == origin and fresh and connection.is_alive():
                return connection
            connection.close()
        return None

    def give_back(self, connection: Connection) -> None:
        """Keep a connection whose response was read to its end."""
        connection.idle_since = time.monotonic()
        if len(self._idle) < MAX_IDLE_CONNECTIONS:
            self._idle.append(connection)
        else:
            connection.close()

    # ------------------------------------------------------------ headers

    def _headers(self, wire: WireRequest) -> dict[str, tuple[str, str]]:
        """Lower-case name -> (name as sent, value). Later layers win; names are compared without case."""
        settings = self._settings
        layers: tuple[Mapping[str, str], ...] = (
            {
                "User-Agent": f"yume-shim/{__version__}",
                "Content-Type": "application/json",
                "Accept": "text/event-stream, application/x-ndjson, application/json",
                "Accept-Encoding": "identity",
            },
            wire.headers,
            settings.endpoint.headers,
            settings.auth_headers,
            settings.extra_headers,
        )
        merged: dict[str, tuple[str, str]] = {}
        for layer in layers:
            for name, text in layer.items():
                if not is_sendable(name, text):
                    source = settings.credential.source if layer is settings.auth_headers else ""
                    raise ProviderFailed(failure_header(self.name, name, source))
                merged[name.lower()] = (name, text)
        return merged
