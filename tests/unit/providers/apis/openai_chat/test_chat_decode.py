"""Chat chunks in any order and dialect: the blocks are the intended ones."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import FakeIds
from yume_shim.providers.apis.openai_chat import API, Decoder, map_stop, map_usage
from yume_shim.types.blocks import Message, Text, Thinking, ToolCall
from yume_shim.types.events import BlockDelta, BlockEnded, BlockStarted, ResponseEnded, ResponseFailed, ResponseStarted
from yume_shim.types.models import Endpoint, ModelSpec, Request, Usage

REQUEST = Request(ModelSpec("m", Endpoint("somebody", API, "http://127.0.0.1:1/v1")), (Message("user", (Text("Hi"),)),))
ARGUMENTS = st.dictionaries(
    st.text(max_size=5), st.one_of(st.text(max_size=8), st.integers(-(2**53), 2**53), st.none()), max_size=3
)


def chunk(delta: Any = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "c1", "model": "m-1", "choices": choices, **more}


def piece(
    index: int | None, call_id: Any = None, name: Any = None, arguments: Any = None, **more: Any
) -> dict[str, Any]:
    made: dict[str, Any] = {"function": {"name": name, "arguments": arguments}, **more}
    if index is not None:
        made["index"] = index
    if call_id is not None:
        made["id"] = call_id
    return {"tool_calls": [made]}


def run(*frames: Any) -> list[Any]:
    decoder = Decoder(REQUEST, {}, FakeIds().call_id)
    events = [event for frame in frames for event in decoder.feed(frame)]
    return events + decoder.finish()


def blocks(events: list[Any]) -> list[Any]:
    return [event.block for event in events if isinstance(event, BlockEnded)]


DONE = {"!done": True}


@given(st.lists(ARGUMENTS, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_calls_in_any_interleaving(inputs: list[dict[str, Any]], chance: random.Random) -> None:
    """Each call's pieces keep their order; the order of the calls is random."""
    waiting: list[list[dict[str, Any]]] = []
    for index, given_input in enumerate(inputs):
        text = json.dumps(given_input)
        cuts = sorted(chance.sample(range(len(text) + 1), k=min(2, len(text))))
        parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        first = piece(index, f"call_{index}", f"Tool{index}", "")
        waiting.append([first, *(piece(index, chance.choice(["", None]), "", part) for part in parts)])
    firsts = [queue.pop(0) for queue in waiting]
    frames = [chunk(first) for first in firsts]
    while any(waiting):
        frames.append(chunk(chance.choice([queue for queue in waiting if queue]).pop(0)))
    events = run(*frames, chunk({}, "tool_calls"), DONE)
    assert blocks(events) == [ToolCall(f"call_{i}", f"Tool{i}", given_input) for i, given_input in enumerate(inputs)]
    order = [event.index for event in events if isinstance(event, BlockStarted | BlockEnded)]
    assert order == [index for index in range(len(inputs)) for _ in range(2)]


