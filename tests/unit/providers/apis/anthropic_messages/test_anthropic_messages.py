"""The Messages adapter beyond its goldens: rules that hold for every request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yume_shim.providers.apis.anthropic_messages import Decoder, auth_headers, encode_request, map_stop
from yume_shim.providers.apis.anthropic_messages.decode import map_usage
from yume_shim.text import codec
from yume_shim.types.blocks import Image, Message, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.models import Credential, Endpoint, ModelSpec, Quirks, Request, ToolSpec, Usage
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

ENDPOINT = Endpoint("p", "anthropic-messages", "http://127.0.0.1:1")
MODEL = ModelSpec("m", ENDPOINT, thinking="adaptive")
TOOL = ToolSpec("Read", "Reads.", {"type": "object", "properties": {}})

ids = st.text(max_size=8) | st.sampled_from(["call_0", "functions.x:0", "a|b", "x" * 90])
user_blocks = (
    st.builds(Text, st.text(max_size=5))
    | st.builds(ToolResult, ids, st.text(max_size=5), st.sampled_from([None, True, False]))
    | st.builds(Image, st.just("image/png"), st.just("aa"))
)
assistant_blocks = (
    st.builds(Text, st.text(max_size=5))
    | st.builds(Thinking, st.text(max_size=5))
    | st.builds(ToolCall, ids, st.text(max_size=80), st.just({}))
    | st.builds(Other, st.sampled_from(["anthropic-messages", "x"]), st.just({"type": "server_tool_use"}))
)
messages = st.lists(
    st.builds(Message, st.just("user"), st.lists(user_blocks, max_size=4).map(tuple))
    | st.builds(
        Message,
        st.just("assistant"),
        st.lists(assistant_blocks, max_size=4).map(tuple),
        st.sampled_from(["", MODEL.origin, "openai-chat/x"]),
    ),
    max_size=6,
).map(tuple)


def body(history: tuple[Message, ...], **more: Any) -> Json:
    return encode_request(Request(MODEL, history, system=("Be brief.",), tools=(TOOL,), **more)).body


def marks(item: Any) -> int:
    if isinstance(item, dict):
        return ("cache_control" in item) + sum(marks(part) for part in item.values())
    return sum(marks(part) for part in item) if isinstance(item, list) else 0


@given(messages)
def test_the_request_is_legal_for_any_history(history: tuple[Message, ...]) -> None:
    made = body(history)
    codec.dumps(made)
    assert marks(made) <= 4
    assert made["messages"]
    calls: list[str] = []
    for message in made["messages"]:
        assert message["content"]
        kinds = [block["type"] for block in message["content"]]
        results = kinds.count("tool_result")
        assert kinds[:results] == ["tool_result"] * results
        for block in message["content"]:
            if block["type"] == "text":
                assert block["text"].strip()
            if block["type"] == "tool_use":
                calls.append(block["id"])
            name = block.get("id") or block.get("tool_use_id") or "x"
            assert name.replace("_", "a").replace("-", "a").isalnum()
            assert name.isascii()
    assert len(calls) == len(set(calls))


@given(messages, messages)
def test_a_longer_history_begins_with_the_same_messages(first: tuple[Message, ...], more: tuple[Message, ...]) -> None:
    plain = replace(MODEL, endpoint=replace(ENDPOINT, quirks=Quirks(prompt_cache=False)))
    start = encode_request(Request(plain, (Message("user", (Text("x"),)), *first))).body["messages"]
    whole = encode_request(Request(plain, (Message("user", (Text("x"),)), *first, *more))).body["messages"]
    assert whole[: len(start)] == start


@pytest.mark.parametrize(
    ("style", "known", "mode", "budget", "expected"),
    [
        ("adaptive", True, "default", None, {"type": "adaptive"}),
        ("adaptive", True, "enabled", 5_000, {"type": "adaptive"}),
        ("adaptive", True, "disabled", None, {"type": "disabled"}),
        ("adaptive", True, "default", 0, {"type": "disabled"}),
        ("budget", True, "default", None, None),
        ("budget", True, "default", 2_000, {"type": "enabled", "budget_tokens": 2_000}),
        ("budget", True, "enabled", None, {"type": "enabled", "budget_tokens": 4_096}),
        ("budget", True, "enabled", 99_999, {"type": "enabled", "budget_tokens": 8_191}),
        ("budget", True, "enabled", 500, None),
        ("budget", True, "disabled", 2_000, {"type": "disabled"}),
        ("", True, "enabled", 2_000, None),
        ("", False, "enabled", 2_000, {"type": "enabled", "budget_tokens": 2_000}),
        ("", False, "adaptive", None, {"type": "adaptive"}),
        ("", False, "default", None, None),
        ("", False, "disabled", None, None),
    ],
)
def test_thinking(style: str, known: bool, mode: Any, budget: int | None, expected: Json | None) -> None:
    spec = replace(MODEL, thinking=style, known=known)
    request = Request(spec, (Message("user", (Text("x"),)),), thinking=mode, thinking_budget=budget)
    assert encode_request(request).body.get("thinking") == expected


@pytest.mark.parametrize(
    ("style", "choice", "expected"),
    [
        ("adaptive", "auto", None),
        ("adaptive", "none", {"type": "none"}),
        ("adaptive", "Read", None),
        ("", "Read", {"type": "tool", "name": "Read"}),
    ],
)
def test_tool_choice(style: str, choice: str, expected: Json | None) -> None:
    request = Request(replace(MODEL, thinking=style), (), tools=(TOOL,), tool_choice=choice)
    assert encode_request(request).body.get("tool_choice") == expected
    assert "tool_choice" not in encode_request(replace(request, tools=())).body


def test_names_that_would_become_equal_stay_different() -> None:
    tools = tuple(
        ToolSpec(name, "", {"type": "object"}) for name in ("a.b", "a/b", "a_b", "x" * 90, "x" * 140, "x" * 150)
    )
    made = encode_request(Request(MODEL, (), tools=tools)).body["tools"]
    assert [tool["name"] for tool in made] == ["a_b", "a_b_2", "a_b_3", "x" * 90, "x" * 128, "x" * 126 + "_2"]


def test_headers() -> None:
    assert auth_headers(Credential("k", "key", "")) == {"x-api-key": "k"}
    assert auth_headers(Credential("k", "token", "")) == {"Authorization": "Bearer k"}
    assert auth_headers(Credential("", "none", "")) == {}


def test_stops() -> None:
    assert map_stop("end_turn", calls=True) == ("tool_calls", "tool_use")
    assert map_stop("", calls=False) == ("end", "end_turn")
    assert map_stop("max_tokens", calls=True) == ("length", "max_tokens")


def test_invalid_counts_are_zero() -> None:
    usage = {
        "input_tokens": "12",
        "output_tokens": 3,
        "cache_creation": [],
        "server_tool_use": {"web_search_requests": "x"},
    }
    assert map_usage(usage) == Usage(output=3)


def test_frames_after_the_end_are_ignored() -> None:
    decoder = Decoder(Request(MODEL, ()), {}, lambda: "call_1")
    assert len(decoder.feed({"type": "message_stop"})) == 2
    for frame in (
        {"type": "message_stop"},
        {"type": "error", "error": {}},
        {"type": "message_start", "message": {"id": "b"}},
    ):
        assert decoder.feed(frame) == []
