"""Subagents: their lines carry the call that runs them, and they have no turn of their own."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from claude_agent_sdk._internal.message_parser import parse_message

from tests.helpers.event_stories import AT, CUT, INFO, USAGE, ended, prompt, streamed
from tests.helpers.fakes import FakeIds
from tests.helpers.record_check import check_lines
from yume_shim.dialects.flat import FlatDialect
from yume_shim.dialects.nested import NestedDialect
from yume_shim.dialects.order import OrderBroken, OrderCheck
from yume_shim.dialects.plain import JsonDialect, TextDialect
from yume_shim.dialects.records.index import FLAT, NESTED
from yume_shim.types.blocks import Message, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.events import (
    ApprovalAsked,
    BlockDelta,
    BlockStarted,
    CallDenied,
    Compacted,
    CompactEnded,
    Compacting,
    Interrupted,
    ModelChanged,
    NoteAdded,
    Notice,
    PartialKept,
    RequestStarted,
    ResponseDropped,
    ResponseEnded,
    ResponseStarted,
    Retrying,
    SessionReady,
    Tagged,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFailed,
    TurnStarted,
)
from yume_shim.types.models import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from yume_shim.types.events import Event

FIRST = ToolCall("agent_1", "Agent", {"prompt": "look here"})
SECOND = ToolCall("agent_2", "Agent", {"prompt": "look there"})
INNER = ToolCall("inner_1", "Read", {"file_path": "a"})
MAIN_MODEL, CHILD_MODEL = "main-model", "child-model"


def finished(call: ToolCall) -> ToolFinished:
    return ToolFinished(call, ToolResult(call.id, "ok"))


def tag(events: Iterable[tuple[Event, str | None]]) -> list[Tagged]:
    """Events with their parents, as they leave the engine."""
    return [Tagged(event, f"u{number}", AT, parent) for number, (event, parent) in zip(count(), events, strict=False)]


def of(parent: str | None, *events: Event) -> list[tuple[Event, str | None]]:
    return [(event, parent) for event in events]


def interleaved(*streams: list[tuple[Event, str | None]]) -> list[tuple[Event, str | None]]:
    """One event of each stream in turn."""
    longest = max(len(stream) for stream in streams)
    return [stream[place] for place in range(longest) for stream in streams if place < len(stream)]


OPENED = of(
    None,
    SessionReady(INFO),
    TurnStarted(INFO, ("host-1",)),
    RequestStarted(MAIN_MODEL),
    ResponseStarted("msg_main", MAIN_MODEL, Usage(12, 1)),
    *streamed(0, FIRST, ["{}"]),
    *streamed(1, SECOND, ["{}"]),
    ResponseEnded("tool_calls", "tool_use", USAGE),
    ToolStarted(FIRST),
    ToolStarted(SECOND),
)
CLOSED = of(
    None,
    RequestStarted(MAIN_MODEL),
    ResponseStarted("msg_last", MAIN_MODEL, Usage(12, 1)),
    *streamed(0, Text("Both done."), ["Both ", "done."]),
    ResponseEnded("end", "end_turn", USAGE),
    ended("Both done."),
)


def answers(parent: str, text: str) -> list[tuple[Event, str | None]]:
    """A child that thinks, speaks and reads a file."""
    inner = ToolCall(f"{parent}_read", "Read", {"file_path": text})
    return of(
        parent,
        prompt(f"prompt of {parent}"),
        RequestStarted(CHILD_MODEL),
        ResponseStarted(f"msg_{parent}", CHILD_MODEL, Usage(5, 1)),
        *streamed(0, Thinking("hm"), ["h", "m"]),
        *streamed(1, Text(text), [text[:2], text[2:]]),
        *streamed(2, inner, ["{}"]),
        ResponseEnded("tool_calls", "tool_use", Usage(5, 2)),
        ToolStarted(inner),
        finished(inner),
    )


STORY = tag(
    [
        *OPENED,
        *interleaved(answers("agent_1", "here"), answers("agent_2", "there")),
        *of(None, finished(SECOND), finished(FIRST)),
        *CLOSED,
    ]
)


def flat(story: list[Tagged]) -> list[Any]:
    dialect = FlatDialect("1", FakeIds())
    lines = [line for tagged in story for line in dialect.feed(tagged)]
    check_lines(lines, FLAT)
    return lines


def nested(story: list[Tagged], *, partial: bool = True) -> list[Any]:
    dialect = NestedDialect("2", FakeIds(), partial=partial)
    lines = [line for tagged in story for line in dialect.feed(tagged)]
    check_lines(lines, NESTED)
    for line in lines:
        assert line["type"] in ("command_lifecycle", "control_request", "tool_progress") or parse_message(line)
    return lines


def below(lines: list[Any], parent: str) -> list[Any]:
    return [line for line in lines if line.get("parent_tool_use_id") == parent]


def child_only(*events: Event) -> list[Tagged]:
    """Both calls run, and then the first one's child emits these."""
    return tag([*OPENED, *of("agent_1", *events)])


