"""Text and JSON print modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.event_stories import INFO, ended, prompt, streamed, tag_events
from tests.helpers.fakes import FakeIds
from yume_shim.dialects.nested import NestedDialect
from yume_shim.dialects.plain import JsonDialect, TextDialect
from yume_shim.dialects.terminal_text import AttendedText, LiveText
from yume_shim.text.codec import loads
from yume_shim.types.blocks import Text, ToolCall
from yume_shim.types.errors import Failure
from yume_shim.types.events import (
    ControlAnswered,
    Interrupted,
    ResponseDropped,
    ResponseStarted,
    SessionReady,
    ToolStarted,
    TurnStarted,
)

if TYPE_CHECKING:
    from yume_shim.types.events import Event

TURN: list[Event] = [
    SessionReady(INFO),
    TurnStarted(INFO, ("u-1",)),
    prompt("hi"),
    ControlAnswered("r1"),
    ResponseStarted("msg_1", "m"),
    *streamed(0, Text("Ho\u2028ho"), ["Ho\u2028ho"]),
]


@pytest.mark.parametrize(
    ("changes", "printed"),
    [
        ({"text": "Hello"}, "Hello\n"),
        ({"text": "Hello\n"}, "Hello\n"),
        ({"text": "Hello \n\n"}, "Hello \n\n"),
        ({"text": ""}, "\n"),
        ({"outcome": "max_turns", "limit": "1"}, "Error: Reached max turns (1)\n"),
        ({"outcome": "max_budget", "limit": "0.01"}, "Error: Reached max budget ($0.01)\n"),
        ({"outcome": "structured_output_retries"}, "Error: No output matched the schema\n"),
        ({"outcome": "cancelled"}, "Execution error\n"),
        ({"outcome": "execution_error", "failure": Failure("internal", "crash")}, "Execution error: crash\n"),
        ({"outcome": "auth_error", "failure": Failure("auth", "no key")}, "Not logged in · no key\n"),
    ],
)
def test_text(changes: dict[str, Any], printed: str) -> None:
    dialect = TextDialect()
    out = [line for tagged in tag_events([*TURN, ended(**changes)]) for line in dialect.feed(tagged)]
    assert out == [{"!text": printed}]


def test_text_prints_nothing_after_a_shutdown() -> None:
    dialect = TextDialect()
    events: list[Event] = [*TURN, Interrupted("shutdown", "streaming"), ended(outcome="cancelled")]
    assert [line for tagged in tag_events(events) for line in dialect.feed(tagged)] == []


def test_json_is_only_the_result() -> None:
    inner, dialect = NestedDialect("2.1.325", FakeIds()), JsonDialect(NestedDialect("2.1.325", FakeIds()))
    events = tag_events([*TURN, ended("Ho")])
    expected = next(line for tagged in events for line in inner.feed(tagged) if line["type"] == "result")
    del expected["model_usage_since_last_result"]
    assert [line for tagged in events for line in dialect.feed(tagged)] == [expected]


def test_verbose_json_is_one_array_of_messages() -> None:
    inner = NestedDialect("2.1.325", FakeIds())
    dialect = JsonDialect(NestedDialect("2.1.325", FakeIds()), verbose=True)
    events = tag_events([*TURN, ended("Ho")])
    expected = [line for tagged in events for line in inner.feed(tagged)]
    expected = [line for line in expected if line["type"] in ("system", "assistant", "result")]
    del expected[-1]["model_usage_since_last_result"]
    [printed] = [line["!text"] for tagged in events for line in dialect.feed(tagged)]
    assert printed.endswith("}]\n")
    assert printed.isascii()  # the separator is escaped: the array is one line for every reader
    assert loads(printed) == expected
    assert [line["type"] for line in expected] == ["system", "assistant", "result"]


CALL = ToolCall("c1", "Read", {})
SAID = [ResponseStarted("msg_1", "m"), *streamed(0, Text("Let me "), ["Let ", "me "])]
LIVE: dict[str, tuple[list[Event], str, str]] = {
    "two blocks": ([*SAID, *streamed(1, Text("look."), ["look."]), ended("Let me \nlook.")], "Let me \nlook.\n", ""),
    "a call between": (
        [
            *SAID,
            ToolStarted(CALL),
            ToolStarted(CALL),
            ResponseStarted("2", "m"),
            *streamed(0, Text("b"), ["\n ", "b"]),
            ended("b"),
        ],
        "Let me \n\nb\n",
        "",
    ),
    "cut, gone on": ([*SAID, ResponseDropped(1, 0, interrupted=False), *SAID, ended("…")], "Let me Let me \n", ""),
    "delivered by a call": ([*SAID, ToolStarted(CALL), ended('{"a":1}')], 'Let me \n{"a":1}\n', ""),
    "a failure": ([*SAID, ended(outcome="max_turns", limit="1")], "Let me \nError: Reached max turns (1)\n", ""),
    "interrupted": ([*SAID, Interrupted("signal", "streaming"), ended(outcome="cancelled")], "Let me \n", "Let me\n"),
    "nothing came": ([TurnStarted(INFO, ()), ended(outcome="cancelled")], "", ""),
    "withdrawn": ([*SAID, ResponseDropped(0, 0, interrupted=False), ended(outcome="cancelled")], "Let me \n", ""),
    "control characters": ([*streamed(0, Text("x"), ["\x1b]0;x\x07\r\n", "y\x9b2J"]), ended("x")], "]0;x\ny2J\n", ""),
    "a shutdown": ([*SAID, Interrupted("shutdown", "streaming"), ended(outcome="cancelled")], "Let me ", ""),
}


@pytest.mark.parametrize("case", LIVE)
def test_text_for_a_person(case: str) -> None:
    events, live, after_interrupt = LIVE[case]
    shown = LiveText()
    assert "".join(line["!text"] for tagged in tag_events(events) for line in shown.feed(tagged)) == live
    if events[-1] == ended(outcome="cancelled"):
        attended = AttendedText()
        printed = [line["!text"] for tagged in tag_events(events) for line in attended.feed(tagged)]
        assert "".join(printed) == after_interrupt