@given(st.lists(st.tuples(st.sampled_from(["content", "reasoning"]), st.text(min_size=1, max_size=4)), max_size=12))
def test_text_and_thoughts_keep_their_order(said: list[tuple[str, str]]) -> None:
    events = run(*(chunk({field: text}) for field, text in said), chunk({}, "stop"))
    wanted: list[Text | Thinking] = []
    for field, text in said:
        kind = Text if field == "content" else Thinking
        if wanted and type(wanted[-1]) is kind:
            wanted[-1] = kind(wanted[-1].text + text)
        else:
            wanted.append(kind(text))
    assert blocks(events) == wanted
    assert "".join(event.text for event in events if isinstance(event, BlockDelta)) == "".join(text for _, text in said)


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        pytest.param(
            [piece(None, "a", "X", "{}"), piece(None, "b", "Y", "{}")],
            [ToolCall("a", "X", {}), ToolCall("b", "Y", {})],
            id="no index: the place in the list",
        ),
        pytest.param(
            [piece(0, None, "X", '{"a":1}'), piece(0, None, "X", '{"a":1}')],
            [ToolCall("call_000001", "X", {"a": 1}), ToolCall("call_000002", "X", {"a": 1})],
            id="equal calls without ids at one index stay two",
        ),
        pytest.param(
            [piece(0, "a", "X", '{"a":'), piece(0, "a", "X", "1}"), piece(0, "a", "X", ""), piece(0, "a", "X", None)],
            [ToolCall("a", "X", {"a": 1})],
            id="id and name in every piece",
        ),
        pytest.param(
            [piece(0, None, "X", ""), piece(0, "late", None, "{}")],
            [ToolCall("call_000001", "X", {})],
            id="an id after the block was shown does not make a second call",
        ),
        pytest.param(
            [piece(0, None, "X", "{}"), piece(0, "b", "Y", "{}")],
            [ToolCall("call_000001", "X", {}), ToolCall("b", "Y", {})],
            id="first without id, second with",
        ),
        pytest.param([piece(0, "a", None, "{}")], [ToolCall("a", "", {})], id="no name ever"),
        pytest.param(
            [piece(0, "a", None, '{"x":1}'), piece(0, "b", "Y", "{}")],
            [ToolCall("a", "", {"x": 1}), ToolCall("b", "Y", {})],
            id="no name, and the index is taken by another",
        ),
        pytest.param(
            [{"content": "Hm", **piece(0, "a", "X", "{}")}, {"content": "So"}, piece(0, None, None, "  ")],
            [Text("Hm"), ToolCall("a", "X", {}), Text("So")],
            id="text around a call",
        ),
        pytest.param(
            [piece(0, "a", "X", "{}", extra_content={"google": {"thought_signature": "s"}})],
            [ToolCall("a", "X", {}, opaque={API: {"extra_content": {"google": {"thought_signature": "s"}}}})],
            id="data that Gemini's compatible endpoint expects back",
        ),
    ],
)
def test_calls(deltas: list[Any], expected: list[Any]) -> None:
    events = run(*(chunk(delta) for delta in deltas), chunk({}, "stop"), DONE)
    assert blocks(events) == expected
    assert events[-1] == ResponseEnded("tool_calls", "tool_use", Usage(), usage_given=False)


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        pytest.param(
            [{"reasoning": "a", "reasoning_content": "a"}, {"content": "b"}],
            [Thinking("a"), Text("b")],
            id="the same thought in two fields",
        ),
        pytest.param(
            [{"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}, {"content": "b"}],
            [
                Thinking("", opaque={API: {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}}),
                Text("b"),
            ],
            id="hidden thoughts before the text",
        ),
        pytest.param(
            [{"content": "b"}, {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}],
            [Text("b", {API: {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}})],
            id="hidden thoughts after the text",
        ),
        pytest.param(
            [
                {"reasoning_details": [{"type": "reasoning.summary", "summary": "a", "index": 0}]},
                {"reasoning_details": [{"type": "reasoning.summary", "summary": "b", "index": 0, "id": None}]},
                {"reasoning_details": [{"type": "reasoning.summary", "summary": "c", "index": 1}]},
            ],
            [
                Thinking(
                    "abc",
                    opaque={
                        API: {
                            "reasoning_details": [
                                {"type": "reasoning.summary", "summary": "ab", "index": 0},
                                {"type": "reasoning.summary", "summary": "c", "index": 1},
                            ]
                        }
                    },
                )
            ],
            id="summaries are joined by index",
        ),
        pytest.param(
            [{"content": [{"type": "thinking", "thinking": "a"}, {"type": "x"}]}], [Thinking("a")], id="plain"
        ),
        pytest.param([{"content": {"odd": 1}}, {"reasoning": {"odd": 1}}, {"tool_calls": None}], [], id="odd shapes"),
    ],
)
def test_thoughts(deltas: list[Any], expected: list[Any]) -> None:
    assert blocks(run(*(chunk(delta) for delta in deltas), chunk({}, "stop"))) == expected


