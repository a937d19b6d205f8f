"""Events of the Responses API, also with missing pieces: the blocks are the intended ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import FakeIds
from yume_shim.providers.apis.openai_responses import API, Decoder, map_stop, map_usage
from yume_shim.types.blocks import Message, Text, Thinking, ToolCall
from yume_shim.types.events import BlockEnded, ResponseEnded, ResponseFailed, ResponseStarted
from yume_shim.types.models import Endpoint, ModelSpec, Request, Usage

REQUEST = Request(ModelSpec("m", Endpoint("somebody", API, "http://127.0.0.1:1/v1")), (Message("user", (Text("Hi"),)),))
CREATED = {"type": "response.created", "response": {"id": "resp_1", "model": "m-1"}}
COMPLETED = {"type": "response.completed", "response": {"id": "resp_1", "model": "m-1", "status": "completed"}}
MESSAGE = {
    "type": "message",
    "role": "assistant",
    "phase": "final_answer",
    "content": [{"type": "output_text", "text": "Hello."}, {"type": "refusal", "refusal": "No."}],
}
REASONING = {
    "type": "reasoning",
    "encrypted_content": "blob",
    "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
}
CALL = {"type": "function_call", "call_id": "call_1", "name": "Read", "arguments": '{"a":1}'}
WHOLE = [
    Thinking("One.\n\nTwo.", opaque={API: {"encrypted_content": "blob", "summary": REASONING["summary"]}}),
    Text("Hello.", {API: {"phase": "final_answer"}}),
    Text("No.", {API: {"phase": "final_answer"}}),
    ToolCall("call_1", "Read", {"a": 1}),
]


def event(kind: str, index: int, **more: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "output_index": index, **more}


def run(*frames: Any) -> list[Any]:
    decoder = Decoder(REQUEST, {}, FakeIds().call_id)
    events = [made for frame in frames for made in decoder.feed(frame)]
    return events + decoder.finish()


def blocks(events: list[Any]) -> list[Any]:
    return [made.block for made in events if isinstance(made, BlockEnded)]


STREAM: list[tuple[dict[str, Any], bool]] = [
    (event("output_item.added", 0, item={"type": "reasoning", "encrypted_content": "bl", "summary": []}), False),
    (event("reasoning_summary_text.delta", 0, summary_index=0, delta="On"), False),
    (event("reasoning_summary_text.delta", 0, summary_index=0, delta="e."), False),
    (event("reasoning_summary_text.done", 0, summary_index=0, text="One."), True),
    (event("reasoning_summary_text.delta", 0, summary_index=1, delta="Two."), False),
    (event("reasoning_summary_text.done", 0, summary_index=1, text="Two."), False),
    (event("output_item.done", 0, item=REASONING), True),
    (event("output_item.added", 1, item={**MESSAGE, "content": []}), True),
    (event("output_text.delta", 1, content_index=0, delta="Hel"), False),
    (event("output_text.delta", 1, content_index=0, delta="lo."), False),
    (event("output_text.done", 1, content_index=0, text="Hello."), False),
    (event("refusal.delta", 1, content_index=1, delta="No."), False),
    (event("refusal.done", 1, content_index=1, refusal="No."), False),
    (event("output_item.done", 1, item=MESSAGE), True),
    (event("output_item.added", 2, item={**CALL, "arguments": ""}), False),
    (event("function_call_arguments.delta", 2, delta='{"a"'), False),
    (event("function_call_arguments.delta", 2, delta=":1}"), False),
    (event("function_call_arguments.done", 2, arguments='{"a":1}'), False),
    (event("output_item.done", 2, item=CALL), True),
]
"""(event, may not be missing). The last deltas of a part may be lost, but no first one before a second."""
LOSABLE = [
    n for n, (frame, needed) in enumerate(STREAM) if not needed and frame.get("delta") not in ("On", "Hel", '{"a"')
]


@given(st.sets(st.sampled_from(LOSABLE)))
def test_finished_items_replace_lost_events(lost: set[int]) -> None:
    frames = [frame for n, (frame, _) in enumerate(STREAM) if n not in lost]
    events = run(CREATED, *frames, COMPLETED)
    assert isinstance(events[0], ResponseStarted)
    assert isinstance(events[-1], ResponseEnded)
    assert blocks(events) == WHOLE


def test_only_the_closing_event() -> None:
    response = {"id": "resp_1", "model": "m-1", "status": "completed", "output": [REASONING, MESSAGE, CALL]}
    assert blocks(run({"type": "response.completed", "response": response})) == WHOLE
    assert blocks(run({"object": "response", **response})) == WHOLE


def test_parts_are_matched_by_order_not_by_number() -> None:
    """Bedrock Mantle numbers the only part of a message 1."""
    item = {"type": "message", "content": [{"type": "output_text", "text": "Hi."}]}
    events = run(
        CREATED,
        event("output_text.delta", 1, content_index=1, delta="Hi."),
        event("output_text.done", 1, content_index=1, text="Hi."),
        event("output_item.done", 1, item=item),
        COMPLETED,
    )
    assert blocks(events) == [Text("Hi.")]


def test_a_part_that_differs_from_the_streamed_text_is_ignored() -> None:
    events = run(
        CREATED,
        event("output_text.delta", 0, content_index=0, delta="Hi"),
        event("output_text.done", 0, content_index=0, text="Something else"),
        event("output_text.delta", 0, content_index=0, delta="late"),
        COMPLETED,
    )
    assert blocks(events) == [Text("Hi")]


def test_a_thought_is_not_completed_after_a_later_one() -> None:
    frames = [STREAM[n][0] for n in (0, 1, 4, 6)]
    assert [block.text for block in blocks(run(CREATED, *frames, COMPLETED))] == ["On\n\nTwo."]


def test_reasoning_without_text_and_blob_leaves_no_block() -> None:
    item: dict[str, Any] = {"type": "reasoning", "summary": [], "content": None, "encrypted_content": None}
    assert blocks(run(CREATED, event("output_item.done", 0, item=item), COMPLETED)) == []


def test_an_answer_without_a_created_event_still_starts() -> None:
    events = run(event("output_text.delta", 0, content_index=0, delta="Hi"), COMPLETED)
    assert events[0] == ResponseStarted("call_000001", "m")
    assert blocks(events) == [Text("Hi")]


@pytest.mark.parametrize(
    ("frame", "kind", "code", "retryable"),
    [
        (
            {"type": "error", "code": "rate_limit_exceeded", "message": "slow"},
            "rate_limit",
            "rate_limit_exceeded",
            True,
        ),
        ({"type": "error", "error": {"code": "server_error", "message": "x"}}, "server", "server_error", True),
        ({"error": {"message": "bad gateway", "code": 502}}, "server", "", True),
        (
            {"type": "response.failed", "response": {"status": "failed", "error": {"code": "context_length_exceeded"}}},
            "context_length",
            "context_length_exceeded",
            False,
        ),
        ({"type": "response.failed", "response": {}}, "server", "", True),
        ({"type": "response.cancelled", "response": {}}, "stream_interrupted", "cancelled", False),
        (
            {"type": "response.completed", "response": {"status": "cancelled"}},
            "stream_interrupted",
            "cancelled",
            False,
        ),
        (
            {"type": "response.completed", "response": {"status": "failed", "error": {"code": "server_error"}}},
            "server",
            "server_error",
            True,
        ),
    ],
)
@pytest.mark.parametrize("before", [[], [CREATED, event("output_text.delta", 0, content_index=0, delta="Hi")]])
def test_errors(before: list[Any], frame: Any, kind: str, code: str, retryable: bool) -> None:
    events = run(*before, frame, COMPLETED)
    end = events[-1]
    assert isinstance(end, ResponseFailed)
    failure = end.failure
    assert (failure.kind, failure.provider_code, failure.retryable, failure.provider) == (
        kind,
        code,
        retryable,
        "somebody",
    )
    assert not any(isinstance(made, BlockEnded | ResponseEnded) for made in events)
    assert any(isinstance(made, ResponseStarted) for made in events) == bool(before)


def test_nothing_comes_after_the_end() -> None:
    decoder = Decoder(REQUEST, {}, FakeIds().call_id)
    assert isinstance(decoder.feed(COMPLETED)[-1], ResponseEnded)
    assert decoder.feed(CREATED) + decoder.feed(COMPLETED) + decoder.feed({"!done": True}) + decoder.finish() == []


def test_done_and_unknown_events_do_not_end_the_answer() -> None:
    events = run(CREATED, {"!done": True}, {"type": "response.future.event"}, {"type": "keepalive"})
    assert [type(made) for made in events] == [ResponseStarted, ResponseFailed]
    assert events[-1].failure.kind == "stream_interrupted"
    assert events[-1].failure.retryable


@pytest.mark.parametrize(
    ("reason", "calls", "refused", "expected"),
    [
        ("", False, False, ("end", "end_turn")),
        ("steered", False, False, ("end", "end_turn")),
        ("max_output_tokens", False, False, ("length", "max_tokens")),
        ("max_output_tokens", True, False, ("length", "max_tokens")),
        ("content_filter", False, False, ("refusal", "refusal")),
        ("", False, True, ("refusal", "refusal")),
        ("moonrise", False, False, ("other", "moonrise")),
    ],
)
def test_stop_reasons(reason: str, calls: bool, refused: bool, expected: tuple[str, str]) -> None:
    assert map_stop(reason, calls=calls, refused=refused) == expected


def test_an_incomplete_answer_without_a_reason_is_reported_so() -> None:
    end = run(CREATED, {"type": "response.incomplete", "response": {"status": "incomplete"}})[-1]
    assert end == ResponseEnded("other", "incomplete", Usage(), usage_given=False)


def test_usage() -> None:
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4},
    }
    assert map_usage(usage) == Usage(10, 9, 60, 30, 4)
    assert map_usage(None) == Usage()
    assert map_usage({"input_tokens": 3, "input_tokens_details": None}) == Usage(3)
