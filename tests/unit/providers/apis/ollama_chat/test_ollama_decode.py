"""Lines that no golden shows."""

from __future__ import annotations

import pytest

from tests.helpers.fakes import FakeIds
from yume_shim.providers.apis.ollama_chat import Decoder, map_stop, map_usage
from yume_shim.types.blocks import Message, Text, ToolCall
from yume_shim.types.events import BlockEnded, ResponseEnded, ResponseFailed
from yume_shim.types.models import Endpoint, ModelSpec, Request, ToolSpec, Usage

MODEL = ModelSpec("m", Endpoint("local", "ollama-chat", "http://127.0.0.1:1"))
ODD = ToolSpec("mcp.far:away", "", {})
REQUEST = Request(MODEL, (Message("assistant", (ToolCall("call_0", "LS", {}),)),), tools=(ODD,))


def decoder() -> Decoder:
    return Decoder(REQUEST, {}, FakeIds().call_id)


@pytest.mark.parametrize(
    ("word", "calls", "stop"),
    [
        ("stop", False, ("end", "end_turn")),
        ("", False, ("end", "end_turn")),
        ("stop", True, ("tool_calls", "tool_use")),
        ("length", True, ("length", "max_tokens")),
        ("length", False, ("length", "max_tokens")),
        ("unload", False, ("other", "unload")),
        ("something new", False, ("other", "something new")),
    ],
)
def test_stops(word: str, calls: bool, stop: tuple[str, str]) -> None:
    assert map_stop(word, calls=calls) == stop


def test_usage() -> None:
    assert map_usage({"prompt_eval_count": 10, "eval_count": 3}) == Usage(10, 3)
    assert map_usage({"prompt_eval_count": 10, "prompt_eval_cached_count": 12}) == Usage(0, 0, 12)
    assert map_usage({"prompt_eval_count": None}) == Usage()


def test_a_repeated_id_is_replaced_and_kept_to_be_sent_back() -> None:
    call = {"id": "call_0", "function": {"name": "mcp_far_away_x", "arguments": {"n": 1}}}
    events = decoder().feed({"message": {"tool_calls": [call]}, "done": False})
    assert events[-1] == BlockEnded(
        0, ToolCall("call_000002", "mcp_far_away_x", {"n": 1}, opaque={"ollama-chat": {"id": "call_0"}})
    )


def test_a_changed_name_is_mapped_back() -> None:
    from yume_shim.providers.wire.openai_tools import wire_name

    call = {"function": {"name": wire_name(ODD.name), "arguments": {}}}
    *_, ended = decoder().feed({"message": {"tool_calls": [call]}})
    assert isinstance(ended, BlockEnded)
    assert isinstance(ended.block, ToolCall)
    assert ended.block.name == ODD.name


def test_nothing_comes_after_the_end() -> None:
    made = decoder()
    assert isinstance(made.feed({"message": {"content": "x"}, "done": True})[-1], ResponseEnded)
    assert made.feed({"message": {"content": "y"}}) == []
    assert made.finish() == []


def test_nothing_comes_after_a_failure() -> None:
    made = decoder()
    (failed,) = made.feed({"error": "out of memory"})
    assert isinstance(failed, ResponseFailed)
    assert made.feed({"message": {"content": "y"}, "done": True}) == made.finish() == []


def test_no_line_is_an_interrupted_answer() -> None:
    (failed,) = decoder().finish()
    assert isinstance(failed, ResponseFailed)
    assert failed.failure.kind == "stream_interrupted"


def test_odd_shapes_do_no_harm() -> None:
    made = decoder()
    assert len(made.feed({"message": None})) == 1
    assert made.feed({"message": {"content": None, "tool_calls": None, "thinking": None}}) == []
    assert made.feed({}) == []


def test_text_is_not_joined_over_a_call() -> None:
    made = decoder()
    lines = [{"content": "a"}, {"tool_calls": [{"function": {"name": "LS"}}]}, {"content": "b"}]
    events = [event for line in lines for event in made.feed({"message": line})]
    events += made.feed({"done": True})
    ended = [event.block for event in events if isinstance(event, BlockEnded)]
    assert ended == [Text("a"), ToolCall("call_000002", "LS", {}), Text("b")]
