"""Transcript lines: whole lines from event lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.event_stories import AT, CUT, INFO, SESSION, STAMP, USAGE, ended, prompt, streamed, tell, uuid_of
from yume_shim.store.entries import Entries
from yume_shim.types.blocks import Message, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.events import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Interrupted,
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
LAST = {"type": "last-prompt", "lastPrompt": "hi", "sessionId": SESSION}


def word(failure: Failure) -> tuple[str, str]:
    return "server_error", f"API Error: {failure.message}"


def lines(events: list[Event], leaf: str | None = None) -> list[Json]:
    entries = Entries("2.1.325", word, git_branch="main", leaf=leaf)
    return [line for tagged in tell(events) for line in entries.feed(tagged)]


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


def test_a_turn_with_a_call() -> None:
    signed = Thinking("hm", opaque={"anthropic-messages": {"signature": "sig"}})
    told: list[Event] = [
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
    mine: dict[str, Any] = {"requestedModel": "claude-sonnet-4-5"}
    origin = {"origin": "anthropic-messages/claude-sonnet-4-5"}
    assert lines(told) == [
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


def test_stopped_in_the_middle_keeps_order_and_text() -> None:
    told: list[Event] = [
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
    assert lines(told) == [
        user(2, None, "hi", permissionMode="default"),
        assistant(
            6,
            2,
            [{"type": "tool_use", "id": "call_1", "name": "Bash", "input": {"command": "ls"}}],
            None,
            Usage(12, 1),
        ),
        assistant(9, 6, [{"type": "text", "text": "So"}], None, Usage(12, 1)),
        user(
            10,
            9,
            [{"type": "tool_result", "tool_use_id": "call_1", "content": "stopped", "is_error": True}],
            sourceToolAssistantUUID=uuid_of(6),
        ),
        user(11, 10, [{"type": "text", "text": "[Request interrupted by user]"}]),
        LAST | {"leafUuid": uuid_of(11)},
    ]


def test_dropped_blocks_are_not_remembered() -> None:
    told: list[Event] = [
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
    assert lines(told) == [
        user(2, None, "hi", permissionMode="default"),
        assistant(6, 2, [{"type": "text", "text": "keep"}], None, USAGE),
        user(11, 6, [{"type": "text", "text": "go on"}], isMeta=True),
        line("assistant", 12, 11, failed, isApiErrorMessage=True, error="server_error"),
        LAST | {"leafUuid": uuid_of(12)},
    ]


def test_what_has_no_shape_is_kept_in_private() -> None:
    foreign = Other("openai-responses", {"type": "web_search_call", "id": "w"})
    broken = ToolCall("call_2", "Read", {}, '{"fi')
    told: list[Event] = [
        TurnStarted(INFO),
        STARTED,
        BlockEnded(0, Text("")),
        BlockEnded(1, foreign),
        BlockEnded(2, broken),
        ResponseEnded("end", "end_turn", USAGE),
    ]
    raw = {"__unparsedToolInput": {"raw": '{"fi', "len": 4}}
    first = assistant(4, 0, [], "end_turn", USAGE, yume={"block": {"api": "openai-responses", "data": foreign.data}})
    second = [{"type": "tool_use", "id": "call_2", "name": "Read", "input": raw}]
    assert lines(told) == [
        first | {"parentUuid": None},
        assistant(5, 4, second, "end_turn", USAGE, yume={"broken": '{"fi'}),
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
    told: list[Event] = [TurnStarted(INFO), prompt("a"), SessionChanged("new", SESSION), prompt("b")]
    assert [(each["parentUuid"], each["sessionId"]) for each in lines(told, leaf="old-leaf")] == [
        ("old-leaf", SESSION),
        (None, "new"),
    ]


def test_subagents_are_left_to_their_own_transcript() -> None:
    entries = Entries("2.1.325", word)
    entries.feed(Tagged(TurnStarted(INFO), "u", AT))
    assert entries.feed(Tagged(prompt("look"), "u", AT, "call_1")) == []