def test_nothing_comes_after_the_end() -> None:
    decoder = Decoder(REQUEST, {}, FakeIds().call_id)
    decoder.feed(chunk({"content": "x"}, "stop"))
    assert isinstance(decoder.feed(DONE)[-1], ResponseEnded)
    assert decoder.feed(chunk({"content": "y"})) + decoder.feed(DONE) + decoder.finish() == []


def test_an_error_ends_the_answer_even_after_its_finish_reason() -> None:
    events = run(chunk({"content": "x"}, "length"), chunk({"content": ""}, error={"code": 400, "message": "no"}), DONE)
    assert isinstance(events[-1], ResponseFailed)
    assert sum(isinstance(event, ResponseEnded | ResponseFailed) for event in events) == 1


@pytest.mark.parametrize(
    ("frame", "kind", "code"),
    [
        (chunk(error="Something broke"), "server", ""),
        (
            {"object": "error", "message": "too much", "type": "rate_limit_error", "code": None},
            "rate_limit",
            "rate_limit_error",
        ),
        (chunk({}, x_groq={"error": "over capacity"}), "server", ""),
        (chunk({}, "insufficient_system_resource"), "server", "insufficient_system_resource"),
    ],
)
def test_errors_in_a_stream(frame: Any, kind: str, code: str) -> None:
    event = run(chunk({"content": "x"}), frame, DONE)[-1]
    assert isinstance(event, ResponseFailed)
    assert (event.failure.kind, event.failure.provider_code, event.failure.provider) == (kind, code, "somebody")


def test_the_start_waits_for_the_first_real_chunk() -> None:
    decoder = Decoder(REQUEST, {"x-request-id": "r"}, FakeIds().call_id)
    assert decoder.feed({"id": "", "model": "", "choices": []}) == []
    assert decoder.feed(chunk({})) == [ResponseStarted("c1", "m-1", request_id="r")]
    assert decoder.feed(chunk(None)) == []


@pytest.mark.parametrize(
    ("word", "calls", "refused", "expected"),
    [
        ("stop", False, False, ("end", "end_turn")),
        ("", False, False, ("end", "end_turn")),
        ("tool_calls", False, False, ("end", "end_turn")),
        ("length", True, False, ("length", "max_tokens")),
        ("length", False, False, ("length", "max_tokens")),
        ("stop", False, True, ("refusal", "refusal")),
        ("content_filter", False, False, ("refusal", "refusal")),
        ("model_context_window_exceeded", False, False, ("window", "model_context_window_exceeded")),
        ("moonrise", False, False, ("other", "moonrise")),
    ],
)
def test_stop_reasons(word: str, calls: bool, refused: bool, expected: tuple[str, str]) -> None:
    assert map_stop(word, calls=calls, refused=refused) == expected


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({"prompt_tokens": 5, "completion_tokens": None}, Usage(5)),
        ({"prompt_tokens": 5, "prompt_cache_hit_tokens": 4, "completion_tokens": 1}, Usage(1, 1, 4)),
        ({"prompt_tokens": 5, "prompt_tokens_details": None, "cached_tokens": 9}, Usage(0, 0, 9)),
        ({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7, "cached_tokens": 9}, Usage(0, 2, 5)),
        (
            {
                "prompt_tokens": 5,
                "completion_tokens": 7,
                "total_tokens": 12,
                "completion_tokens_details": {"reasoning_tokens": 6},
            },
            Usage(5, 7, reasoning=6),
        ),
        (
            {
                "prompt_tokens": 5,
                "completion_tokens": 1,
                "total_tokens": 12,
                "completion_tokens_details": {"reasoning_tokens": 6},
            },
            Usage(5, 7, reasoning=6),
        ),
    ],
)
def test_usage(usage: Any, expected: Usage) -> None:
    assert map_usage(usage) == expected
