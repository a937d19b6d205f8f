"""A stream ends once, and never by raising."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fakes import FakeIds, cancel
from yume_shim.providers.load import load_adapter
from yume_shim.providers.pipeline import ApiProvider
from yume_shim.providers.wire.failures import StatusFailed, failure_cut, status_failed
from yume_shim.types.blocks import Message, Text
from yume_shim.types.errors import Cancelled, Failure, ProviderFailed
from yume_shim.types.events import Notice, ResponseEnded, ResponseFailed, ResponseStarted
from yume_shim.types.models import Credential, Endpoint, ModelSpec, Request, Usage, WireRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.ports import Cancel

ENDPOINT = Endpoint("vendor", "test-api", "http://127.0.0.1:1")
REQUEST = Request(ModelSpec("m", ENDPOINT), (Message("user", (Text("hi"),)),))
STARTED = ResponseStarted("id", "m")
ENDED = ResponseEnded("end", "end_turn", Usage())
FAILED = ResponseFailed(Failure("server", "no"))


class Script:
    """An adapter, a decoder, a transport and a stream in one, driven by the frames."""

    API = "test-api"
    NOT_APPLICABLE: dict[str, str] = {}  # noqa: RUF012
    headers: Mapping[str, str] = {"request-id": "r"}

    def __init__(
        self,
        *frames: Any,
        opening: BaseException | None = None,
        at_end: tuple[ModelEvent, ...] = (),
        counted: bool = False,
    ) -> None:
        self.frames = frames
        self.counted = counted
        self.opening = opening
        self.at_end = at_end
        self.closed = 0
        self.over: Callable[[], bool] = lambda: False

    def encode_request(self, request: Request) -> WireRequest:
        return WireRequest("/x", {"model": request.model.id})

    def auth_headers(self, credential: Credential) -> dict[str, str]:
        return {}

    def whole_frames(self, body: Any) -> list[Any]:
        return [body]

    def Decoder(self, request: Request, headers: Mapping[str, str], new_id: Callable[[], str]) -> Script:
        assert headers == {"request-id": "r"}
        assert new_id() == "call_000001"
        return self

    def feed(self, frame: Json) -> list[ModelEvent]:
        if "raise" in frame:
            raise frame["raise"]
        given: list[ModelEvent] = frame["give"]
        return given

    def finish(self) -> list[ModelEvent]:
        return list(self.at_end)

    def reported(self) -> tuple[Usage, bool]:
        return Usage(), self.counted

    def open(self, wire: WireRequest, cancel: Cancel) -> Script:
        if self.opening:
            raise self.opening
        return self

    def __iter__(self) -> Iterator[Json]:
        for frames in self.reads():
            yield from frames

    def reads(self) -> Iterator[list[Json]]:
        for frame in self.frames:
            if isinstance(frame, BaseException):
                raise frame
            yield frame if isinstance(frame, list) else [frame]

    def close(self) -> None:
        self.closed += 1


def run(script: Script, tap: Any = None, log: list[str] | None = None) -> list[ModelEvent]:
    def say(level: str, message: str) -> None:
        (log if log is not None else []).append(f"{level}: {message}")

    provider = ApiProvider(script, ENDPOINT, script, FakeIds(), say, tap)
    return list(provider.stream(REQUEST, cancel()))


def test_a_whole_answer() -> None:
    script = Script({"give": [STARTED]}, {"give": []}, at_end=(ENDED,))
    assert run(script) == [STARTED, ENDED]
    assert script.closed == 1


def test_nothing_follows_the_end() -> None:
    script = Script({"give": [STARTED, ENDED, Notice("x", "late")]}, {"give": [ENDED]}, at_end=(ENDED,))
    assert run(script) == [STARTED, ENDED]
    assert script.closed == 1


def test_a_decoder_without_a_terminal_event() -> None:
    [first, last] = run(Script({"give": [STARTED]}))
    assert first == STARTED
    assert isinstance(last, ResponseFailed)
    assert last.failure.kind == "protocol"


@pytest.mark.parametrize(
    ("trouble", "kind", "retryable"),
    [
        (ProviderFailed(failure_cut("vendor", started=True)), "stream_interrupted", True),
        (Cancelled(), "cancelled", False),
        (ConnectionResetError(104, "x"), "network", True),
        ({"!bad": "<oops>"}, "protocol", True),
        ({"raise": KeyError("choices")}, "protocol", True),
        (KeyError("choices"), "internal", False),
    ],
)
def test_failures_in_the_middle(trouble: Any, kind: str, retryable: bool) -> None:
    script = Script({"give": [STARTED]}, trouble)
    events = run(script)
    assert events[0] == STARTED
    [last] = events[1:]
    assert isinstance(last, ResponseFailed)
    assert (last.failure.kind, last.failure.retryable, last.failure.provider) == (kind, retryable, "vendor")
    assert script.closed == 1


@pytest.mark.parametrize(
    ("end", "counted", "complete"), [(ENDED, True, True), (ENDED, False, False), (FAILED, True, False)]
)
def test_a_connection_that_is_lost_behind_a_complete_answer(end: ModelEvent, counted: bool, complete: bool) -> None:
    """An API without an end mark (google) ends with the connection; the stream can ask whether anything is missing."""
    cut = ProviderFailed(failure_cut("vendor", started=True))
    script = Script({"give": [STARTED]}, cut, at_end=(end,), counted=counted)
    [_, last] = run(script)
    assert script.over() is counted
    if complete:
        assert last == ENDED
    else:
        assert isinstance(last, ResponseFailed)
        assert last.failure.kind == "stream_interrupted"


def test_failures_before_the_start() -> None:
    refused = status_failed(401, {}, b"no", "vendor")
    script = Script(opening=refused)
    assert run(script) == [ResponseFailed(refused.failure)]
    assert script.closed == 0


def test_a_defect_is_logged_with_its_place() -> None:
    log: list[str] = []
    run(Script(KeyError("choices")), log=log)
    run(Script({"raise": TypeError("choices")}), log=log)
    ours, theirs = log
    assert ours.startswith("error: vendor: test_pipeline.py:")
    assert "KeyError" in ours
    assert theirs.startswith("warning: vendor: test_pipeline.py:")
    assert "TypeError" in theirs


NONSENSE: dict[str, list[Any]] = {
    "openai-chat": [
        {"choices": ["x"]},
        {"choices": [{"delta": {"content": [5]}}]},
        {"choices": [{"delta": {"tool_calls": "x"}}]},
    ],
    "openai-responses": [
        {"type": "response.output_item.added", "item": "x"},
        {"type": "response.output_text.delta", "delta": 5},
    ],
    "anthropic-messages": [
        {"type": "message_start", "message": "x"},
        {"type": "content_block_start", "content_block": ["x"]},
    ],
    "google-genai": [{"candidates": [{"finishReason": ["STOP"]}]}],
    "ollama-chat": [{"message": "x"}, {"message": {"tool_calls": ["x"]}}],
}


@pytest.mark.parametrize(("api", "frame"), [(api, frame) for api, frames in NONSENSE.items() for frame in frames])
@pytest.mark.parametrize("whole", [False, True])
def test_an_invalid_frame_is_a_protocol_failure(api: str, frame: Any, whole: bool) -> None:
    endpoint = Endpoint("vendor", api, "http://127.0.0.1:1")
    request = Request(ModelSpec("m", endpoint, streaming=not whole), (Message("user", (Text("hi"),)),))
    provider = ApiProvider(load_adapter(api), endpoint, Script(frame), FakeIds(), lambda *_: None)
    *_, last = provider.stream(request, cancel())
    assert isinstance(last, ResponseFailed)
    assert (last.failure.kind, last.failure.retryable) == ("protocol", True)
    assert last.failure.message.startswith(
        ("the provider sent an invalid event: ", "the provider sent an invalid answer")
    )


def test_any_failure_after_a_cancel_is_a_cancel() -> None:
    stop = cancel()
    script = Script({"give": [STARTED]}, ConnectionResetError(104, "x"))
    provider = ApiProvider(script, ENDPOINT, script, FakeIds(), lambda *_: None)
    events = provider.stream(REQUEST, stop)
    assert next(events) == STARTED
    stop.set()
    assert list(events) == [ResponseFailed(Failure("cancelled", "the request was stopped", provider="vendor"))]


def test_a_stream_that_is_dropped_is_closed() -> None:
    script = Script({"give": [STARTED]}, {"give": [ENDED]})
    events: Any = ApiProvider(script, ENDPOINT, script, FakeIds(), lambda *_: None).stream(REQUEST, cancel())
    next(events)
    events.close()
    assert script.closed == 1


def test_the_tap_receives_everything() -> None:
    received: list[tuple[str, Any]] = []
    run(Script({"give": [STARTED]}, {"!bad": "x"}), tap=lambda kind, data: received.append((kind, data)))
    assert [kind for kind, _ in received] == ["request", "headers", "frame", "frame", "fault"]
    assert received[0][1] == WireRequest("/x", {"model": "m"})
    refused: list[tuple[str, Any]] = []
    script = Script(opening=status_failed(500, {}, b"no", "vendor"))
    run(script, tap=lambda kind, data: refused.append((kind, data)))
    assert [kind for kind, _ in refused] == ["request", "status", "fault"]
    assert isinstance(refused[1][1], StatusFailed)


def test_close_closes_the_transport() -> None:
    script = Script()
    ApiProvider(script, ENDPOINT, script, FakeIds(), lambda *_: None).close()
    assert script.closed == 1
