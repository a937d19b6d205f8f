"""What each kind of request carries: sampling settings in a turn, none in a summary; the tool that must be called."""

from __future__ import annotations

from typing import Any

from tests.helpers.engine_fakes import SPEC, Bench, FunctionTools, ScriptedProvider, answer, calls, info, says
from yume_shim.engine.cancel import CancelSignal
from yume_shim.engine.conversation import Conversation
from yume_shim.engine.session import Session
from yume_shim.engine.structured import TOOL_NAME, StructuredOutput
from yume_shim.engine.turn import Turn
from yume_shim.types.blocks import Message, Text, ToolCall
from yume_shim.types.commands import Compact, EndOfInput, UserInput
from yume_shim.types.outputs import ToolContext
from yume_shim.types.value import replace

WARM = replace(SPEC, temperature=0.5, top_p=0.9, stop_sequences=("END",))
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def turn(bench: Bench, spec: Any = SPEC) -> None:
    conversation = Conversation(bench.services, spec, "s-1")
    conversation.history.append(Message("user", (Text("count"),)))
    Turn(bench.services, conversation, info(), CancelSignal(), lambda _: (), lambda: "user").run()


def test_sampling_settings_are_sent_in_a_turn_and_not_for_a_summary() -> None:
    bench = Bench(ScriptedProvider(answer(says("Hi.")), answer(says("<summary>\nSHORT\n</summary>"))))
    session = Session(bench.services, WARM, "s-1", lambda text: WARM, info)
    for given in (UserInput((Text("Hello."),), "Hello."), Compact(), EndOfInput()):
        session.submit(given)
    session.run()
    asked = [(r.temperature, r.top_p, r.stop_sequences, r.tool_choice) for r in bench.provider.requests]
    assert asked == [(0.5, 0.9, ("END",), "auto"), (None, None, (), "none")]


def test_structured_output_is_forced_after_an_answer_without_it() -> None:
    output = answer(calls("c1", TOOL_NAME, n=3), stop="tool_calls")
    tools = FunctionTools(Read=lambda given, context: "x")
    bench = Bench(ScriptedProvider(answer(says("Three.")), output), tools=tools, json_schema=SCHEMA)
    turn(bench)
    assert [request.tool_choice for request in bench.provider.requests] == ["auto", TOOL_NAME]


def test_structured_output_is_forced_at_once_if_there_is_no_other_tool() -> None:
    bench = Bench(ScriptedProvider(answer(calls("c1", TOOL_NAME, n=3), stop="tool_calls")), json_schema=SCHEMA)
    turn(bench)
    assert [request.tool_choice for request in bench.provider.requests] == [TOOL_NAME]


def test_schema_defaults_are_filled_in_if_the_output_does_not_fit_without_them() -> None:
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "default": 1},
            "where": {"type": "object", "properties": {"x": {"type": "integer", "default": 2}}, "required": ["x"]},
            "free": {"type": "string", "default": "word"},
        },
        "required": ["n", "where"],
    }
    structured = StructuredOutput(schema)
    _deliver(structured, {"where": {}})
    assert structured.value == {"n": 1, "where": {"x": 2}, "free": "word"}
    fitting = StructuredOutput(schema)
    _deliver(fitting, {"n": 5, "where": {"x": 1}})
    assert fitting.value == {"n": 5, "where": {"x": 1}}


def _deliver(structured: StructuredOutput, given: dict[str, Any]) -> None:
    prepared = structured.prepare(ToolCall("c1", TOOL_NAME, given), structured.spec)
    structured.run(prepared, ToolContext("c1", CancelSignal()))
