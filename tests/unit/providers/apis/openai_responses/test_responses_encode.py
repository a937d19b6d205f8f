"""The input is legal for any history."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from yume_shim.providers.apis.openai_responses import API, encode_messages, encode_request
from yume_shim.types.blocks import Message, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.models import Endpoint, ModelSpec, Quirks, Request

ENDPOINT = Endpoint("somebody", API, "http://127.0.0.1:1/v1")
MODEL = ModelSpec("m", ENDPOINT)
ASSISTANT = st.one_of(
    st.sampled_from(["", " ", "said"]).map(Text),
    st.sampled_from([{}, {API: {"encrypted_content": "blob", "summary": []}}]).map(lambda o: Thinking("t", opaque=o)),
    st.integers(0, 5).map(lambda n: ToolCall(f"call_{n}", "LS", {})),
    st.sampled_from([API, "anthropic-messages"]).map(lambda api: Other(api, {"type": "web_search_call", "id": "ws_1"})),
)
MESSAGES = st.lists(
    st.one_of(
        st.builds(
            Message,
            st.just("assistant"),
            st.lists(ASSISTANT, max_size=6).map(tuple),
            st.sampled_from([MODEL.origin, "x/y"]),
        ),
        st.builds(Message, st.just("user"), st.lists(st.sampled_from([Text("hi"), Text("")]), max_size=2).map(tuple)),
    ),
    max_size=6,
)


@given(MESSAGES)
def test_reasoning_is_never_last_never_alone_and_never_foreign(messages: list[Message]) -> None:
    items = encode_messages(Request(MODEL, tuple(messages)))
    for item, follower in zip(items, [*items[1:], {}], strict=False):
        if item.get("type") == "reasoning":
            assert follower.get("type") in ("reasoning", "message", "function_call", "web_search_call")
            assert set(item) == {"type", "summary", "encrypted_content"}
    assert not any(item.get("content") == [] for item in items)
    foreign = encode_messages(Request(ModelSpec("other", ENDPOINT), tuple(messages)))
    assert not any(item.get("type") == "reasoning" for item in foreign)


@given(MESSAGES, st.text(min_size=1).filter(str.strip))
def test_a_longer_history_extends_the_request(messages: list[Message], text: str) -> None:
    before = encode_messages(Request(MODEL, tuple(messages)))
    after = encode_messages(Request(MODEL, (*messages, Message("user", (Text(text),)))))
    assert after[:-1] == before


def test_a_refused_field_can_be_removed() -> None:
    quirks = Quirks(extra_body={"stream_options": None, "store": None, "truncation": "auto"})
    model = ModelSpec("m", Endpoint("somebody", API, "http://127.0.0.1:1/v1", quirks=quirks))
    body: dict[str, Any] = encode_request(Request(model, (), max_tokens=100)).body
    assert body == {"model": "m", "input": [], "stream": True, "max_output_tokens": 100, "truncation": "auto"}


def test_results_come_before_the_users_text() -> None:
    message = Message("user", (Text("And now?"), ToolResult("call_1", "done")))
    items = encode_messages(Request(MODEL, (Message("assistant", (ToolCall("call_1", "LS", {}),)), message)))
    assert [item.get("type") or item["role"] for item in items] == ["function_call", "function_call_output", "user"]
