"""Stories as events: a fixed session, a tagger, and random legal sequences for property tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from yume_shim.types.blocks import Image, Message, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.errors import Failure
from yume_shim.types.events import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    CallDenied,
    Interrupted,
    NoteAdded,
    PartialKept,
    Pong,
    PromptTaken,
    RequestStarted,
    ResponseDropped,
    ResponseEnded,
    ResponseStarted,
    Retrying,
    SessionInfo,
    SessionReady,
    Tagged,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from yume_shim.types.models import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from yume_shim.types.blocks import AssistantBlock
    from yume_shim.types.events import DeltaKind, Event

AT = 1_700_000_000.25
STAMP = "2023-11-14T22:13:20.250Z"
SESSION = "5e551011-0000-4000-8000-000000000001"
INFO = SessionInfo(
    session_id=SESSION,
    cwd="/home/ada/project",
    provider="anthropic",
    model="claude-sonnet-4-5",
    permission_mode="default",
    tools=("Bash", "Read"),
    api_key_source="ANTHROPIC_API_KEY",
)
USAGE = Usage(input=12, output=7, cache_read=3, cache_write=5)
CUT = Failure("stream_interrupted", "the connection broke", retryable=True, provider="anthropic")


def uuid_of(number: int) -> str:
    """The uuid that `tag_events` gives the event at this place (from 1)."""
    return f"e0000000-0000-4000-8000-{number:012d}"


def tag_events(events: Iterable[Event], parent: str | None = None, first: int = 1) -> list[Tagged]:
    """The events with counted uuids and one time for all, as `EventOutput` tags them."""
    return [Tagged(event, uuid_of(number), AT, parent) for number, event in enumerate(events, first)]


def prompt(text: str, uuid: str = "", replay: bool = False) -> PromptTaken:
    """A prompt in the host's string form."""
    return PromptTaken(Message("user", (Text(text),)), text, uuid, replay)


def streamed(index: int, block: AssistantBlock, pieces: Iterable[str]) -> list[Event]:
    """A block as a provider streams it."""
    kind: DeltaKind
    empty: AssistantBlock
    match block:
        case Text():
            kind, empty = "text", Text("")
        case Thinking():
            kind, empty = "thinking", Thinking("")
        case ToolCall():
            kind, empty = "json", ToolCall(block.id, block.name, {})
        case _:
            raise TypeError(block)
    deltas = [BlockDelta(index, kind, piece) for piece in pieces]
    return [BlockStarted(index, empty), *deltas, BlockEnded(index, block)]


def ended(text: str = "", **changes: object) -> TurnEnded:
    """The end of a turn with plain figures."""
    figures: dict[str, object] = {
        "outcome": "success",
        "text": text,
        "num_turns": 1,
        "duration_ms": 500,
        "duration_api_ms": 400,
        "usage": USAGE,
        "total_cost_usd": 0.25,
        "stop_reason": "end_turn",
        "info": INFO,
    }
    return TurnEnded(**(figures | changes))  # type: ignore[arg-type]  # the names are TurnEnded's own


# ---------------------------------------------------------------- random stories

_words = st.text(min_size=1, max_size=12)
_pieces = st.lists(_words, min_size=1, max_size=4)
_contents = st.one_of(
    _words,
    st.tuples(st.builds(Text, _words), st.just(Image("image/png", "aGVsbG8="))),
)