def added(render: Any, *events: Event) -> list[Any]:
    """The lines that a child's events add."""
    lines: list[Any] = render(child_only(*events))
    return lines[len(render(tag(OPENED))) :]


# ---------------------------------------------------------------- two children at once


def test_the_order_is_legal() -> None:
    order = OrderCheck(concurrency=2)
    for tagged in STORY:
        order.feed(tagged)


@pytest.mark.parametrize(("parent", "text"), [("agent_1", "here"), ("agent_2", "there")])
def test_flat_marks_every_line_of_a_child(parent: str, text: str) -> None:
    read, mark = f"{parent}_read", {"parent_tool_use_id": parent}
    assert below(flat(STORY), parent) == [
        {"type": "thinking", "is_thinking": True, "thought": "h", "id": f"msg_{parent}:0"} | mark,
        {"type": "thinking", "is_thinking": True, "thought": "m", "id": f"msg_{parent}:0"} | mark,
        {"type": "thinking", "is_thinking": False, "id": f"msg_{parent}:0"} | mark,
        {"type": "text", "content": text[:2], "id": f"msg_{parent}:1"} | mark,
        {"type": "text", "content": text[2:], "id": f"msg_{parent}:1"} | mark,
        {
            "type": "usage",
            "input_tokens": 5,
            "output_tokens": 2,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        }
        | mark,
        {"type": "tool_use", "id": read, "name": "Read", "input": {"file_path": text}} | mark,
        {"type": "tool_result", "tool_use_id": read, "content": "ok", "is_error": False} | mark,
    ]


def test_flat_shows_the_main_conversation_as_if_there_were_no_children() -> None:
    alone = tag([*OPENED, *of(None, finished(SECOND), finished(FIRST)), *CLOSED])
    assert [line for line in flat(STORY) if "parent_tool_use_id" not in line] == flat(alone)


@pytest.mark.parametrize("partial", [False, True], ids=["whole", "partial"])
@pytest.mark.parametrize(("parent", "text"), [("agent_1", "here"), ("agent_2", "there")])
def test_nested_shows_the_messages_of_a_child_in_whole_blocks(parent: str, text: str, partial: bool) -> None:
    lines = below(nested(STORY, partial=partial), parent)
    assert [(line["type"], line["message"]["content"]) for line in lines] == [
        ("user", [{"type": "text", "text": f"prompt of {parent}"}]),
        ("assistant", [{"type": "thinking", "thinking": "hm", "signature": ""}]),
        ("assistant", [{"type": "text", "text": text}]),
        ("assistant", [{"type": "tool_use", "id": f"{parent}_read", "name": "Read", "input": {"file_path": text}}]),
        ("user", [{"type": "tool_result", "tool_use_id": f"{parent}_read", "content": "ok"}]),
    ]
    assert {line["message"]["id"] for line in lines if line["type"] == "assistant"} == {f"msg_{parent}"}
    assert {line["message"]["model"] for line in lines if line["type"] == "assistant"} == {CHILD_MODEL}
    assert not any("user_message_uuid" in line for line in lines)


def test_nested_shows_the_main_conversation_as_if_there_were_no_children() -> None:
    def story(lines: list[Any]) -> list[Any]:
        """Without the ids, which are counted."""
        return [
            {name: item for name, item in line.items() if name != "uuid"}
            for line in lines
            if line.get("parent_tool_use_id") is None
        ]

    alone = tag([*OPENED, *of(None, finished(SECOND), finished(FIRST)), *CLOSED])
    assert story(nested(STORY)) == story(nested(alone))


