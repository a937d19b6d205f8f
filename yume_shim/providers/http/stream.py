"""DirectStream: the open response of a request, as frames. It returns its connection when it was read to the end."""

from __future__ import annotations

import time

from yume_shim.net.errors import NetError
from yume_shim.net.message import Body
from yume_shim.providers.http.frames import FrameParser
from yume_shim.providers.wire.failures import failure_from_net
from yume_shim.types.errors import ProviderFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from yume_shim.net.message import Deadline, Head
    from yume_shim.net.route import Connection
    from yume_shim.providers.http.transport import DirectTransport
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Cancel

MAX_ERROR_BODY = 262_144
END_WAIT_S = 5.0
"""How long an answer that is complete by what it says may stay open without an end mark."""
DRAIN_SECONDS = 0.02
"""How long the end of a response may trail its last event; after that the connection is closed instead."""


class DirectStream:
    """An open response. Implements `types.ports.FrameStream`."""

    def __init__(
        self,
        owner: DirectTransport,
        connection: Connection,
        head: Head,
        guard: AbstractContextManager[None],
        cancel: Cancel,
        deadline: Deadline,
        idle_limit: float,
    ) -> None:
        self.status = head.status
        self.headers: Mapping[str, str] = head.headers
        self._owner = owner
        self._idle_limit = idle_limit
        self._connection = connection
        self._guard = guard
        self._cancel = cancel
        self._deadline = deadline
        self._open = True
        self.over: Callable[[], bool] = lambda: False
        try:
            self._body = Body(head, self._read)
        except NetError:
            connection.kept = False
            self._release(connection.close)
            raise

    def __iter__(self) -> Iterator[Json]:
        for frames in self.reads():
            yield from frames

    def reads(self) -> Iterator[list[Json]]:
        parser = FrameParser(self._owner.name, self._owner.largest)
        body, feed = self._body, parser.feed
        try:
            while True:
                data = body.next()
                if data is None:
                    break
                yield feed(data)
        except NetError as exc:
            self._cancel.check()
            raise ProviderFailed(failure_from_net(exc, self._owner.name)) from None
        except ProviderFailed:
            self._cancel.check()
            raise
        self._cancel.check()  # an aborted socket looks like a clean end where the connection's end ends the body
        yield parser.finish()

    def close(self) -> None:
        """Return the connection if the response is at its end (or gets there at once), else close it."""
        if self._open:
            self._drain(DRAIN_SECONDS)
            self._finish()

    def drain_and_close(self) -> None:
        """Skip the body of a redirect."""
        self._drain(DRAIN_SECONDS)
        self._finish()

    def read_error_body(self) -> bytes:
        """The body of a status that is not 2xx; if it breaks off, what has arrived."""
        pieces: list[bytes] = []
        try:
            while sum(map(len, pieces)) < MAX_ERROR_BODY:
                data = self._body.next()
                if data is None:
                    break
                pieces.append(data)
        except NetError:
            self._cancel.check()
        finally:
            self._finish()
        return b"".join(pieces)[:MAX_ERROR_BODY]

    def _read(self) -> bytes:
        first = min(self._idle_limit, END_WAIT_S)
        for limit in (first, self._idle_limit - first):
            try:
                return self._connection.read(self._deadline.seconds(limit))
            except TimeoutError:
                if self.over() or first == self._idle_limit:
                    break
        raise self._deadline.error("further part of the answer", self._idle_limit)

    def _drain(self, seconds: float) -> None:
        self._idle_limit = seconds
        end = time.monotonic() + seconds
        try:
            while not self._body.ended and time.monotonic() < end:
                self._body.next()
        except (NetError, OSError):
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
