"""The messages are legal for any history; and the other fields of a request."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.api_rules import broken_rules
from yume_shim.providers.apis.ollama_chat import API, auth_headers, encode_request
from yume_shim.types.blocks import Document, Image, Message, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.models import Credential, Endpoint, ModelSpec, Quirks, Request, ToolSpec

LS = ToolSpec("LS", "Lists.", {"type": "object"})
READ = ToolSpec("Read", "Reads.", {"type": "object"})
PICTURE = Image("image/png", "AAAA")
FAR = Image("", "", "https://example.com/a.png")
PAPER = Document("application/pdf", "JVBERi0=", "plan.pdf")
USER: list[Text | Image | Document] = [Text(""), Text("hi"), PICTURE, FAR, PAPER]
SAID: list[Text | Thinking | Other] = [Text("a"), Text(" "), Thinking("t"), Other("anthropic-messages", {"type": "x"})]
CONTENT: list[str | tuple[Text | Image | Document, ...]] = ["text", "", (PICTURE,), (Text("see"), FAR, PAPER)]


def body(*messages: Message, quirks: Quirks | None = None, thinks: str = "", **more: Any) -> dict[str, Any]:
    endpoint = Endpoint("local", API, "http://127.0.0.1:1", quirks=quirks or Quirks())
    return encode_request(Request(ModelSpec("m", endpoint, thinking=thinks), messages, **more)).body


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Legal histories: every call is answered by the next user message, and no message is empty."""
    messages: list[Message] = [Message("user", (Text("begin"),))]
    for turn in range(draw(st.integers(0, 4))):
        calls = [ToolCall(f"call_{turn}_{n}", "LS", {"n": n}) for n in range(draw(st.integers(0, 2)))]
        said = draw(st.lists(st.sampled_from(SAID), max_size=3))
        results = [ToolResult(call.id, draw(st.sampled_from(CONTENT))) for call in calls]
        messages.append(Message("assistant", (*said, *calls), draw(st.sampled_from([f"{API}/m", "x/y"]))))
        messages.append(Message("user", (*results, *draw(st.lists(st.sampled_from(USER), max_size=2)))))
    return messages


@given(histories(), st.booleans())
def test_messages_are_legal(messages: list[Message], documents: bool) -> None:
    assert broken_rules(API, body(*messages, quirks=Quirks(documents=documents), tools=(LS,))) == []


def test_a_broken_call_is_sent_as_an_object() -> None:
    call = ToolCall("c", "LS", {}, broken='{"a')
    assert body(Message("assistant", (call,)))["messages"][0]["tool_calls"][0]["function"] == {
        "name": "LS",
        "arguments": {"invalid_json": '{"a'},
    }


@pytest.mark.parametrize(("choice", "offered"), [("auto", ["LS", "Read"]), ("none", []), ("Read", ["LS", "Read"])])
def test_a_choice_becomes_an_instruction(choice: str, offered: list[str]) -> None:
    made = body(Message("user", (Text("x"),)), tools=(LS, READ), tool_choice=choice)
    assert "tool_choice" not in made
    assert [tool["function"]["name"] for tool in made.get("tools", [])] == offered
    assert ("a call of the tool Read" in made["messages"][-1]["content"]) == (choice == "Read")


@pytest.mark.parametrize(
    ("thinks", "asked", "sent"),
    [
        ("", {}, None),
        ("", {"thinking": "enabled"}, None),
        ("", {"thinking": "disabled"}, False),
        ("adaptive", {}, True),
        ("adaptive", {"effort": "low"}, True),
        ("adaptive", {"thinking": "disabled"}, False),
        ("effort", {}, None),
        ("effort", {"effort": "medium"}, "medium"),
        ("level", {"effort": "xhigh"}, "high"),
        ("level", {"thinking": "disabled", "effort": "high"}, "low"),
    ],
)
def test_thinking(thinks: str, asked: dict[str, Any], sent: object) -> None:
    made = body(Message("user", (Text("x"),)), thinks=thinks, **asked)
    assert made.get("think") == sent
    assert ("think" in made) == (sent is not None)


def test_an_endpoint_that_refuses_thinking_gets_no_think_field() -> None:
    assert "think" not in body(Message("user", (Text("x"),)), thinks="adaptive", quirks=Quirks(thinking=False))


def test_keys_are_bearer_tokens() -> None:
    assert auth_headers(Credential("k", "key", "env")) == {"Authorization": "Bearer k"}
    assert auth_headers(Credential("", "none", "none")) == {}