class _Teller:
    """Draws one story; keeps ids unique over the session."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.events: list[Event] = [SessionReady(INFO)]
        self.calls = 0
        self.responses = 0

    def turn(self) -> None:
        self.events += [TurnStarted(INFO), prompt(self.draw(_words))]
        for _ in range(self.draw(st.integers(0, 2))):
            if not self.round():
                return
        self.events += [RequestStarted(INFO.model), *self.answer_start()]
        text = self.text(0)
        end = self.draw(st.sampled_from(["success", "failed", "stopped", "cut", "success"]))
        if end == "success":
            self.events += [ResponseEnded("end", "end_turn", USAGE), ended(text)]
        elif end == "cut":
            self.cut_and_go_on()
        elif end == "failed":
            self.events += [ResponseDropped(0, None, interrupted=False), TurnFailed(CUT)]
            self.events.append(ended("", outcome="provider_error", failure=CUT))
        else:
            self.stop_in_text()

    def round(self) -> bool:
        """An answer with calls, and their results; False if the turn was stopped in it."""
        self.events += [RequestStarted(INFO.model), *self.answer_start()]
        if self.draw(st.booleans()):
            pieces = self.draw(_pieces)
            self.events += streamed(0, Thinking("".join(pieces)), pieces)
        else:
            self.text(0)
        calls = []
        for index in range(1, 1 + self.draw(st.integers(1, 3))):
            self.calls += 1
            call = ToolCall(f"call_{self.calls}", "Read", {"file_path": self.draw(_words)})
            self.events += streamed(index, call, ['{"file', '_path":"…"}'])
            calls.append(call)
        stopped = self.draw(st.integers(0, 9)) == 0
        if not stopped:
            self.events.append(ResponseEnded("tool_calls", "tool_use", USAGE))
        for call in calls:
            self.call(call)
        if stopped:
            self.events += [Interrupted("user", "streaming"), ResponseDropped(len(calls) + 1, None, interrupted=True)]
            self.events.append(ended("", outcome="cancelled", phase="streaming", stop_reason=None))
        return not stopped

    def call(self, call: ToolCall) -> None:
        self.events.append(ToolStarted(call))
        if self._quiet() and self.draw(st.integers(0, 4)) == 0:
            self.events.append(CallDenied(call, "no"))
        if self.draw(st.integers(0, 4)) == 0:
            self.events.append(Pong())
        failed = self.draw(st.sampled_from([None, False, True]))
        self.events.append(ToolFinished(call, ToolResult(call.id, self.draw(_contents), failed), {"ok": True}))

    def _quiet(self) -> bool:
        """Is the answer that asked for the calls over?"""
        for event in reversed(self.events):
            if isinstance(event, ResponseEnded | ResponseStarted):
                return isinstance(event, ResponseEnded)
        return False

    def answer_start(self) -> list[Event]:
        self.responses += 1
        start: list[Event] = [ResponseStarted(f"msg_{self.responses}", INFO.model, Usage(12, 1), "req_1")]
        if self.draw(st.integers(0, 4)) == 0:
            start.insert(0, Retrying(CUT, 1, 3, 100))
        return start

    def text(self, index: int) -> str:
        pieces = self.draw(_pieces)
        self.events += streamed(index, Text("".join(pieces)), pieces)
        return "".join(pieces)

    def half(self, index: int) -> str:
        pieces = self.draw(_pieces)
        self.events += [BlockStarted(index, Text("")), *(BlockDelta(index, "text", piece) for piece in pieces)]
        return "".join(pieces)

    def cut_and_go_on(self) -> None:
        kept = Text(self.half(1))
        self.events += [PartialKept(kept, 1, interrupted=False), ResponseDropped(2, 1, interrupted=False)]
        self.events += [Retrying(CUT, 1, 3, 100), NoteAdded("go on"), RequestStarted(INFO.model)]
        self.events += self.answer_start()
        text = self.text(0)
        self.events += [ResponseEnded("end", "end_turn", USAGE), ended(text)]

    def stop_in_text(self) -> None:
        kept = Text(self.half(1))
        self.events += [
            PartialKept(kept, 1, interrupted=True),
            Interrupted("user", "streaming"),
            ResponseDropped(2, 1, interrupted=True),
            ended("", outcome="cancelled", phase="streaming", stop_reason=None),
        ]


@st.composite
def stories(draw: st.DrawFn) -> list[Tagged]:
    """A whole session of one to three turns, as an engine would emit it."""
    teller = _Teller(draw)
    for _ in range(draw(st.integers(1, 3))):
        teller.turn()
    return tag_events(teller.events)
