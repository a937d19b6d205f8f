"""Compaction and local commands, in both dialects, and their place in the order of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from claude_agent_sdk._internal.message_parser import parse_message

from tests.helpers.event_stories import CUT, INFO, SESSION, STAMP, ended, prompt, tag_events, uuid_of
from tests.helpers.fakes import FakeIds
from tests.helpers.record_check import check_lines
from yume_shim.dialects.flat import FlatDialect
from yume_shim.dialects.nested import NestedDialect
from yume_shim.dialects.order import OrderBroken, OrderCheck
from yume_shim.dialects.records.index import NESTED
from yume_shim.types.blocks import Message, Text
from yume_shim.types.events import (
    Compacted,
    CompactEnded,
    Compacting,
    LocalCommandDone,
    RequestStarted,
    Retrying,
    SessionChanged,
    SessionReady,
    TurnStarted,
)
from yume_shim.types.models import Usage
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from yume_shim.types.events import Event

BOUNDARY = "b0000000-0000-4000-8000-000000000001"
DONE = Compacted("manual", 900, 200, 700, 1_500, Message("user", (Text("all in short"),)), (), BOUNDARY)
LOCAL = ended("", num_turns=0, usage=Usage(), stop_reason=None, local_command="compact")
READY = SessionReady(INFO)
START = TurnStarted(INFO)


def nested(*events: Event) -> list[Any]:
    dialect = NestedDialect("9.9.9", FakeIds())
    lines = [line for tagged in tag_events(events) for line in dialect.feed(tagged)]
    check_lines(lines, NESTED)
    for line in lines:
        if line["type"] not in ("conversation_reset", "command_lifecycle"):
            assert parse_message(line) is not None
    return lines


def flat(*events: Event) -> list[Any]:
    dialect = FlatDialect("0.1.0", FakeIds())
    return [line for tagged in tag_events(events) for line in dialect.feed(tagged)]


def test_compact_on_demand() -> None:
    lines = nested(
        READY,
        prompt("hi"),
        Compacting("manual"),
        CompactEnded(),
        START,
        DONE,
        LocalCommandDone("compact", "Compacted "),
        LOCAL,
    )
    kinds = [(line["type"], line.get("subtype")) for line in lines]
    assert kinds == [
        ("system", "status"),
        ("system", "status"),
        ("system", "init"),
        ("system", "compact_boundary"),
        ("user", None),
        ("user", None),
        ("result", "success"),
    ]
    assert (lines[0]["status"], lines[1]["status"], lines[1]["compact_result"]) == ("compacting", None, "success")
    assert lines[3] == {
        "type": "system",
        "subtype": "compact_boundary",
        "compact_metadata": {
            "trigger": "manual",
            "pre_tokens": 900,
            "post_tokens": 200,
            "cumulative_dropped_tokens": 700,
            "duration_ms": 1_500,
            "estimated": True,
        },
        "logical_parent_uuid": uuid_of(2),
        "session_id": SESSION,
        "uuid": BOUNDARY,
    }
    assert lines[4] == {
        "type": "user",
        "message": {"role": "user", "content": "all in short"},
        "parent_tool_use_id": None,
        "session_id": SESSION,
        "uuid": uuid_of(6),
        "timestamp": STAMP,
        "isSynthetic": True,
    }
    assert lines[5]["message"]["content"] == "<local-command-stdout>Compacted </local-command-stdout>"
    assert lines[5]["isReplay"] is True
    assert (lines[6]["result"], lines[6]["num_turns"], lines[6]["local_command"]) == ("", 0, "compact")
    assert "terminal_reason" not in lines[6]


def test_compact_that_failed() -> None:
    failed = LocalCommandDone("compact", "Error: no luck", "bad_input")
    lines = nested(READY, Compacting("manual"), CompactEnded("no luck"), START, failed, LOCAL)
    assert (lines[1]["compact_result"], lines[1]["compact_error"]) == ("failed", "no luck")
    assert lines[3]["message"]["model"] == "<synthetic>"
    assert lines[3]["message"]["content"] == [{"type": "text", "text": "Error: no luck"}]
    assert "error" not in lines[3]
    assert lines[4]["is_error"] is False
    assert flat(READY, failed)[1:] == [
        {"type": "error", "message": "Error: no luck", "code": "bad_input", "provider": "anthropic", "retryable": False}
    ]


def test_flat_prints_begin_end_and_boundary() -> None:
    failed = {"type": "system", "subtype": "compact_ended", "error": "no"}
    assert flat(READY, Compacting("manual"), CompactEnded("no"))[2:] == [failed]
    assert flat(READY, Compacting("auto"), CompactEnded(), replace(DONE, trigger="auto"))[1:] == [
        {"type": "system", "subtype": "compact_started", "trigger": "auto"},
        {"type": "system", "subtype": "compact_ended"},
        {
            "type": "system",
            "subtype": "compact_boundary",
            "trigger": "auto",
            "pre_tokens": 900,
            "post_tokens": 200,
            "estimated": True,
        },
    ]
    assert flat(READY, LocalCommandDone("compact", "Compacted "))[1:] == []


def test_clear_as_a_prompt() -> None:
    other = replace(INFO, session_id="5e551011-0000-4000-8000-000000000002")
    events = (
        READY,
        SessionChanged(other.session_id, SESSION),
        TurnStarted(other),
        replace(LOCAL, local_command="clear", info=other),
    )
    lines = nested(*events)
    assert [line["type"] for line in lines] == ["conversation_reset", "system", "result"]
    assert [line["session_id"] for line in lines] == [SESSION, other.session_id, other.session_id]
    assert [line["type"] for line in flat(*events)[1:]] == ["system", "system", "result", "message_stop"]


LEGAL: dict[str, tuple[Event, ...]] = {
    "on demand": (Compacting("manual"), Retrying(CUT, 1, 3, 100), CompactEnded(), START, DONE, LOCAL),
    "without a turn": (Compacting("manual"), CompactEnded(), DONE, START, LOCAL),
    "failed": (Compacting("manual"), CompactEnded("no"), START, LocalCommandDone("compact", "no", "x"), LOCAL),
    "before a request": (START, Compacting("auto"), CompactEnded(), DONE, RequestStarted("m"), LOCAL),
    "after an overflow": (
        START,
        RequestStarted("m"),
        Compacting("auto"),
        Retrying(CUT, 1, 3, 100),
        CompactEnded(),
        DONE,
        RequestStarted("m"),
        LOCAL,
    ),
}
ILLEGAL: dict[str, tuple[Event, ...]] = {
    "never ended": (START, Compacting("auto"), RequestStarted("m")),
    "never begun": (START, CompactEnded()),
    "a turn inside": (Compacting("manual"), START),
    "twice at once": (Compacting("manual"), Compacting("manual")),
    "an answer outside a turn": (LocalCommandDone("compact", "x"),),
}


@pytest.mark.parametrize("events", LEGAL.values(), ids=LEGAL.keys())
def test_legal(events: tuple[Event, ...]) -> None:
    check_order(events)


@pytest.mark.parametrize("events", ILLEGAL.values(), ids=ILLEGAL.keys())
def test_illegal(events: tuple[Event, ...]) -> None:
    with pytest.raises(OrderBroken):
        check_order(events)


def check_order(events: tuple[Event, ...]) -> None:
    check = OrderCheck()
    for tagged in tag_events((READY, *events)):
        check.feed(tagged)