def test_nested_has_one_init_and_one_result() -> None:
    lines = nested(STORY)
    assert [line.get("subtype") for line in lines if line["type"] in ("system", "result")] == [
        "init",
        "status",
        "status",
        "success",
    ]


def test_print_modes_show_the_main_answer() -> None:
    dialect = TextDialect()
    assert [line for tagged in STORY for line in dialect.feed(tagged)] == [{"!text": "Both done.\n"}]
    whole = JsonDialect(NestedDialect("2", FakeIds()))
    [result] = [line for tagged in STORY for line in whole.feed(tagged)]
    assert result["result"] == "Both done."


# ---------------------------------------------------------------- single events of a child

SUMMARY = Message("user", (Text("in short"),))
COMPACTED = Compacted("auto", 900, 200, 700, 5, SUMMARY, (), "boundary")
NOT_OF_A_CHILD: list[Event] = [
    SessionReady(INFO),
    TurnStarted(INFO),
    Interrupted("user", "streaming"),
    Interrupted("shutdown", "streaming"),
    ended("inner"),
]


@pytest.mark.parametrize("event", NOT_OF_A_CHILD, ids=lambda event: type(event).__name__)
def test_a_child_has_no_turn(event: Event) -> None:
    assert added(flat, event) == []
    assert added(nested, event) == []
    order = OrderCheck(concurrency=2)
    for tagged in tag(OPENED):
        order.feed(tagged)
    with pytest.raises(OrderBroken):
        order.feed(Tagged(event, "u", AT, "agent_1"))


def test_the_shutdown_of_a_child_does_not_mute_the_result() -> None:
    story = child_only(Interrupted("shutdown", "tools"))
    assert nested([*story, *tag(of(None, ended("Done.")))])[-1]["type"] == "result"


@pytest.mark.parametrize(
    ("event", "in_flat", "in_nested"),
    [
        (RequestStarted(CHILD_MODEL), None, None),
        (Retrying(CUT, 1, 3, 100), "retry", "api_retry"),
        (Notice("max_tokens", "cut"), "warning", "informational"),
        (CallDenied(INNER, "no", "rule", "Read"), "permission_denied", "permission_denied"),
        (ModelChanged("p", "third-model", "overloaded"), "model", "model_fallback"),
        (Compacting("auto"), "compact_started", None),
        (CompactEnded(), "compact_ended", None),
        (COMPACTED, "compact_boundary", None),
    ],
    ids=lambda each: type(each).__name__ if not isinstance(each, str) else each,
)
def test_system_lines_of_a_child(event: Event, in_flat: str | None, in_nested: str | None) -> None:
    for render, subtype in ((flat, in_flat), (nested, in_nested)):
        lines = added(render, event)
        assert [line["subtype"] for line in lines] == ([] if subtype is None else [subtype])
        assert all(line["parent_tool_use_id"] == "agent_1" for line in lines)


def test_a_question_about_a_call_of_a_child() -> None:
    [asked] = added(flat, ApprovalAsked("q", INNER, "why", 1000))
    assert (asked["subtype"], asked["tool_use_id"], asked["parent_tool_use_id"]) == (
        "approval_needed",
        "inner_1",
        "agent_1",
    )
    [request] = added(nested, ApprovalAsked("q", INNER, "why", 1000))
    assert request["request"]["tool_use_id"] == "inner_1"


def test_progress_of_a_call_of_a_child() -> None:
    [line] = added(flat, ToolProgress(INNER, 30_000))
    assert line["parent_tool_use_id"] == "agent_1"
    [line] = added(nested, ToolProgress(INNER, 30_000))
    assert (line["tool_use_id"], line["parent_tool_use_id"]) == ("inner_1-heartbeat-0", "inner_1")


def test_a_note_and_a_failure_of_a_child() -> None:
    assert added(flat, NoteAdded("go on")) == []
    [note] = added(nested, NoteAdded("go on"))
    assert (note["parent_tool_use_id"], note["isSynthetic"]) == ("agent_1", True)
    [error] = added(flat, TurnFailed(CUT))
    assert (error["type"], error["parent_tool_use_id"]) == ("error", "agent_1")
    [message] = added(nested, TurnFailed(CUT))
    assert (message["error"], message["parent_tool_use_id"]) == ("server_error", "agent_1")


