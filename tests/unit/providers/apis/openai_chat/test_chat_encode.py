"""The messages are legal for any history."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from yume_shim.providers.apis.openai_chat import API, encode_messages, encode_request
from yume_shim.types.blocks import Image, Message, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.models import Endpoint, ModelSpec, Quirks, Request

QUIRKS = st.builds(
    Quirks,
    system_role=st.sampled_from(["system", "developer", "user"]),
    tool_result_name=st.booleans(),
    reasoning_echo=st.sampled_from(["", "reasoning_content", "reasoning_details"]),
    empty_content=st.sampled_from(["null", "empty", "omit"]),
    user_after_results=st.booleans(),
)
USER = st.one_of(st.sampled_from(["", "hi"]).map(Text), st.just(Image("image/png", "AAAA")))
SAID: list[Text | Thinking] = [Text("a"), Text(" "), Thinking("t")]
CONTENT: list[str | tuple[Image, ...]] = ["text", (Image("image/png", "AAAA"),)]


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Legal histories: every call is answered by the next user message."""
    messages: list[Message] = []
    for turn in range(draw(st.integers(0, 4))):
        count = draw(st.integers(0, 2))
        calls = [ToolCall(f"call_{turn}_{n}", "LS", {}) for n in range(count)]
        said = draw(st.lists(st.sampled_from(SAID), max_size=3))
        content = draw(st.sampled_from(CONTENT))
        results = [ToolResult(call.id, content) for call in calls]
        messages.append(Message("user", tuple(draw(st.lists(USER, max_size=2)))))
        messages.append(Message("assistant", (*said, *calls), draw(st.sampled_from([f"{API}/m", "x/y"]))))
        messages.append(Message("user", (*results, *draw(st.lists(USER, max_size=1)))))
    return messages


def request(messages: list[Message], quirks: Quirks, *system: str) -> Request:
    return Request(
        ModelSpec("m", Endpoint("somebody", API, "http://127.0.0.1:1/v1", quirks=quirks)), tuple(messages), system
    )


@given(histories(), QUIRKS, st.sampled_from([(), ("Be brief.",)]))
def test_messages_are_legal(messages: list[Message], quirks: Quirks, system: tuple[str, ...]) -> None:
    encoded = encode_messages(request(messages, quirks, *system))
    before: dict[str, object] = {}
    for message in encoded:
        role = message["role"]
        assert message.get("content") or message.get("tool_calls"), "no empty messages"
        if role == "tool":
            assert isinstance(message["content"], str)
            assert before["role"] == "tool" or before.get("tool_calls")
            assert ("name" in message) == quirks.tool_result_name
        if role == "user":
            assert before.get("role") != "user"
            assert quirks.user_after_results or before.get("role") != "tool"
        if role == "assistant" and message.get("tool_calls") and quirks.reasoning_echo == "reasoning_content":
            assert isinstance(message["reasoning_content"], str)
        before = message


@given(histories(), QUIRKS)
def test_a_longer_history_extends_the_request(messages: list[Message], quirks: Quirks) -> None:
    more = [*messages, Message("assistant", (Text("a"),)), Message("user", (Text("b"),))]
    before = encode_messages(request(messages, quirks, "Be brief."))
    assert encode_messages(request(more, quirks, "Be brief."))[: len(before)] == before


def test_the_plainest_body() -> None:
    wire = encode_request(request([Message("user", (Text("Hi"),))], Quirks(usage_in_stream=False)))
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True, "max_tokens": 8192}
    assert (wire.path, wire.body, dict(wire.headers)) == ("/chat/completions", body, {})
