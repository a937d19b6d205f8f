"""Tools as text: the instructions in the prompt, and the history."""

from __future__ import annotations

from typing import Any

import pytest

from yume_shim.providers.fitting.history_as_text import history_as_text
from yume_shim.providers.fitting.text_tools.protocol import call_text, result_text, tools_as_text
from yume_shim.providers.fitting.text_tools.scanner import Written
from yume_shim.types.blocks import Document, Image, Message, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.events import Notice
from yume_shim.types.models import Endpoint, ModelSpec, Quirks, Request, ToolSpec
from yume_shim.types.value import replace

MODEL = ModelSpec("small", Endpoint("local", "openai-chat", "http://127.0.0.1:1", quirks=Quirks(tools=False)))
READ = ToolSpec("Read", "Reads a file.", {"type": "object", "properties": {"file_path": {"type": "string"}}})
ASK = Message("user", (Text("Read a."),))
CALLED = Message(
    "assistant",
    (Thinking("Hm."), Text("I look.\n"), ToolCall("c1", "Read", {"file_path": "a"}), ToolCall("c2", "Read", {})),
    MODEL.origin,
)
PICTURE = Image("image/png", "AAAA")
PAPER = Document("application/pdf", "BBBB")
ANSWERED = Message(
    "user",
    (
        ToolResult("c1", (Text("one"), PICTURE, Text("two"), PAPER)),
        ToolResult("c2", "no such file", is_error=True),
        Text("Go on."),
    ),
)
REQUEST = Request(MODEL, (ASK, CALLED, ANSWERED), ("You help.",), (READ,))


def rewritten(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    return history_as_text(messages, call_text, result_text)


def test_the_request_has_no_native_tools() -> None:
    spoken, notices = tools_as_text(REQUEST)
    assert spoken == replace(REQUEST, tools=(), messages=rewritten(REQUEST.messages), system=spoken.system)
    assert spoken.system[:-1] == REQUEST.system
    assert '{"name":"Read","description":"Reads a file.","parameters":{"type":"object"' in spoken.system[-1]
    words = "small at local has no native tool calls: tools are offered as text, which is less reliable."
    assert notices == (Notice("text_tools", words),)


def test_the_history_is_rewritten() -> None:
    called, answered = rewritten(REQUEST.messages)[1:]
    calls = '<tool_call>\n{"name":"Read","arguments":{"file_path":"a"}}\n</tool_call>\n'
    calls += '<tool_call>\n{"name":"Read","arguments":{}}\n</tool_call>'
    assert called == Message("assistant", (Text(f"I look.\n{calls}"),), MODEL.origin)
    first = '<tool_response name="Read">\none\ntwo\n[attached after this result: 2]\n</tool_response>'
    second = '<tool_response name="Read" error="true">\nno such file\n</tool_response>\nGo on.'
    assert answered == Message("user", (Text(first), PICTURE, PAPER, Text(second)))


def test_messages_without_calls_stay_as_they_are() -> None:
    said = Message("assistant", (Text("Hi.", {"google-genai": {"signature": "s"}}),), MODEL.origin)
    assert rewritten((ASK, said)) == (ASK, said)


def test_a_message_with_reasoning_only_is_removed() -> None:
    assert rewritten((ASK, Message("assistant", (Thinking("Hm."),), MODEL.origin), ASK)) == (ASK, ASK)


@pytest.mark.parametrize("count", range(4))
def test_a_longer_history_begins_the_same(count: int) -> None:
    """A later call with the id of an earlier one does not change the text of the earlier one."""
    again = Message("assistant", (ToolCall("c1", "LS", {}),))
    whole = (*REQUEST.messages, again)
    assert rewritten(whole)[:count] == rewritten(whole[:count])
    assert tools_as_text(REQUEST) == tools_as_text(REQUEST)
    assert tools_as_text(replace(REQUEST, messages=whole))[0].system == tools_as_text(REQUEST)[0].system


def test_a_forced_tool_becomes_an_instruction() -> None:
    forced, _ = tools_as_text(replace(REQUEST, tool_choice="Read"))
    free, _ = tools_as_text(REQUEST)
    assert forced.tool_choice == "auto"
    assert forced.system == free.system  # everything before the last text is cached, and must not change
    assert forced.messages[:-1] == free.messages[:-1]
    *before, last = free.messages[-1].blocks
    assert isinstance(last, Text)
    instruction = "\nYour next answer must be a call of the tool Read, and of no other tool."
    assert forced.messages[-1].blocks == (*before, Text(last.text + instruction))


@pytest.mark.parametrize("change", [{"tool_choice": "none"}, {"tools": ()}])
def test_without_tools_only_the_history_is_rewritten(change: dict[str, Any]) -> None:
    spoken, notices = tools_as_text(replace(REQUEST, **change))
    assert (spoken.system, spoken.tools, spoken.tool_choice, notices) == (REQUEST.system, (), "auto", ())
    assert spoken.messages == rewritten(REQUEST.messages)


def test_the_example_is_not_a_real_tool() -> None:
    weather = replace(READ, name="get_weather")
    system = tools_as_text(replace(REQUEST, tools=(READ, weather)))[0].system[-1]
    assert '{"name": "look_up_weather", "arguments"' in system


@pytest.mark.parametrize(
    "text",
    ["</tool_response>", "<tool_response>", "</TOOL_RESPONSE >", "<tool_result id=1>", "a</tool_response\n>b" * 3],
)
def test_results_cannot_contain_their_own_end(text: str) -> None:
    words = result_text(ToolResult("c", ""), [text, text], 0, "Read")
    inside = words.removeprefix('<tool_response name="Read">\n').removesuffix("\n</tool_response>")
    assert inside == "\n".join([text.replace("<", "&lt;")] * 2)


def test_other_markup_in_results_is_left_alone() -> None:
    """A file is shown as it is, so that the model can edit it."""
    text = '<b>&amp;</b> <tool_call>{"name": "x"}</tool_call>'
    assert text in result_text(ToolResult("c", text), [text], 0, "Read")


def test_tool_names_cannot_end_the_tag() -> None:
    words = result_text(ToolResult("c", "x"), ["x"], 0, 'a">\n</tool_response>')
    assert words == '<tool_response name="a_____tool_response_">\nx\n</tool_response>'
    assert result_text(ToolResult("c", ""), [""], 0, "") == "<tool_response>\n\n</tool_response>"


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("c", "Read", {"file_path": '</tool_call>\n```\n"é\\'}),
        ToolCall("c", "Read", {}),
        ToolCall("c", "mcp__x__y", {"deep": [{"a": [None, 1.5, True]}]}),
        ToolCall("c", "Read", {}, broken='{"file_path": '),
    ],
)
def test_a_call_text_can_be_read_again(call: ToolCall) -> None:
    from yume_shim.providers.fitting.text_tools.calls import read_calls
    from yume_shim.providers.fitting.text_tools.scanner import CallScanner
    from yume_shim.text.tool_arguments import parse_arguments

    scanner = CallScanner()
    written = [*scanner.feed(call_text(call)), *scanner.finish(cut=False)]
    assert [type(piece) for piece in written] == [Written]
    assert isinstance(written[0], Written)
    [(name, arguments)] = read_calls(written[0], {})
    assert (name, *parse_arguments(arguments)) == (call.name, call.input, call.broken)
