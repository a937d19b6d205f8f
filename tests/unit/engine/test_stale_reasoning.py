"""Reasoning is sent again only while the messages before it are unchanged; a full window does not end the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.helpers.engine_fakes import (
    SPEC,
    Bench,
    FunctionTools,
    ScriptedProvider,
    answer,
    calls,
    fails,
    info,
    says,
    thinks,
)
from yume_shim.engine.session import Session
from yume_shim.types.blocks import Text, Thinking
from yume_shim.types.commands import EndOfInput, UserInput
from yume_shim.types.events import Compacted, NoteAdded, Notice, TurnEnded
from yume_shim.types.models import ModelSpec, Request, Usage
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable

BOUND = replace(SPEC, thinking="adaptive")
SUMMARY = answer(says("<summary>\nSHORT\n</summary>"))
TOO_LONG = fails(kind="context_length", retryable=False)


def played(
    spec: ModelSpec,
    scripts: list[Any],
    *prompts: str,
    look: Callable[[], str] = lambda: "seen",
    tools: FunctionTools | None = None,
) -> Bench:
    tools = tools or FunctionTools()
    tools.tools["look"] = lambda given, context: look()
    bench = Bench(ScriptedProvider(*scripts), tools)
    session = Session(bench.services, spec, "s-1", lambda text: spec, info)
    for text in prompts:
        session.submit(UserInput((Text(text),), text))
    session.submit(EndOfInput())
    session.run()
    return bench


def thoughts(bench: Bench) -> list[list[str]]:
    """The reasoning in each request."""
    return [_thoughts(request) for request in bench.provider.requests]


def _thoughts(request: Request) -> list[str]:
    return [block.text for message in request.messages for block in message.blocks if isinstance(block, Thinking)]


def step(number: int) -> list[Any]:
    """A thought and a call."""
    return answer(thinks(f"t{number}"), calls(f"c{number}", "look", index=1), stop="tool_calls")


def test_a_summary_makes_earlier_reasoning_stale() -> None:
    scripts = [answer(thinks("t0"), says("one", index=1)), step(1), TOO_LONG, SUMMARY, step(2), answer(says("two"))]
    bench = played(BOUND, scripts, "first", "second")
    assert thoughts(bench) == [[], ["t0"], ["t0", "t1"], ["t0"], [], ["t2"]]
    assert bench.of(TurnEnded)[-1].text == "two"


def test_models_that_do_not_bind_reasoning_get_all_of_it() -> None:
    scripts = [answer(thinks("t0"), says("one", index=1)), step(1), TOO_LONG, SUMMARY, step(2), answer(says("two"))]
    bench = played(SPEC, scripts, "first", "second")
    assert thoughts(bench) == [[], ["t0"], ["t0", "t1"], ["t0"], ["t1"], ["t1", "t2"]]


def test_a_new_tool_makes_earlier_reasoning_stale() -> None:
    tools = FunctionTools()

    def look() -> str:
        tools.tools["more"] = lambda given, context: ""
        return "seen"

    bench = played(BOUND, [step(1), step(2), answer(says("done"))], "go", look=look, tools=tools)
    assert thoughts(bench) == [[], [], ["t2"]]  # the first call added a tool, the second did not


def test_trimming_makes_earlier_reasoning_stale() -> None:
    small = replace(BOUND, window=10_000, max_output=1_000)
    scripts = [step(1), answer(thinks("t2"), says("one", index=1), usage=Usage(7_000, 5)), answer(says("two"))]
    bench = played(small, scripts, "first", "second", look=lambda: "x" * 20_000)
    assert thoughts(bench) == [[], ["t1"], []]


def test_a_full_window_is_compacted_and_the_answer_continues() -> None:
    scripts = [answer(says("one")), answer(says("half "), stop="window"), SUMMARY, answer(says("whole"))]
    bench = played(SPEC, scripts, "first", "second")
    assert [ended.text for ended in bench.of(TurnEnded)] == ["one", "half whole"]
    assert len(bench.of(Compacted)) == len(bench.of(NoteAdded)) == 1
    assert bench.of(Notice) == []


def test_a_full_window_with_nothing_to_compact_is_reported() -> None:
    bench = played(SPEC, [answer(says("half"), stop="window")], "first")
    assert [ended.text for ended in bench.of(TurnEnded)] == ["half"]
    assert [notice.code for notice in bench.of(Notice)] == ["max_tokens"]
