"""The Gemini decoder beyond its goldens: signatures that come alone, odd shapes, stop reasons and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import FakeIds
from yume_shim.providers.apis import google_genai
from yume_shim.types.blocks import Text, Thinking, ToolCall
from yume_shim.types.events import BlockEnded, BlockStarted, ResponseEnded, ResponseFailed, ResponseStarted
from yume_shim.types.models import Endpoint, ModelSpec, Request, ToolSpec, Usage

if TYPE_CHECKING:
    from yume_shim.types.blocks import Block, Json
    from yume_shim.types.events import ModelEvent

LONG = "mcp__server__" + "x" * 80


def decode(*frames: Json) -> list[ModelEvent]:
    model = ModelSpec("gemini-3.5-flash", Endpoint("google", google_genai.API, "http://127.0.0.1:1"))
    tools = (ToolSpec(LONG, "", {}),)
    decoder = google_genai.Decoder(Request(model, (), tools=tools), {}, FakeIds().call_id)
    return [event for frame in frames for event in decoder.feed(frame)] + decoder.finish()


def parts(*found: Json, reason: str = "") -> Json:
    candidate: Json = {"content": {"parts": list(found)}}
    return {"candidates": [candidate | ({"finishReason": reason} if reason else {})]}


def blocks(events: list[ModelEvent]) -> list[Block]:
    return [event.block for event in events if isinstance(event, BlockEnded)]


def signed(**private: Any) -> dict[str, Any]:
    return {google_genai.API: private}


def test_a_lone_signature_waits_for_the_next_block() -> None:
    alone = {"text": "", "thoughtSignature": "s1"}
    text = decode(parts(alone), parts({"text": "Hi"}), parts({"text": "!"}, reason="STOP"))
    call = decode(parts({"thoughtSignature": "s1"}), parts({"functionCall": {"name": "LS"}}, reason="STOP"))
    assert blocks(text) == [Text("Hi!", signed(signature="s1"))]
    assert blocks(call) == [ToolCall("call_000001", "LS", {}, None, signed(signature="s1"))]


def test_a_lone_signature_stays_with_the_thought_before_it() -> None:
    events = decode(parts({"text": "Hm", "thought": True}), parts({"thoughtSignature": "s1"}, reason="STOP"))
    assert blocks(events) == [Thinking("Hm", opaque=signed(signature="s1"))]


def test_a_signed_part_of_a_block_is_remembered() -> None:
    middle = {"text": "b", "thoughtSignature": "s1"}
    assert blocks(decode(parts({"text": "a"}), parts(middle), parts({"text": "c"}, reason="STOP"))) == [
        Text("abc", signed(signature="s1", span=[1, 2]))
    ]


def test_a_second_signature_begins_a_second_block() -> None:
    first, second = ({"text": name, "thoughtSignature": name} for name in "ab")
    assert blocks(decode(parts(first), parts(second, reason="STOP"))) == [
        Text("a", signed(signature="a")),
        Text("b", signed(signature="b")),
    ]


def test_shortened_names_are_mapped_back() -> None:
    from yume_shim.providers.apis.google_genai.encode import wire_name

    events = decode(parts({"functionCall": {"name": wire_name(LONG), "args": {}}}, reason="STOP"))
    assert blocks(events) == [ToolCall("call_000001", LONG, {})]


@pytest.mark.parametrize(
    ("reason", "calls", "count", "ending"),
    [
        ("STOP", 0, 1, ("end", "end_turn")),
        ("STOP", 1, 1, ("tool_calls", "tool_use")),
        ("STOP", 0, 0, ("end", "end_turn")),
        ("MAX_TOKENS", 1, 1, ("length", "max_tokens")),
        ("SAFETY", 0, 0, ("refusal", "refusal")),
        ("RECITATION", 0, 1, ("refusal", "refusal")),
        ("IMAGE_SAFETY", 0, 1, ("refusal", "refusal")),
        ("CONTINUATION", 0, 1, ("pause", "pause_turn")),
        ("MALFORMED_FUNCTION_CALL", 1, 2, None),
        ("UNEXPECTED_TOOL_CALL", 0, 1, None),
        ("UNEXPECTED_TOOL_CALL", 1, 1, ("tool_calls", "tool_use")),
        ("OTHER", 0, 0, None),
        ("OTHER", 0, 1, ("end", "end_turn")),
        ("SOMETHING_NEW", 1, 1, ("tool_calls", "tool_use")),
    ],
)
def test_map_stop(reason: str, calls: int, count: int, ending: tuple[str, str] | None) -> None:
    assert google_genai.map_stop(reason, calls, count) == ending


def test_map_usage() -> None:
    usage = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 60,
        "toolUsePromptTokenCount": 5,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": 11,
    }
    assert google_genai.map_usage(usage) == Usage(input=45, output=18, cache_read=60, reasoning=11)
    assert google_genai.map_usage({"cachedContentTokenCount": 60}) == Usage(cache_read=60)
    assert google_genai.map_usage({}) == Usage()


def test_after_an_error_nothing_more_comes() -> None:
    events = decode(
        {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}, parts({"text": "x"})
    )
    assert len(events) == 1
    assert isinstance(events[0], ResponseFailed)
    assert (events[0].failure.kind, events[0].failure.retryable) == ("rate_limit", True)


def test_a_prompt_block_after_text_is_a_refusal() -> None:
    events = decode(parts({"text": "a"}), {"promptFeedback": {"blockReason": "SAFETY"}})
    assert events[-1] == ResponseEnded("refusal", "refusal", Usage(), usage_given=False, detail="SAFETY")


def test_other_candidates_are_ignored() -> None:
    events = decode(
        {"candidates": [{"index": 1, "content": {"parts": [{"text": "b"}]}}]}, parts({"text": "a"}, reason="STOP")
    )
    assert blocks(events) == [Text("a")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
CALL = st.fixed_dictionaries(
    {}, optional={"name": JSON, "args": JSON, "id": JSON, "partialArgs": JSON, "willContinue": JSON}
)
PART = st.fixed_dictionaries(
    {}, optional={"text": JSON, "thought": JSON, "thoughtSignature": JSON, "functionCall": CALL | JSON}
)
CANDIDATE = st.fixed_dictionaries(
    {}, optional={"content": st.fixed_dictionaries({"parts": st.lists(PART | JSON, max_size=4) | JSON}) | JSON}
)
FRAME = st.fixed_dictionaries(
    {}, optional={"candidates": st.lists(CANDIDATE | JSON, max_size=2) | JSON, "usageMetadata": JSON}
)


@given(st.lists(FRAME, max_size=5))
def test_no_frame_makes_the_decoder_raise(frames: list[Json]) -> None:
    """Whatever comes: one start first, one end last, every block that starts ends, one at a time, in order."""
    events = decode(*frames, parts(reason="STOP"))
    assert isinstance(events[0], ResponseStarted)
    assert isinstance(events[-1], ResponseEnded)
    opened = [event.index for event in events if isinstance(event, BlockStarted)]
    closed = [event.index for event in events if isinstance(event, BlockEnded)]
    assert opened == closed == list(range(len(opened)))
