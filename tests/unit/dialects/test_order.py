"""The order check accepts legal streams of events and rejects illegal ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.event_stories import AT, CUT, INFO, USAGE, ended, prompt, stories, streamed, tag_events
from yume_shim.dialects.order import OrderBroken, OrderCheck
from yume_shim.types.blocks import Text, ToolCall, ToolResult
from yume_shim.types.events import (
    ApprovalAsked,
    ApprovalWithdrawn,
    BlockDelta,
    BlockEnded,
    BlockStarted,
    CallDenied,
    ControlAnswered,
    Interrupted,
    NoteAdded,
    Pong,
    RequestStarted,
    ResponseDropped,
    ResponseEnded,
    ResponseFailed,
    ResponseStarted,
    SessionChanged,
    SessionReady,
    StartFailed,
    Tagged,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFailed,
    TurnStarted,
)

if TYPE_CHECKING:
    from yume_shim.types.events import Event

CALL = ToolCall("call_1", "Bash", {"command": "ls"})
SECOND = ToolCall("call_2", "Read", {"file_path": "a"})
READY: list[Event] = [SessionReady(INFO), TurnStarted(INFO)]
ASKED: list[Event] = [*READY, RequestStarted("m"), ResponseStarted("msg_1", "m")]
CALLED: list[Event] = [
    *ASKED,
    *streamed(0, CALL, ["{}"]),
    *streamed(1, SECOND, ["{}"]),
    ResponseEnded("tool_calls", "tool_use", USAGE),
]


def done(call: ToolCall) -> ToolFinished:
    return ToolFinished(call, ToolResult(call.id, "ok"))


def feed_all(story: list[Tagged], concurrency: int = 1) -> None:
    order = OrderCheck(concurrency)
    for tagged in story:
        order.feed(tagged)


def check(events: list[Event], concurrency: int = 1) -> None:
    feed_all(tag_events(events), concurrency)


@settings(max_examples=150, deadline=None)
@given(stories())
def test_legal_stories_pass(story: list[Tagged]) -> None:
    feed_all(story)


@settings(max_examples=150, deadline=None)
@given(stories(), st.data())
def test_a_story_with_a_key_event_missing_or_doubled_is_caught(story: list[Tagged], data: st.DataObject) -> None:
    # leaving out or repeating any of these breaks a rule sooner or later
    key = (TurnStarted, BlockStarted, BlockEnded, ResponseStarted, ToolStarted, ToolFinished)
    places = [place for place, tagged in enumerate(story) if isinstance(tagged.event, key)]
    place = data.draw(st.sampled_from(places))
    times = data.draw(st.sampled_from([0, 2]))
    changed = story[:place] + [story[place]] * times + story[place + 1 :]
    with pytest.raises(OrderBroken):
        feed_all(changed)


LEGAL: dict[str, list[Event]] = {
    "nothing but a start": [SessionReady(INFO)],
    "cannot start": [StartFailed("no key", "auth")],
    "host answers at any time": [Pong(), SessionReady(INFO), ControlAnswered("1"), *READY[1:], Pong(), ended(), Pong()],
    "prompt before the turn": [SessionReady(INFO), prompt("hi"), TurnStarted(INFO), ended()],
    "new session between turns": [*READY, ended(), SessionChanged("b", "a"), TurnStarted(INFO), ended()],
    "one call after the other": [*CALLED, ToolStarted(CALL), done(CALL), ToolStarted(SECOND), done(SECOND), ended()],
    "a call that is never started": [*CALLED, ToolStarted(CALL), done(CALL), ended()],
    "asked, waited, withdrawn": [
        *CALLED,
        ToolStarted(CALL),
        ApprovalAsked("q", CALL, "why", 1000),
        ToolProgress(CALL, 30_000),
        ApprovalWithdrawn("q"),
        CallDenied(CALL, "no"),
        done(CALL),
        Interrupted("user", "tools"),
        ended(),
    ],
    "failed before anything was shown": [
        *READY,
        RequestStarted("m"),
        ResponseFailed(CUT),
        TurnFailed(CUT),
        ended(outcome="provider_error", failure=CUT),
    ],
    "failed in a block": [
        *ASKED,
        BlockStarted(0, Text("")),
        ResponseFailed(CUT),
        ResponseDropped(0, 0, False),
        ended(),
    ],
    "dropped, then asked again without a new request": [
        *ASKED,
        ResponseDropped(0, None, interrupted=False),
        ResponseStarted("msg_2", "m"),
        ResponseEnded("end", "end_turn", USAGE),
        ended(),
    ],
    "a finished call of a cut answer runs": [
        *ASKED,
        *streamed(0, CALL, ["{}"]),
        ResponseDropped(1, None, interrupted=False),
        ToolStarted(CALL),
        done(CALL),
        ended(),
    ],
    "note, then a new request": [
        *ASKED,
        ResponseDropped(0, None, False),
        NoteAdded("go on"),
        RequestStarted("m"),
        ended(),
    ],
}


@pytest.mark.parametrize("events", LEGAL.values(), ids=LEGAL.keys())
def test_legal(events: list[Event]) -> None:
    check(events)


ILLEGAL: dict[str, list[Event]] = {
    "turn before ready": [TurnStarted(INFO)],
    "ready twice": [SessionReady(INFO), SessionReady(INFO)],
    "start failed after ready": [SessionReady(INFO), StartFailed("late", "auth")],
    "turn in a turn": [*READY, TurnStarted(INFO)],
    "two ends": [*READY, ended(), ended()],
    "end while a call runs": [*CALLED, ToolStarted(CALL), ended()],
    "interrupt while a call runs": [*CALLED, ToolStarted(CALL), Interrupted("user", "tools")],
    "end in an open answer": [*ASKED, ended()],
    "answer without a request": [*READY, ResponseStarted("msg_1", "m")],
    "two blocks open": [*ASKED, BlockStarted(0, Text("")), BlockStarted(1, Text(""))],
    "delta without a block": [*ASKED, BlockDelta(0, "text", "x")],
    "delta of another block": [*ASKED, BlockStarted(0, Text("")), BlockDelta(1, "text", "x")],
    "end of another block": [*ASKED, BlockStarted(0, Text("")), BlockEnded(1, Text("x"))],
    "index goes back": [*ASKED, *streamed(1, Text("a"), ["a"]), BlockStarted(0, Text(""))],
    "index comes again": [*ASKED, *streamed(0, Text("a"), ["a"]), BlockStarted(0, Text(""))],
    "dropped with a block open and none named": [*ASKED, BlockStarted(0, Text("")), ResponseDropped(0, None, False)],
    "dropped with a block named and none open": [*ASKED, *streamed(0, Text("a"), ["a"]), ResponseDropped(0, 0, False)],
    "answer ends in a block": [*ASKED, BlockStarted(0, Text("")), ResponseEnded("end", "end_turn", USAGE)],
    "call that is in no response": [*READY, ToolStarted(CALL)],
    "call twice": [*CALLED, ToolStarted(CALL), done(CALL), ToolStarted(CALL)],
    "two calls at once": [*CALLED, ToolStarted(CALL), ToolStarted(SECOND)],
    "result without a call": [*CALLED, done(CALL)],
    "two results": [*CALLED, ToolStarted(CALL), done(CALL), done(CALL)],
    "progress after the result": [*CALLED, ToolStarted(CALL), done(CALL), ToolProgress(CALL, 1)],
    "question about a call that does not run": [*CALLED, ApprovalAsked("q", CALL, "", 1)],
    "withdrawal of nothing": [*CALLED, ToolStarted(CALL), ApprovalWithdrawn("q")],
    "call of a dropped block": [*ASKED, *streamed(0, CALL, ["{}"]), ResponseDropped(0, None, False), ToolStarted(CALL)],
    "more after an interrupt": [*READY, Interrupted("user", "streaming"), RequestStarted("m")],
    "more after giving up": [*READY, TurnFailed(CUT), NoteAdded("x")],
    "new session in a turn": [*READY, SessionChanged("b", "a")],
}


@pytest.mark.parametrize("events", ILLEGAL.values(), ids=ILLEGAL.keys())
def test_illegal(events: list[Event]) -> None:
    check(events[:-1])
    with pytest.raises(OrderBroken):
        check(events)


def test_calls_side_by_side_when_allowed() -> None:
    check([*CALLED, ToolStarted(CALL), ToolStarted(SECOND), done(SECOND), done(CALL), ended()], concurrency=2)


def test_a_subagent_ends_before_its_call() -> None:
    order = OrderCheck()
    for tagged in tag_events([*CALLED, ToolStarted(CALL)]):
        order.feed(tagged)
    inner = ToolCall("inner_1", "Read", {})
    child: list[Event] = [
        prompt("look"),
        RequestStarted("m"),
        ResponseStarted("msg_2", "m"),
        *streamed(0, inner, ["{}"]),
        ResponseEnded("tool_calls", "tool_use", USAGE),
        ToolStarted(inner),
    ]
    for tagged in tag_events(child, parent=CALL.id):
        order.feed(tagged)
    with pytest.raises(OrderBroken, match="inner_1"):
        order.feed(Tagged(done(CALL), "u", AT))


def test_a_subagent_without_its_call() -> None:
    order = OrderCheck()
    for tagged in tag_events(CALLED):
        order.feed(tagged)
    with pytest.raises(OrderBroken, match="call_1"):
        order.feed(Tagged(RequestStarted("m"), "u", AT, CALL.id))
