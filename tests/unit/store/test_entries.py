"""Transcript lines: whole lines from event lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.event_stories import (
    AT,
    CUT,
    INFO,
    SESSION,
    STAMP,
    USAGE,
    ended,
    prompt,
    streamed,
    tag_events,
    uuid_of,
)
from yume_shim.store.entries import Entries, Entry
from yume_shim.types.blocks import Message, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.events import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Compacted,
    Interrupted,
    ModelChanged,
    ModelUsage,
    NoteAdded,
    PartialKept,
    PromptTaken,
    RequestStarted,
    ResponseDropped,
    ResponseEnded,
    ResponseStarted,
    SessionChanged,
    SessionReady,
    Tagged,
    ToolFinished,
    ToolStarted,
    TurnFailed,
    TurnStarted,
)
from yume_shim.types.models import Usage

if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.errors import Failure
    from yume_shim.types.events import Event

CALL = ToolCall("call_1", "Bash", {"command": "ls"})
STARTED = ResponseStarted("msg_1", "up-model", Usage(12, 1), "req_1")
OURS = {"provider": "anthropic"}
LAST = {"type": "last-prompt", "lastPrompt": "hi", "sessionId": SESSION}


def describe_failure(failure: Failure) -> tuple[str, str]:
    return "server_error", f"API Error: {failure.message}"


def entries_of(events: list[Event], leaf: str | None = None) -> list[Entry]:
    fresh = iter(f"fresh-{number}" for number in range(1, 100))
    entries = Entries("2.1.325", describe_failure, lambda: next(fresh), git_branch="main", leaf=leaf, price=price)
    return [entry for tagged in tag_events(events) for entry in entries.feed(tagged)]


def price(model: str, usage: Usage) -> float | None:
    return usage.output / 4 if model == "claude-sonnet-4-5" else None


def lines(events: list[Event], leaf: str | None = None) -> list[Json]:
    """The file at the end: settled lines replace their open form."""
    made: dict[str, Json] = {}
    for entry in entries_of(events, leaf):
        key = entry.line.get("uuid") or entry.line["type"]
        assert (key in made) == (entry.state == "settled")
        made[key] = entry.line
    return list(made.values())


def line(kind: str, number: int, parent: int | None, message: Any, **more: Any) -> Json:
    return {
        "parentUuid": None if parent is None else uuid_of(parent),
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ada/project",
        "sessionId": SESSION,
        "version": "2.1.325",
        "gitBranch": "main",
        "entrypoint": "sdk-cli",
        "type": kind,
        "message": message,
        "uuid": uuid_of(number),
        "timestamp": STAMP,
        **more,
    }


def user(number: int, parent: int | None, content: Any, **more: Any) -> Json:
    return line("user", number, parent, {"role": "user", "content": content}, **more)


def usage(usage: Usage) -> Json:
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {"ephemeral_5m_input_tokens": usage.cache_write, "ephemeral_1h_input_tokens": 0},
        "output_tokens": usage.output,
        "service_tier": "standard",
    }


def assistant(number: int, parent: int, content: list[Any], stop: str | None, used: Usage, **more: Any) -> Json:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "up-model",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage(used),
    }
    return line("assistant", number, parent, message, requestId="req_1", **more)


def test_an_answer_names_the_provider_that_was_asked() -> None:
    """A model that the host chooses while the answer streams is that of the next request."""
    events: list[Event] = [
        SessionReady(INFO),
        TurnStarted(INFO),
        prompt("hi"),
        RequestStarted("gpt-5.4", "openai-responses/gpt-5.4", "openai"),
        STARTED,
        ModelChanged("google", "gemini-3.5-flash", "host"),
        *streamed(0, Text("one"), ["one"]),
        ResponseEnded("tool_calls", "tool_use", USAGE),
        RequestStarted("gemini-3.5-flash", "google-genai/gemini-3.5-flash", "google"),
        STARTED,
        *streamed(0, Text("two"), ["two"]),
        ResponseEnded("end", "end_turn", USAGE),
    ]
    answers = [made for made in lines(events) if made["type"] == "assistant"]
    written_by = [(made["yume"]["provider"], made["requestedModel"]) for made in answers]
    assert written_by == [("openai", "gpt-5.4"), ("google", "gemini-3.5-flash")]


def test_a_turn_with_a_call() -> None:
    signed = Thinking("hm", opaque={"anthropic-messages": {"signature": "sig"}})
    events: list[Event] = [
        SessionReady(INFO),
        TurnStarted(INFO),
        prompt("hi"),
        RequestStarted("claude-sonnet-4-5", "anthropic-messages/claude-sonnet-4-5"),
        STARTED,
        *streamed(0, signed, ["hm"]),
        *streamed(1, CALL, ["{}"]),
        ResponseEnded("tool_calls", "tool_use", USAGE),
        ToolStarted(CALL),
        ToolFinished(CALL, ToolResult("call_1", "a.txt", is_error=False), {"stdout": "a.txt"}),
        ended("done"),
    ]
    mine: dict[str, Any] = {"requestedModel": "claude-sonnet-4-5", "costUSD": 1.75}
    origin = {"origin": "anthropic-messages/claude-sonnet-4-5", "provider": "anthropic"}
    assert lines(events) == [
        user(3, None, "hi", permissionMode="default"),
        assistant(
            8,
            3,
            [{"type": "thinking", "thinking": "hm", "signature": "sig"}],
            "tool_use",
            USAGE,
            yume=origin | {"opaque": {"anthropic-messages": {"signature": "sig"}}},
            **mine,
        ),
        assistant(
            11,
            8,
            [{"type": "tool_use", "id": "call_1", "name": "Bash", "input": {"command": "ls"}}],
            "tool_use",
            USAGE,
            yume=origin,
            **mine,
        ),
        user(
            14,
            11,
            [{"type": "tool_result", "tool_use_id": "call_1", "content": "a.txt", "is_error": False}],
            toolUseResult={"stdout": "a.txt"},
            sourceToolAssistantUUID=uuid_of(11),
        ),
        LAST | {"leafUuid": uuid_of(14)},
    ]


def test_an_interrupted_answer_keeps_order_and_text() -> None:
    events: list[Event] = [
        TurnStarted(INFO),
        prompt("hi"),
        STARTED,
        *streamed(0, CALL, ["{}"]),
        BlockStarted(1, Text("")),
        BlockDelta(1, "text", "So"),
        PartialKept(Text("So"), 1, interrupted=True),
        ToolFinished(CALL, ToolResult("call_1", "stopped", is_error=True)),
        Interrupted("user", "streaming"),
        ResponseDropped(2, 1, interrupted=True),
        ended("", outcome="cancelled"),
    ]
    assert lines(events) == [
        user(2, None, "hi", permissionMode="default"),
        assistant(
            6,
            2,
            [{"type": "tool_use", "id": "call_1", "name": "Bash", "input": {"command": "ls"}}],
            None,
            Usage(12, 1),
            yume=OURS,
        ),
        assistant(9, 6, [{"type": "text", "text": "So"}], None, Usage(12, 1), yume=OURS),
        user(
            10,
            9,
            [{"type": "tool_result", "tool_use_id": "call_1", "content": "stopped", "is_error": True}],
            sourceToolAssistantUUID=uuid_of(6),
        ),
        user(11, 10, [{"type": "text", "text": "[Request interrupted by user]"}]),
        LAST | {"leafUuid": uuid_of(11)},
    ]


def test_dropped_blocks_become_a_dead_branch() -> None:
    events: list[Event] = [
        TurnStarted(INFO),
        prompt("hi"),
        STARTED,
        *streamed(0, Text("keep"), ["keep"]),
        *streamed(1, Text("void"), ["void"]),
        ResponseDropped(1, None, interrupted=False, usage=USAGE),
        NoteAdded("go on"),
        TurnFailed(CUT),
        ended("", outcome="provider_error", failure=CUT),
    ]
    failed = {
        "id": uuid_of(12),
        "type": "message",
        "role": "assistant",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": "API Error: the connection broke"}],
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "usage": usage(Usage()),
    }
    assert lines(events) == [
        user(2, None, "hi", permissionMode="default"),
        assistant(6, 2, [{"type": "text", "text": "keep"}], None, USAGE, yume=OURS),
        assistant(9, 6, [{"type": "text", "text": "void"}], None, USAGE, yume=OURS),
        user(11, 6, [{"type": "text", "text": "go on"}], isMeta=True, yume={"asks": True}),
        line("assistant", 12, 11, failed, isApiErrorMessage=True, error="server_error"),
        LAST | {"leafUuid": uuid_of(12)},
    ]


def test_a_block_is_written_at_once_and_again_with_its_figures() -> None:
    events: list[Event] = [
        TurnStarted(INFO),
        STARTED,
        *streamed(0, Text("a"), []),
        *streamed(1, Text("b"), []),
        ResponseEnded("end", "end_turn", USAGE, stop_sequence=None),
    ]
    states = [(entry.state, entry.line["uuid"], entry.line["message"]["usage"]) for entry in entries_of(events)]
    assert states == [
        ("open", uuid_of(4), usage(Usage(12, 1))),
        ("open", uuid_of(6), usage(Usage(12, 1))),
        ("settled", uuid_of(4), usage(USAGE)),
        ("settled", uuid_of(6), usage(USAGE)),
    ]


def test_answers_without_a_request_id_get_one_for_usage_counters() -> None:
    events: list[Event] = [
        TurnStarted(INFO),
        ResponseStarted("", "up-model"),
        *streamed(0, Text("a"), []),
        *streamed(1, Text("b"), []),
    ]
    ids = [(made["message"]["id"], made["requestId"]) for made in lines(events)]
    assert ids == [(uuid_of(2), f"req_{uuid_of(2)}")] * 2


def test_a_turn_ends_with_the_cost_of_the_session() -> None:
    spent = ModelUsage("m", Usage(10, 5, reasoning=2), 0.25, 1000, 100, "openai", cost_known=False)
    [entry] = entries_of([TurnStarted(INFO), ended("", model_usage=(spent,), total_cost_usd=0.25)])
    figures = {
        "inputTokens": 10,
        "outputTokens": 5,
        "cacheReadInputTokens": 0,
        "cacheCreationInputTokens": 0,
        "cacheCreationEphemeral1hInputTokens": 0,
        "thinkingTokens": 2,
        "webSearchRequests": 0,
        "costUSD": 0.25,
        "contextWindow": 1000,
        "maxOutputTokens": 100,
        "provider": "openai",
        "costBasis": "unknown",
    }
    assert entry == Entry(
        {"type": "cost-state", "sessionId": SESSION, "totalCostUSD": 0.25, "modelUsage": {"m": figures}}
    )


def test_prompts_of_one_turn_are_marked_as_one_message() -> None:
    events: list[Event] = [TurnStarted(INFO), prompt("a"), prompt("b"), ended(), TurnStarted(INFO), prompt("c")]
    assert [made.get("yume") for made in lines(events) if made["type"] == "user"] == [None, {"joined": True}, None]


def test_a_compaction_starts_a_new_chain() -> None:
    signed = Thinking("hm", opaque={"anthropic-messages": {"signature": "sig"}})
    kept = (
        Message("user", (Text("go"),)),
        Message("assistant", (signed, CALL), "anthropic-messages/claude-x"),
        Message("user", (ToolResult("call_1", "done"), Text("more"))),
    )
    summary = Message("user", (Text("So far: nothing."),))
    events: list[Event] = [
        TurnStarted(INFO),
        prompt("hi"),
        Compacted("auto", 900, 90, 810, 5, summary, kept, "boundary"),
        prompt("next"),
    ]
    answer: Json = {"id": "msg_fresh-2", "type": "message", "role": "assistant", "model": "claude-x"}
    answer |= {"stop_reason": None, "stop_sequence": None, "usage": usage(Usage())}
    origin = {"origin": "anthropic-messages/claude-x"}
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    called = {"type": "tool_use", "id": "call_1", "name": "Bash", "input": {"command": "ls"}}
    bare = line("user", 0, None, None)
    del bare["message"]

    def linked(kind: str, uuid: str, parent: str | None, **more: Any) -> Json:
        return bare | {"type": kind, "uuid": uuid, "parentUuid": parent} | more

    assert lines(events)[1:] == [
        linked(
            "system",
            "boundary",
            None,
            subtype="compact_boundary",
            content="Conversation compacted",
            isMeta=False,
            level="info",
            logicalParentUuid=uuid_of(2),
            compactMetadata={"trigger": "auto", "preTokens": 900, "postTokens": 90},
        ),
        linked(
            "user",
            uuid_of(3),
            "boundary",
            message={"role": "user", "content": "So far: nothing."},
            isCompactSummary=True,
        ),
        linked("user", "fresh-1", uuid_of(3), message={"role": "user", "content": "go"}),
        linked(
            "assistant",
            "fresh-3",
            "fresh-1",
            message=answer | {"content": [thought]},
            yume=origin | {"opaque": {"anthropic-messages": {"signature": "sig"}}},
        ),
        linked("assistant", "fresh-4", "fresh-3", message=answer | {"content": [called]}, yume=origin),
        linked(
            "user",
            "fresh-5",
            "fresh-4",
            message={
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "call_1", "content": "done"},
                    {"type": "text", "text": "more"},
                ],
            },
        ),
        linked("user", uuid_of(4), "fresh-5", message={"role": "user", "content": "next"}, permissionMode="default"),
    ]


def test_blocks_without_a_shape_are_stored_in_private_fields() -> None:
    foreign = Other("openai-responses", {"type": "web_search_call", "id": "w"})
    broken = ToolCall("call_2", "Read", {}, '{"fi')
    events: list[Event] = [
        TurnStarted(INFO),
        STARTED,
        BlockEnded(0, Text("")),
        BlockEnded(1, foreign),
        BlockEnded(2, broken),
        ResponseEnded("end", "end_turn", USAGE),
    ]
    raw = {"__unparsedToolInput": {"raw": '{"fi', "len": 4}}
    private = OURS | {"block": {"api": "openai-responses", "data": foreign.data}}
    first = assistant(4, 0, [], "end_turn", USAGE, yume=private)
    second = [{"type": "tool_use", "id": "call_2", "name": "Read", "input": raw}]
    assert lines(events) == [
        first | {"parentUuid": None},
        assistant(5, 4, second, "end_turn", USAGE, yume=OURS | {"broken": '{"fi'}),
    ]


@pytest.mark.parametrize(
    ("content", "stored", "last"),
    [
        ("plain", "plain", "plain"),
        (({"type": "text", "text": "one"},), "one", "one"),
        (
            ({"type": "text", "text": "a"}, {"type": "text", "text": "b"}),
            [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            "a",
        ),
    ],
)
def test_prompts(content: Any, stored: Any, last: str) -> None:
    taken = PromptTaken(Message("user", ()), content, "u-1")
    out = lines([TurnStarted(INFO), taken, ended()])
    assert out == [
        user(2, None, stored, permissionMode="default") | {"uuid": "u-1"},
        LAST | {"lastPrompt": last, "leafUuid": "u-1"},
    ]


def test_a_continued_transcript_and_a_cleared_one() -> None:
    events: list[Event] = [TurnStarted(INFO), prompt("a"), SessionChanged("new", SESSION), prompt("b")]
    assert [(each["parentUuid"], each["sessionId"]) for each in lines(events, leaf="old-leaf")] == [
        ("old-leaf", SESSION),
        (None, "new"),
    ]


def test_a_session_ignores_the_events_of_its_subagents() -> None:
    entries = Entries("2.1.325", describe_failure, lambda: "fresh")
    entries.feed(Tagged(TurnStarted(INFO), "u", AT))
    assert entries.feed(Tagged(prompt("look"), "u", AT, "call_1")) == []
