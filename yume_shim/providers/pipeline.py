"""From Request to ModelEvents: an adapter, a transport, and the promise that a stream ends once, never by raising.

A request is fitted to its endpoint before it is sent (`fitting/prepare`). If it is refused for a reason that can be
avoided, it is changed and sent again (`fitting/endpoint_adaptation`), unless a part of the answer has already arrived.
"""

from __future__ import annotations

import time

from yume_shim.providers.fitting.prepare import Preparer
from yume_shim.providers.wire.api_shapes import ApiCheck
from yume_shim.providers.wire.delta_joining import joined
from yume_shim.providers.wire.failures import (
    StatusFailed,
    advised,
    failure_cancelled,
    failure_from_exception,
    failure_protocol,
)
from yume_shim.types.errors import Cancelled, ProviderFailed
from yume_shim.types.events import BlockDelta, LimitsReported, Notice, ResponseEnded, ResponseFailed, ResponseStarted
from yume_shim.types.models import Usage
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from typing import Any, Literal, Protocol

    from yume_shim.providers.wire.rate_limits import LimitMeter
    from yume_shim.types.blocks import Json
    from yume_shim.types.errors import Failure
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.models import Credential, Endpoint, Request, WireRequest
    from yume_shim.types.ports import Cancel, FrameStream, Ids, Transport

    Log = Callable[[str, str], None]
    """(level, message)."""
    TapKind = Literal["request", "headers", "frame", "status", "fault"]
    Tap = Callable[[TapKind, Any], None]
    """Receives everything: the WireRequest, the response headers, every frame, a StatusFailed, a Failure."""

    Note = Callable[[Request, "Exchange", Failure | None, str], None]
    """(request, exchange, failure, change): an attempt has ended; `change` = how it is sent again at once."""

    Run = Callable[[list[Json], int], tuple[int, list[ModelEvent]]]
    """(frames, place) -> (how many frames from there on only continue the open block, their events)."""

    class Decoding(Protocol):
        """A decoder of one response. It may have a `run` (see `Run`), which takes such frames in one step."""

        def feed(self, frame: Json) -> list[ModelEvent]: ...

        def finish(self) -> list[ModelEvent]: ...

        def reported(self) -> tuple[Usage, bool]:
            """The usage that the provider has reported so far, and whether these are its final figures."""
            ...

    class Adapter(Protocol):
        """What an adapter module offers."""

        @property
        def API(self) -> str: ...  # noqa: N802

        @property
        def NOT_APPLICABLE(self) -> dict[str, str]: ...  # noqa: N802

        def encode_request(self, request: Request) -> WireRequest: ...

        def auth_headers(self, credential: Credential) -> dict[str, str]: ...

        def Decoder(  # noqa: N802
            self, request: Request, headers: Mapping[str, str], new_id: Callable[[], str]
        ) -> Decoding: ...

        def whole_frames(self, body: Json) -> list[Json]:
            """One whole answer as the frames of a stream; `[body]` if the decoder reads it as it is."""
            ...


class Exchange:
    """One request on the wire and the head of its answer, for the log. `wire` is None until it was sent."""

    __slots__ = ("began", "headers", "reported", "wire")

    def __init__(self) -> None:
        self.wire: WireRequest | None = None
        self.headers: Mapping[str, str] = {}
        self.began = 0.0
        self.reported: Callable[[], tuple[Usage, bool]] = lambda: (Usage(), False)
        """The usage that the provider has reported so far, and whether it is final: of the decoder, once it exists."""

    def sent(self, wire: WireRequest) -> None:
        """The request is about to be sent."""
        self.wire, self.began = wire, time.monotonic()

    def named(self, failure: Failure) -> Failure:
        """A failure inside an answer, with the request id of the answer's head."""
        if failure.request_id or not self.headers or failure.kind == "cancelled":
            return failure
        from yume_shim.providers.wire.error_body import read_request_id

        return replace(failure, request_id=read_request_id(self.headers))


TOO_MANY_REQUESTS = 429
NOTICED = ("documents", "tools")
"""Changes that end so come with a Notice."""
BAD_FRAME_QUOTE = 200
"""Characters of an invalid event that are quoted."""
_INVALID = (AttributeError, LookupError, TypeError, ValueError)
"""What a decoder raises at a frame of an unexpected shape."""
_LOST = ("network", "timeout", "stream_interrupted")
"""Failures of the connection, not of the answer."""
_LAST = (ResponseEnded, ResponseFailed)
"""What follows these is not read."""


