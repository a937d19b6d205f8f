"""Structured output: accepted, sent back, given up after some tries, asked for when it is missing."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.helpers.engine_fakes import SPEC, Bench, ScriptedProvider, answer, calls, info, says
from yume_shim.engine import schema_process
from yume_shim.engine.cancel import CancelSignal
from yume_shim.engine.conversation import Conversation
from yume_shim.engine.structured import MAX_TRIES, NUDGE, StructuredOutput
from yume_shim.engine.turn import Turn
from yume_shim.types.blocks import Message, Text
from yume_shim.types.errors import Cancelled
from yume_shim.types.events import NoteAdded, ToolFinished, TurnEnded

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def run(*scripts: list[Any], schema: dict[str, Any] | None = None) -> tuple[Bench, TurnEnded]:
    bench = Bench(ScriptedProvider(*scripts), json_schema=schema or SCHEMA)
    conversation = Conversation(bench.services, SPEC, "s-1")
    conversation.history.append(Message("user", (Text("count"),)))
    return bench, Turn(bench.services, conversation, info(), CancelSignal(), lambda _: (), lambda: "user").run()


def output(**given: Any) -> list[Any]:
    return answer(calls(f"c{len(given)}{given}", "StructuredOutput", **given), stop="tool_calls")


def test_delivered_at_the_first_try_ends_the_turn() -> None:
    bench, ended = run(output(n=3))
    assert (ended.outcome, ended.text, ended.structured_output, ended.stop_reason) == (
        "success",
        '{"n":3}',
        {"n": 3},
        "tool_use",
    )
    assert [spec.name for spec in bench.provider.requests[0].tools] == ["StructuredOutput"]
    assert bench.provider.requests[0].tools[0].schema == SCHEMA


def test_output_that_does_not_fit_is_sent_back() -> None:
    bench, ended = run(output(n="x"), output(n=1))
    wrong, right = bench.of(ToolFinished)
    assert wrong.result.is_error
    assert wrong.result.content == "Output does not match required schema: root.n: 'x' is not of type 'integer'"
    assert right.result.content == "Structured output provided successfully"
    assert ended.structured_output == {"n": 1}


def test_regular_expressions_are_checked() -> None:
    schema = {**SCHEMA, "properties": {"n": {"type": "string", "pattern": "^(a+)+$"}}}
    bench, ended = run(output(n="b"), output(n="aa"), schema=schema)
    wrong, right = (event.result.content for event in bench.of(ToolFinished))
    assert wrong == "Output does not match required schema: root.n: 'b' does not match '^(a+)+$'"
    assert right == "Structured output provided successfully"
    assert ended.structured_output == {"n": "aa"}


def test_a_regular_expression_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_process, "SECONDS", 0.5)
    problems = schema_process.problems_by_process({"pattern": "^(a+)+$"}, "a" * 60 + "!", CancelSignal())
    assert problems == ["root: the regular expressions of the schema took more than 0.5 s for it"]


def test_an_interrupt_ends_the_check() -> None:
    cancel = CancelSignal()
    threading.Timer(0.5, cancel.set).start()
    with pytest.raises(Cancelled):
        schema_process.problems_by_process({"pattern": "^(a+)+$"}, "a" * 60 + "!", cancel)


def test_it_gives_up_after_five_tries() -> None:
    bench, ended = run(*[output(m=n) for n in range(9)])
    assert (ended.outcome, ended.limit, ended.structured_output) == ("structured_output_retries", "5", None)
    assert len(bench.of(ToolFinished)) == MAX_TRIES


def test_a_missing_output_is_asked_for_once() -> None:
    bench, ended = run(answer(says("Three.")), output(n=3))
    assert bench.of(NoteAdded) == [NoteAdded(NUDGE)]
    assert ended.structured_output == {"n": 3}
    bench, ended = run(answer(says("Three.")), answer(says("Still three.")))
    assert (ended.outcome, ended.text, ended.structured_output) == ("success", "Still three.", None)


def test_schemas_of_other_types_than_object_are_wrapped() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    _, ended = run(output(output=[1, 2]), schema=schema)
    assert ended.structured_output == [1, 2]
    assert StructuredOutput(schema).spec.schema["required"] == ["output"]
