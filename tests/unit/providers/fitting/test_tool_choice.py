"""Tool choice in every API: one tool, none, or free; forced where that is allowed."""

from __future__ import annotations

from typing import Any

import pytest

from yume_shim.providers.fitting.tool_choice import INSTRUCTION, settle_choice
from yume_shim.providers.load import load_adapter
from yume_shim.types.blocks import Message, Text, ToolCall, ToolResult
from yume_shim.types.models import Endpoint, ModelSpec, Quirks, Request, ToolSpec

ODD = "mcp.server/look up"
TOOLS = tuple(ToolSpec(name, "", {"type": "object", "properties": {}}) for name in ("Read", ODD))
HI = (Message("user", (Text("x"),)),)
APIS = ("anthropic-messages", "openai-chat", "openai-responses", "google-genai", "ollama-chat")


def request(api: str = "openai-chat", quirks: Any = None, model: Any = None, **settings: Any) -> Request:
    endpoint = Endpoint("acme", api, "http://127.0.0.1:1", quirks=Quirks(**(quirks or {})))
    spec = ModelSpec("m", endpoint, **(model or {}))
    return Request(spec, settings.pop("messages", HI), **{"tools": TOOLS, **settings})


def choice_of(api: str, body: Any) -> Any:
    if api == "google-genai":
        return body.get("toolConfig", {}).get("functionCallingConfig")
    return body.get("tool_choice")


@pytest.mark.parametrize(
    ("api", "none", "named"),
    [
        ("anthropic-messages", {"type": "none"}, {"type": "tool", "name": "Read"}),
        ("openai-chat", "none", {"type": "function", "function": {"name": "Read"}}),
        ("openai-responses", "none", {"type": "function", "name": "Read"}),
        ("google-genai", {"mode": "NONE"}, {"mode": "ANY", "allowedFunctionNames": ["Read"]}),
    ],
)
def test_three_choices(api: str, none: Any, named: Any) -> None:
    encode = load_adapter(api).encode_request
    assert choice_of(api, encode(request(api)).body) is None
    assert choice_of(api, encode(request(api, tool_choice="none")).body) == none
    assert choice_of(api, encode(request(api, tool_choice="Read")).body) == named
    assert choice_of(api, encode(request(api, tool_choice="none", tools=())).body) is None


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("quirks", "model"), [({"forced_choice": False}, {}), ({}, {"forced_choice": False})])
def test_where_forcing_is_refused_an_instruction_has_the_wire_name(api: str, quirks: Any, model: Any) -> None:
    encode = load_adapter(api).encode_request
    body = encode(request(api, quirks, model, tool_choice=ODD)).body
    assert choice_of(api, body) is None
    named = repr(body).partition("a call of the tool ")[2].partition(", and of no other tool")[0]
    assert named
    assert f"'{named}'" in repr(body["tools"])


@pytest.mark.parametrize("settings", [{"thinking": "enabled", "thinking_budget": 2_000}, {"thinking": "adaptive"}])
def test_a_thinking_claude_gets_an_instruction(settings: Any) -> None:
    model = {"thinking": "budget" if "thinking_budget" in settings else "adaptive"}
    body = (
        load_adapter("anthropic-messages")
        .encode_request(request("anthropic-messages", model=model, tool_choice="Read", **settings))
        .body
    )
    assert "tool_choice" not in body
    assert body["thinking"]["type"] in ("enabled", "adaptive")
    assert body["messages"][-1]["content"][-1]["text"] == INSTRUCTION.format(name="Read")


def test_the_instruction_comes_last_so_that_everything_before_it_stays_cached() -> None:
    results = Message("user", (ToolResult("c1", "alpha"),))
    messages = (*HI, Message("assistant", (ToolCall("c1", "Read", {}),)), results)
    asked = request(messages=messages, system=("S",), tool_choice="Read")
    settled = settle_choice(asked, str.upper, forcing=False)
    assert settled.system == ("S",)
    assert settled.messages[:-1] == messages[:-1]
    assert settled.messages[-1].blocks == (*results.blocks, Text(INSTRUCTION.format(name="READ")))
    assert settled.tool_choice == "auto"
    alone = settle_choice(request(messages=(), tool_choice="Read"), str, forcing=False)
    assert alone.system == (INSTRUCTION.format(name="Read"),)


def test_an_unknown_tool_is_not_requested() -> None:
    assert settle_choice(request(tool_choice="Gone"), str) == request()