class ApiProvider:
    """A model that is reached through a wire API. Implements `types.ports.Provider`."""

    def __init__(
        self,
        adapter: Adapter,
        endpoint: Endpoint,
        transport: Transport,
        ids: Ids,
        log: Log,
        tap: Tap | None = None,
        preparer: Preparer | None = None,
        note: Note | None = None,
    ) -> None:
        self._adapter = adapter
        self._name = endpoint.name
        self._transport = transport
        self._ids = ids
        self._log = log
        self._tap = tap
        self._preparer = preparer or Preparer(log)
        self._note = note or _ignore
        self._meter: LimitMeter | None = None

    def stream(self, request: Request, cancel: Cancel) -> Iterator[ModelEvent]:
        """The events of one response. Ends with exactly one ResponseEnded or ResponseFailed."""
        lost = Usage()
        while True:
            begun = False
            failed: ResponseFailed | None = None
            exchange = Exchange()
            for event in self._attempt(request, cancel, exchange):
                if type(event) is BlockDelta:  # first: by far the most frequent, and never the first of an answer
                    yield event
                    continue
                if isinstance(event, ResponseFailed):
                    failed = ResponseFailed(event.failure, *exchange.reported(), lost)
                    break
                begun = begun or not isinstance(event, (Notice, LimitsReported))
                if isinstance(event, ResponseStarted):
                    event = _with_texts(event, "id", "model", "request_id")
                elif isinstance(event, ResponseEnded):
                    event = _with_texts(event, "stop_reason", "stop_sequence", "detail")
                    self._note(request, exchange, None, "")
                    self._preparer.succeeded(request)
                    yield from self._limits(exchange.headers)  # at the end: reading them delays no text
                    yield replace(event, lost=lost)
                    return
                yield event
            if failed is None:
                message = "the decoder ended without a terminal event"
                failed = ResponseFailed(failure_protocol(self._name, message), lost=lost)
            failure = self._preparer.judge(request, exchange.named(failed.failure))
            change = None if begun else self._preparer.adapt(request, failure)
            self._note(request, exchange, failure, change or "")
            if change is None:
                break
            lost = lost + failed.usage
            # what the request now lacks, people should know; media and tools left out have notices of their own
            lacks = change.startswith("without") and not change.endswith(NOTICED)
            level = "warning" if lacks else "info"
            self._log(level, f"{failure.message}; sent again: {change}")
        yield replace(failed, failure=advised(failure, request.model))

    def close(self) -> None:
        """Close idle connections."""
        self._transport.close()

    def _attempt(self, request: Request, cancel: Cancel, exchange: Exchange) -> Iterator[ModelEvent]:
        """The events of one request; an exception becomes a ResponseFailed."""
        events = self._events(request, cancel, exchange)
        try:
            yield from events
            return
        except Cancelled:
            failure = failure_cancelled(self._name)
        except ProviderFailed as exc:
            failure = self._reported(exc)
            if isinstance(exc, StatusFailed):
                yield from self._limits(exc.headers, refused=exc.status == TOO_MANY_REQUESTS)
        except Exception as exc:  # the promise of the port: a stream never raises
            failure = failure_from_exception(exc, self._name)
            if failure.kind == "internal":
                self._log("error", f"{self._name}: {_last_place(exc)}: {failure.message}")
        finally:
            events.close()
        if cancel.is_set():  # cancelling closes connections, which fails in many ways
            failure = failure_cancelled(self._name)
        if self._tap:
            self._tap("fault", failure)
        yield ResponseFailed(failure)

    def _events(self, request: Request, cancel: Cancel, exchange: Exchange) -> Generator[ModelEvent, None, None]:
        cancel.check()
        tap = self._tap
        ready = self._preparer.prepare(request, cancel)
        yield from ready.notices
        wire = self._preparer.edit(self._adapter.encode_request(ready.request))
        if tap:
            tap("request", wire)
        exchange.sent(wire)
        frames: FrameStream = self._transport.open(wire, cancel)
        exchange.headers = frames.headers
        try:
            if tap:
                tap("headers", frames.headers)
            decoder: Decoding = self._adapter.Decoder(ready.request, frames.headers, self._ids.call_id)
            exchange.reported = decoder.reported
            frames.over = lambda: decoder.reported()[1]
            if ready.text_calls:
                from yume_shim.providers.fitting.text_tools.calls import TextCalls

                decoder = TextCalls(decoder, request, self._ids.call_id)
            feed = decoder.feed if ready.request.streaming else _in_parts(decoder, self._adapter.whole_frames)
            run: Run | None = getattr(decoder, "run", None) if ready.request.streaming and not tap else None
            check = ApiCheck(self._adapter.API, self._name)
            lost: ProviderFailed | None = None
            try:
                for arrived in frames.reads():
                    cancel.check()
                    events, failed = self._decoded(arrived, feed, check, run)
                    yield from joined(events)
                    if failed is not None:
                        raise failed
            except ProviderFailed as exc:
                if exc.failure.kind not in _LOST or not decoder.reported()[1]:
                    raise
                lost = exc  # behind the final figures: the answer itself may be complete
            cancel.check()  # a body that was closed while it was read can look complete
            try:
                rest = decoder.finish()
            except _INVALID as exc:
                raise self._invalid(exc) from None
            if lost is not None and not (rest and isinstance(rest[-1], ResponseEnded)):
                raise lost
            for event in rest:
                if isinstance(event, ResponseFailed):
                    check.end()
                yield event
        finally:
            frames.close()

    def _decoded(
        self,
        frames: list[Json],
        feed: Callable[[Json], list[ModelEvent]],
        check: ApiCheck,
        run: Run | None = None,
    ) -> tuple[list[ModelEvent], Exception | None]:
        """The events of frames that arrived together, until the answer ends, and what went wrong after them."""
        events: list[ModelEvent] = []
        tap, place = self._tap, 0
        try:
            while place < len(frames):
                frame = frames[place]
                if run is not None and not check.open:
                    count, more = self._run(run, frames, place)
                    if count:
                        events += more
                        place += count
                        continue
                place += 1
                if tap:
                    tap("frame", frame)
                if "!bad" in frame:
                    raise ProviderFailed(failure_protocol(self._name, _unreadable(frame["!bad"])))
                if check.open:
                    check.see(frame)
                try:
                    events += feed(frame)
                except _INVALID as exc:
                    raise self._invalid(exc, frame) from None
                if events and type(events[-1]) in _LAST:
                    break
        except Exception as exc:
            return events, exc
        return events, None

    def _run(self, run: Run, frames: list[Json], place: int) -> tuple[int, list[ModelEvent]]:
        try:
            return run(frames, place)
        except _INVALID as exc:
            raise self._invalid(exc, frames[place]) from None

    def _invalid(self, exc: Exception, frame: Json | None = None) -> ProviderFailed:
        """Decoders do not check the shape of frames: an invalid one makes them raise."""
        self._log("warning", f"{self._name}: {_last_place(exc)}: {type(exc).__name__}: {exc}")
        message = "the provider sent an invalid answer"
        if frame is not None:
            message = f"the provider sent an invalid event: {str(frame)[:BAD_FRAME_QUOTE]}"
        return ProviderFailed(failure_protocol(self._name, message))

    def _limits(self, headers: Mapping[str, str], *, refused: bool = False) -> list[ModelEvent]:
        """The rate limits that the headers tell, if they have changed."""
        if not any("ratelimit" in name for name in headers):
            return []
        from yume_shim.providers.wire.rate_limits import LimitMeter, read_limits

        self._meter = self._meter or LimitMeter()
        limits = read_limits(headers, refused=refused)
        return [LimitsReported(limits)] if self._meter.worth_a_line(limits) else []

    def _reported(self, exc: ProviderFailed) -> Failure:
        if self._tap and isinstance(exc, StatusFailed):
            self._tap("status", exc)
        return exc.failure if exc.failure.provider else replace(exc.failure, provider=self._name)


def _with_texts(event: Any, *names: str) -> Any:
    """The event with texts in these fields: decoders pass on what the provider sent."""
    wrong = {name: item for name in names if not isinstance(item := getattr(event, name), str | None)}
    return replace(event, **{name: str(item)[:BAD_FRAME_QUOTE] for name, item in wrong.items()}) if wrong else event


def _in_parts(decoder: Decoding, parts: Callable[[Json], list[Json]]) -> Callable[[Json], list[ModelEvent]]:
    """The `feed` of a whole answer, which comes as one frame."""
    return lambda frame: [event for part in parts(frame) for event in decoder.feed(part)]


def _ignore(request: Request, exchange: Exchange, failure: Failure | None, change: str) -> None:
    """Nothing is noted."""


def _unreadable(text: Any) -> str:
    quote = str(text)[:BAD_FRAME_QUOTE]
    return f"the provider sent an event that is not a JSON object: {quote!r}"


def _last_place(exc: BaseException) -> str:
    """File and line of the exception: enough to find the defect without a traceback on stderr."""
    step = exc.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    if step is None:
        return "?"
    code = step.tb_frame.f_code
    name = code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{name}:{step.tb_lineno} {code.co_name}"