def test_the_model_of_a_child_is_not_the_sessions() -> None:
    events: list[Event] = [RequestStarted(CHILD_MODEL), ModelChanged("p", "third-model", "overloaded")]
    [line] = added(nested, *events)
    assert (line["original_model"], line["fallback_model"]) == (CHILD_MODEL, "third-model")
    [*_, after] = nested([*child_only(*events), *tag(of(None, ModelChanged("p", "fourth-model", "overloaded")))])
    assert after["original_model"] == INFO.model


def test_the_last_message_of_the_conversation_is_not_a_childs() -> None:
    story = child_only(prompt("look"), NoteAdded("go on"))
    boundary, _ = nested([*story, *tag(of(None, COMPACTED))])[-2:]
    ids = {line["uuid"] for line in below(nested(story), "agent_1")}
    assert boundary["logical_parent_uuid"] not in ids


# ---------------------------------------------------------------- a child that is stopped

ASKED: list[Event] = [RequestStarted(CHILD_MODEL), ResponseStarted("msg_2", CHILD_MODEL)]
STOPPED: list[Event] = [
    *ASKED,
    *streamed(0, INNER, ["{}"]),
    ToolStarted(INNER),
    finished(INNER),
    ResponseDropped(1, None, interrupted=True),
]


def check(*events: tuple[Event, str | None]) -> None:
    order = OrderCheck(concurrency=2)
    for tagged in tag([*OPENED, *events]):
        order.feed(tagged)


def test_a_child_is_stopped_in_a_text() -> None:
    events: list[Event] = [
        *ASKED,
        BlockStarted(0, Thinking("")),
        BlockDelta(0, "thinking", "so"),
        PartialKept(Text("so"), 0, interrupted=True),
        ResponseDropped(0, 0, interrupted=True, usage=USAGE),
    ]
    check(*of("agent_1", *events), (finished(FIRST), None))
    assert [line["type"] for line in added(flat, *events)] == ["thinking", "thinking"]
    [kept] = added(nested, *events)
    assert (kept["aborted"], kept["parent_tool_use_id"]) == (True, "agent_1")


def test_a_child_is_stopped_after_a_call() -> None:
    check(*of("agent_1", *STOPPED), (finished(FIRST), None))
    assert [line["type"] for line in added(flat, *STOPPED)] == ["tool_use", "tool_result"]


GRANDCHILD = [
    *of("agent_1", *ASKED, *streamed(0, INNER, ["{}"]), ResponseEnded("tool_calls", "tool_use", USAGE)),
    *of("agent_1", ToolStarted(INNER)),
    *of("inner_1", RequestStarted("m"), ResponseStarted("msg_3", "m")),
]


def test_a_child_of_a_child() -> None:
    check(
        *GRANDCHILD,
        *of("inner_1", ResponseEnded("end", "end_turn", USAGE)),
        *of("agent_1", finished(INNER)),
        (finished(FIRST), None),
    )


@pytest.mark.parametrize(
    "events",
    [
        [*of("agent_1", *ASKED), (finished(FIRST), None)],
        [*of("agent_1", *ASKED[1:])],
        [(finished(FIRST), None), *of("agent_1", RequestStarted("m"))],
        [*of("agent_1", *STOPPED), *of("agent_1", RequestStarted("m"))],
        [*GRANDCHILD, *of("agent_1", finished(INNER))],
        [*GRANDCHILD, (finished(FIRST), None)],
        [*of("agent_9", RequestStarted("m"))],
    ],
    ids=[
        "call finished in an open response",
        "response without a request",
        "event after its call",
        "request after a stop",
        "inner call finished in an open response",
        "outer call finished before the inner one",
        "unknown call",
    ],
)
def test_illegal(events: list[tuple[Event, str | None]]) -> None:
    check(*events[:-1])
    with pytest.raises(OrderBroken):
        check(*events)


def test_the_state_of_a_child_is_dropped_with_its_call() -> None:
    """A later call of the same id starts anew."""
    again: list[tuple[Event, str | None]] = [
        *of("agent_1", *ASKED, PartialKept(Text("a"), 0, interrupted=False)),
        (finished(FIRST), None),
        *of("agent_1", PartialKept(Text("b"), 0, interrupted=False)),
    ]
    first, second = below(nested(tag([*OPENED, *again])), "agent_1")
    assert first["message"]["id"] == "msg_2"
    assert second["message"]["id"] != "msg_2"
