"""The flat dialect: whole lines from event lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.event_stories import CUT, INFO, SESSION, USAGE, ended, prompt, streamed, tag_events, uuid_of
from tests.helpers.fakes import FakeIds
from tests.helpers.record_check import check_lines
from yume_shim.dialects.flat import FlatDialect
from yume_shim.dialects.records.index import FLAT
from yume_shim.text.codec import dumps
from yume_shim.text.separators import escape_separators
from yume_shim.types.blocks import Document, Image, Message, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.errors import Failure
from yume_shim.types.events import (
    ApprovalAsked,
    ApprovalWithdrawn,
    BlockDelta,
    BlockStarted,
    CallDenied,
    CommandRefused,
    ContextMeasured,
    ControlAnswered,
    Denial,
    InputRejected,
    Interrupted,
    LineEchoed,
    ModeChanged,
    ModelChanged,
    ModelUsage,
    NoteAdded,
    Notice,
    PartialKept,
    Pong,
    ProgressReport,
    PromptTaken,
    RequestStarted,
    ResponseDropped,
    ResponseEnded,
    ResponseFailed,
    ResponseStarted,
    Retrying,
    SessionChanged,
    SessionReady,
    StartFailed,
    TodosChanged,
    ToolFinished,
    ToolOutputAdded,
    ToolProgress,
    ToolQueued,
    ToolStarted,
    TurnFailed,
    TurnStarted,
)
from yume_shim.types.file_patch import FilePatch
from yume_shim.types.models import Usage
from yume_shim.types.permission_records import AddRules, PermissionRule, SetMode
from yume_shim.types.settings import FLAT_LINE_BYTES

if TYPE_CHECKING:
    from yume_shim.types.events import Event

CALL = ToolCall("call_1", "Bash", {"command": "ls"})
FIGURES = {
    "input_tokens": 12,
    "output_tokens": 7,
    "cache_creation_input_tokens": 5,
    "cache_read_input_tokens": 3,
}
INIT = {
    "type": "system",
    "subtype": "init",
    "session_id": SESSION,
    "provider": "anthropic",
    "model": "claude-sonnet-4-5",
    "cwd": "/home/ada/project",
    "permissionMode": "default",
    "tools": ["Bash", "Read"],
    "mcp_servers": [],
    "slash_commands": [],
    "protocol": "flat/1",
    "version": "9.9.9",
    "resumed": False,
}
RESULT: dict[str, Any] = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "",
    "session_id": SESSION,
    "usage": FIGURES,
    "total_cost_usd": 0.25,
    "duration_ms": 500,
    "duration_api_ms": 400,
    "num_turns": 1,
    "errors": [],
    "permission_denials": [],
    "stop_reason": "end_turn",
    "modelUsage": {},
}


def lines(events: list[Event], parent: str | None = None, max_line: int = FLAT_LINE_BYTES) -> list[Any]:
    dialect = FlatDialect("9.9.9", FakeIds(), max_line)
    out = [line for tagged in tag_events(events, parent) for line in dialect.feed(tagged)]
    check_lines(out, FLAT)
    return out


def test_a_turn_with_thinking_text_and_a_call() -> None:
    events: list[Event] = [
        SessionReady(INFO),
        TurnStarted(INFO),
        prompt("list"),
        RequestStarted("claude-sonnet-4-5"),
        ResponseStarted("msg_1", "claude-sonnet-4-5"),
        *streamed(0, Thinking("hm, ls"), ["hm, ", "ls"]),
        *streamed(1, Text("Looking."), ["Look", "ing."]),
        *streamed(2, CALL, ['{"command":', '"ls"}']),
        ResponseEnded("tool_calls", "tool_use", Usage(12, 7, 3, 5, reasoning=4)),
        ToolStarted(CALL),
        ToolFinished(CALL, ToolResult("call_1", "a.txt", is_error=False)),
        RequestStarted("claude-sonnet-4-5"),
        ResponseStarted("", "claude-sonnet-4-5"),
        *streamed(0, Text("One."), ["One."]),
        ResponseEnded("end", "end_turn", USAGE, usage_given=False),
        ended("One.", num_turns=2),
    ]
    assert lines(events) == [
        INIT,
        {"type": "system", "subtype": "turn_started", "prompt_id": uuid_of(2)},
        {"type": "thinking", "is_thinking": True, "thought": "hm, ", "id": "msg_1:0"},
        {"type": "thinking", "is_thinking": True, "thought": "ls", "id": "msg_1:0"},
        {"type": "thinking", "is_thinking": False, "id": "msg_1:0"},
        {"type": "text", "content": "Look", "id": "msg_1:1"},
        {"type": "text", "content": "ing.", "id": "msg_1:1"},
        {"type": "usage", **FIGURES, "reasoning_tokens": 4},
        {"type": "tool_use", "id": "call_1", "name": "Bash", "input": {"command": "ls"}},
        {"type": "tool_result", "tool_use_id": "call_1", "content": "a.txt", "is_error": False},
        {"type": "text", "content": "One.", "id": f"{uuid_of(22)}:0"},
        {"type": "usage", **FIGURES, "estimated": True},
        RESULT | {"result": "One.", "num_turns": 2, "prompt_id": uuid_of(2)},
        {"type": "message_stop"},
    ]


def test_stopped_while_thinking() -> None:
    events: list[Event] = [
        SessionReady(INFO),
        TurnStarted(INFO),
        RequestStarted("m"),
        ResponseStarted("msg_1", "m"),
        BlockStarted(0, Thinking("")),
        BlockDelta(0, "thinking", "so"),
        Interrupted("signal", "streaming"),
        ResponseDropped(0, 0, interrupted=True, usage=USAGE),
        ended("", outcome="cancelled", phase="streaming", stop_reason=None),
    ]
    assert lines(events)[1:] == [
        {"type": "system", "subtype": "turn_started", "prompt_id": uuid_of(2)},
        {"type": "thinking", "is_thinking": True, "thought": "so", "id": "msg_1:0"},
        {"type": "thinking", "is_thinking": False, "id": "msg_1:0"},
        {"type": "interrupt", "reason": "signal"},
        RESULT
        | {
            "subtype": "cancelled",
            "is_error": True,
            "stop_reason": None,
            "errors": ["[interrupted] The turn was stopped while the model answered."],
            "prompt_id": uuid_of(2),
        },
        {"type": "message_stop"},
    ]


def test_cut_and_continued_shows_no_text_twice() -> None:
    events: list[Event] = [
        ResponseStarted("msg_1", "m"),
        BlockStarted(0, Text("")),
        BlockDelta(0, "text", "Hel"),
        PartialKept(Text("Hel"), 0, interrupted=False),
        ResponseDropped(1, 0, interrupted=False, usage=USAGE),
        Retrying(CUT, 1, 3, 250),
        NoteAdded("go on"),
        ResponseStarted("msg_2", "m"),
        *streamed(0, Text("lo"), ["lo"]),
    ]
    assert lines(events) == [
        {"type": "text", "content": "Hel", "id": "msg_1:0"},
        {"type": "usage", **FIGURES},
        {
            "type": "system",
            "subtype": "retry",
            "attempt": 1,
            "max_retries": 3,
            "delay_ms": 250,
            "code": "stream_interrupted",
            "message": "the connection broke",
        },
        {"type": "text", "content": "lo", "id": "msg_2:0"},
    ]


def test_the_provider_fails() -> None:
    failure = Failure("overloaded", "Overloaded", 529, True, 2000, "anthropic", "overloaded_error")
    entry = ModelUsage("m", USAGE, 0.5, 200_000, 8_192, "anthropic", cost_known=False)
    denial = Denial("Bash", "call_1", {"command": "rm"})
    events: list[Event] = [
        SessionReady(INFO),
        TurnFailed(failure),
        ended("", outcome="provider_error", failure=failure, model_usage=(entry,), denials=(denial,)),
    ]
    assert lines(events)[1:] == [
        {
            "type": "error",
            "message": "Overloaded",
            "code": "overloaded",
            "provider": "anthropic",
            "retryable": True,
            "status": 529,
            "retry_after_ms": 2000,
            "provider_code": "overloaded_error",
        },
        RESULT
        | {
            "subtype": "error_provider",
            "is_error": True,
            "errors": ["Overloaded"],
            "permission_denials": [{"tool_name": "Bash", "tool_use_id": "call_1", "tool_input": {"command": "rm"}}],
            "modelUsage": {
                "m": {
                    "inputTokens": 12,
                    "outputTokens": 7,
                    "cacheReadInputTokens": 3,
                    "cacheCreationInputTokens": 5,
                    "webSearchRequests": 0,
                    "costUSD": 0.5,
                    "contextWindow": 200_000,
                    "maxOutputTokens": 8_192,
                    "thinkingTokens": 0,
                    "cacheCreationEphemeral5mInputTokens": 5,
                    "cacheCreationEphemeral1hInputTokens": 0,
                    "canonicalModel": "m",
                    "provider": "anthropic",
                    "costBasis": "unknown",
                }
            },
            "cost_unknown": True,
            "cost_estimated": True,
        },
        {"type": "message_stop"},
    ]


SINGLE: dict[str, tuple[Event, list[Any]]] = {
    "progress": (
        ToolProgress(CALL, 30_000),
        [
            {
                "type": "system",
                "subtype": "progress",
                "tool_use_id": "call_1",
                "tool_name": "Bash",
                "elapsed_ms": 30_000,
            }
        ],
    ),
    "progress of the tool itself": (
        ToolProgress(CALL, 1_400, ProgressReport(0.5)),
        [
            {
                "type": "system",
                "subtype": "progress",
                "tool_use_id": "call_1",
                "tool_name": "Bash",
                "elapsed_ms": 1_400,
                "progress": 0.5,
            }
        ],
    ),
    "denied": (
        CallDenied(CALL, "not allowed", "rule", "deny"),
        [
            {
                "type": "system",
                "subtype": "permission_denied",
                "tool_use_id": "call_1",
                "tool_name": "Bash",
                "reason": "not allowed",
            }
        ],
    ),
    "asked": (
        ApprovalAsked(
            "q1",
            CALL,
            "writes",
            300_000,
            suggestions=(
                SetMode(),
                AddRules(rules=[PermissionRule(toolName="Bash", ruleContent="ls:*")], destination="session"),
            ),
            patch=FilePatch("a.txt", ()),
        ),
        [
            {
                "type": "system",
                "subtype": "approval_needed",
                "tool_use_id": "call_1",
                "tool_name": "Bash",
                "input": {"command": "ls"},
                "reason": "writes",
                "timeout_ms": 300_000,
                "suggested_rules": ["Bash(ls:*)"],
                "scopes": ["once", "session", "project", "user"],
                "patch": {"file_path": "a.txt", "hunks": []},
            }
        ],
    ),
    "model": (
        ModelChanged("openai", "gpt-5", "host"),
        [{"type": "system", "subtype": "model", "provider": "openai", "model": "gpt-5", "reason": "host"}],
    ),
    "session": (
        SessionChanged("new", "old"),
        [{"type": "system", "subtype": "session_id", "session_id": "new", "previous_session_id": "old"}],
    ),
    "notice": (
        Notice("no_pdf", "sent as text"),
        [{"type": "system", "subtype": "warning", "message": "sent as text", "code": "no_pdf"}],
    ),
    "cannot start": (
        StartFailed("no key", "auth"),
        [{"type": "system", "subtype": "error", "message": "no key", "code": "auth"}],
    ),
    "bad line": (
        InputRejected("not JSON", "{oops"),
        [{"type": "error", "message": "not JSON [{oops]", "code": "bad_input", "provider": "", "retryable": False}],
    ),
    "refused": (
        CommandRefused("not now"),
        [{"type": "error", "message": "not now", "code": "bad_input", "provider": "", "retryable": False}],
    ),
    "pong": (Pong(), [{"type": "pong"}]),
    "control success": (
        ControlAnswered("r1", {"mode": "plan"}),
        [
            {
                "type": "control_response",
                "response": {"subtype": "success", "request_id": "r1", "response": {"mode": "plan"}},
            }
        ],
    ),
    "control error without id": (
        ControlAnswered(None, None, "no", "invalid_mode"),
        [{"type": "control_response", "response": {"subtype": "error", "error": "no", "error_code": "invalid_mode"}}],
    ),
    "echo": (
        LineEchoed({"response": {"subtype": "success"}, "type": "control_response"}),
        [{"type": "control_response", "response": {"subtype": "success"}}],
    ),
    "priority": (Interrupted("priority", "tools"), [{"type": "interrupt", "reason": "user"}]),
    "prompt": (PromptTaken(Message("user", ()), "x", replay=True), []),
    "request": (RequestStarted("m"), []),
    "note": (NoteAdded("x"), []),
    "withdrawn": (ApprovalWithdrawn("q1"), []),
    "mode": (
        ModeChanged("plan"),
        [{"type": "system", "subtype": "permission_mode", "permissionMode": "plan"}],
    ),
    "failed attempt": (ResponseFailed(CUT), []),
    "foreign block": (BlockStarted(0, Other("openai-responses", {"type": "x"})), []),
    "arguments": (BlockDelta(0, "json", "{"), []),
    "empty piece": (BlockDelta(0, "text", ""), []),
    "text with the start": (BlockStarted(0, Text("Hi")), [{"type": "text", "content": "Hi", "id": "r:0"}]),
}


@pytest.mark.parametrize(("event", "expected"), SINGLE.values(), ids=SINGLE.keys())
def test_single(event: Event, expected: list[Any]) -> None:
    assert lines([ResponseStarted("r", "m"), event]) == expected


def test_result_content_is_one_string() -> None:
    picture = Image("image/png", "A" * 16_384)
    content = (
        Text("See:"),
        picture,
        Image("image/png", "", "https://x/y.png"),
        Document("application/pdf", "QUJD", "a"),
    )
    assert lines([ToolFinished(CALL, ToolResult("call_1", content))]) == [
        {
            "type": "tool_result",
            "tool_use_id": "call_1",
            "content": "See:\n[image: image/png, 12 KB]\n[image: https://x/y.png]\n"
            "[document a: application/pdf, 3 bytes]",
            "is_error": False,
            "images": [
                {"media_type": "image/png", "data": "A" * 16_384},
                {"media_type": "image/png", "url": "https://x/y.png"},
            ],
        }
    ]


def test_a_subagents_lines_carry_their_parent() -> None:
    events: list[Event] = [ResponseStarted("msg_9", "m"), *streamed(0, Text("x"), ["x"])]
    assert lines(events, parent="call_1") == [
        {"type": "text", "content": "x", "id": "msg_9:0", "parent_tool_use_id": "call_1"}
    ]


@pytest.mark.parametrize(
    "text", ["a" * 250_000, "\u2028\x01" * 30_000, "👩‍👩‍👧" * 20_000], ids=["plain", "escapes", "families"]
)
@pytest.mark.parametrize("kind", ["text", "thinking"])
def test_long_pieces_are_split_under_the_cap(text: str, kind: Any) -> None:
    events: list[Event] = [ResponseStarted("msg_1", "m"), BlockDelta(0, kind, text)]
    out = lines(events)
    assert "".join(line["content" if kind == "text" else "thought"] for line in out) == text
    assert max(len(escape_separators(dumps(line), wide=False)) + 1 for line in out) <= FLAT_LINE_BYTES
    assert len(out) > 1


# ---------------------------------------------------------------- what happens while it happens


def test_the_turns_id_is_the_uuid_of_its_prompt() -> None:
    for taken, started in (
        ([prompt("a", "u-7")], TurnStarted(INFO, ("u-7",))),
        ([], TurnStarted(INFO, ("u-7",))),  # a prompt that a hook refuses, or a local command
    ):
        found = lines([SessionReady(INFO), *taken, started, ended(), TurnStarted(INFO)])
        assert found[1] == {"type": "system", "subtype": "turn_started", "prompt_id": "u-7"}
        assert found[2]["prompt_id"] == "u-7"
        assert found[4]["prompt_id"] not in ("", "u-7")


def test_arguments_stream_if_asked_for() -> None:
    events = [ResponseStarted("msg_1", "m"), *streamed(0, CALL, ['{"command":', '"ls"}'])]
    head = {"type": "tool_use_delta", "id": "call_1", "name": "Bash"}
    dialect = FlatDialect("1", FakeIds(), tool_deltas=True)
    assert [line for tagged in tag_events(events) for line in dialect.feed(tagged)] == [
        head | {"delta": ""},
        head | {"delta": '{"command":'},
        head | {"delta": '"ls"}'},
    ]
    assert lines(events) == []


HUNK = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a", "+b"]}
LIVE: dict[str, tuple[Event, dict[str, Any]]] = {
    "queued": (
        ToolQueued(CALL),
        {"type": "system", "subtype": "tool_queued", "tool_use_id": "call_1", "name": "Bash"},
    ),
    "output": (
        ToolOutputAdded(CALL, "more\n", 7),
        {"type": "tool_output", "tool_use_id": "call_1", "content": "more\n", "dropped_bytes": 7},
    ),
    "todos": (
        TodosChanged(({"content": "x", "status": "pending"},)),
        {"type": "system", "subtype": "todos", "todos": [{"content": "x", "status": "pending"}]},
    ),
    "context": (
        ContextMeasured(900, 1000, 100, 200, 50, 550),
        {
            "type": "system",
            "subtype": "context_usage",
            "used": 900,
            "window": 1000,
            "parts": {"system": 100, "tools": 200, "memory": 50, "messages": 550},
        },
    ),
    "patch": (
        ToolFinished(CALL, ToolResult("call_1", "ok"), patch=FilePatch("a.txt", (HUNK,))),
        {
            "type": "tool_result",
            "tool_use_id": "call_1",
            "content": "ok",
            "is_error": False,
            "patch": {"file_path": "a.txt", "hunks": [HUNK]},
        },
    ),
}


@pytest.mark.parametrize(("event", "line"), LIVE.values(), ids=LIVE.keys())
def test_live_lines(event: Event, line: dict[str, Any]) -> None:
    assert lines([event]) == [line]


def test_a_withdrawn_question_names_its_call() -> None:
    [_, withdrawn] = lines([ApprovalAsked("q1", CALL, "why", 1000), ApprovalWithdrawn("q1")])
    assert withdrawn == {"type": "system", "subtype": "approval_withdrawn", "tool_use_id": "call_1"}


def test_long_patches_and_images_leave_room_in_the_line() -> None:
    long = {**HUNK, "lines": ["+" + "x" * 20_000]}
    picture = Image("image/png", "A" * 80_000)
    read = ToolCall("call_1", "Read", {"file_path": "/a/b.png"})
    [line] = lines([ToolFinished(read, ToolResult("call_1", (picture,)), patch=FilePatch("a.txt", (HUNK, long, long)))])
    assert line["patch"] == {"file_path": "a.txt", "hunks": [HUNK, long], "truncated": True}
    assert line["images"] == [{"media_type": "image/png", "path": "/a/b.png", "bytes": 60_000}]
