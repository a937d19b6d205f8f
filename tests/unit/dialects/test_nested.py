"""The nested dialect: whole lines from event lists. The Python Agent SDK can parse each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from claude_agent_sdk._internal.message_parser import parse_message

from tests.helpers.event_stories import CUT, INFO, SESSION, STAMP, USAGE, ended, prompt, streamed, tag_events, uuid_of
from tests.helpers.fakes import FakeIds
from tests.helpers.record_check import check_lines
from yume_shim.dialects.nested import NestedDialect
from yume_shim.dialects.records.index import NESTED
from yume_shim.types.blocks import Document, Image, Message, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.errors import Failure
from yume_shim.types.events import (
    ApprovalAsked,
    ApprovalWithdrawn,
    BlockDelta,
    BlockEnded,
    BlockStarted,
    CallDenied,
    CommandRefused,
    ControlAnswered,
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
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFailed,
    TurnStarted,
)
from yume_shim.types.models import Usage
from yume_shim.types.permission_records import SetMode

if TYPE_CHECKING:
    from yume_shim.types.events import Event

CALL = ToolCall("call_1", "Bash", {"command": "ls"})
# The SDK handles control lines before its parser and ignores the other types.
NOT_PARSED = (
    "control_request",
    "control_response",
    "control_cancel_request",
    "command_lifecycle",
    "tool_progress",
    "pong",
)


def new_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def usage(input: int = 0, output: int = 0, read: int = 0, write: int = 0) -> dict[str, Any]:
    return {
        "input_tokens": input,
        "cache_creation_input_tokens": write,
        "cache_read_input_tokens": read,
        "cache_creation": {"ephemeral_5m_input_tokens": write, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
        "service_tier": "standard",
    }


def init(number: int, **more: Any) -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "init",
        "cwd": "/home/ada/project",
        "session_id": SESSION,
        "tools": ["Bash", "Read"],
        "mcp_servers": [],
        "model": "claude-sonnet-4-5",
        "permissionMode": "default",
        "slash_commands": [],
        "terminal_slash_commands": [],
        "apiKeySource": "ANTHROPIC_API_KEY",
        "claude_code_version": "2.1.325",
        "output_style": "default",
        "agents": [],
        "skills": [],
        "plugins": [],
        "capabilities": [],
        "additional_directories": [],
        "uuid": uuid_of(number),
        **more,
    }


def assistant(number: int, block: dict[str, Any], *, id: str = "msg_1", **more: Any) -> dict[str, Any]:
    return {
        "type": "assistant",
        "message": {
            "id": id,
            "type": "message",
            "role": "assistant",
            "model": "up-model",
            "content": [block],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage(12, 1),
            "context_management": None,
        },
        "parent_tool_use_id": None,
        "session_id": SESSION,
        "uuid": uuid_of(number),
        "timestamp": STAMP,
        "request_id": "req_1",
        **more,
    }


def user(number: int, content: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": None,
        "session_id": SESSION,
        "uuid": uuid_of(number),
        "timestamp": STAMP,
        **more,
    }


def result(number: int, **more: Any) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": 500,
        "duration_api_ms": 400,
        "num_turns": 1,
        "stop_reason": "end_turn",
        "total_cost_usd": 0.25,
        "usage": usage(12, 7, 3, 5)
        | {
            "output_tokens_details": {"thinking_tokens": 0},
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "inference_geo": "",
            "iterations": [],
            "speed": "standard",
        },
        "modelUsage": {},
        "permission_denials": [],
        "result_index": 0,
        "model_usage_since_last_result": {},
        "terminal_reason": "completed",
        "session_id": SESSION,
        "uuid": uuid_of(number),
        **more,
    }


def success(number: int, text: str, **more: Any) -> dict[str, Any]:
    return result(number, result=text, api_error_status=None, **more)


def streaming(uuid: str, event: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": "stream_event",
        "event": event,
        "session_id": SESSION,
        "parent_tool_use_id": None,
        "uuid": uuid,
        "api_message_id": "msg_1",
        **more,
    }


def lines(events: list[Event], *, partial: bool = False, parent: str | None = None) -> list[Any]:
    dialect = NestedDialect("2.1.325", FakeIds(), partial=partial)
    dialect.feed(tag_events([SessionReady(INFO)])[0])
    out = [line for tagged in tag_events(events, parent) for line in dialect.feed(tagged)]
    check_lines(out, NESTED)
    for line in out:
        assert line["type"] in NOT_PARSED or parse_message(line) is not None
    uuids = [line["uuid"] for line in out if "uuid" in line]
    assert len(set(uuids)) == len(uuids)
    return out


STARTED = ResponseStarted("msg_1", "up-model", Usage(12, 1), "req_1")


def test_nothing_before_the_first_turn() -> None:
    assert lines([RequestStarted("m"), StartFailed("no key", "auth"), ResponseFailed(CUT)]) == []


def test_a_turn_with_a_call() -> None:
    events: list[Event] = [
        TurnStarted(INFO),
        prompt("list"),
        RequestStarted("m"),
        STARTED,
        *streamed(0, Text("Looking."), ["Looking."]),
        *streamed(1, CALL, ['{"command":"ls"}']),
        ResponseEnded("tool_calls", "tool_use", USAGE),
        ToolStarted(CALL),
        ToolFinished(CALL, ToolResult("call_1", "a.txt", is_error=False), {"stdout": "a.txt"}),
        ended("done"),
    ]
    assert lines(events) == [
        init(1),
        assistant(7, {"type": "text", "text": "Looking."}),
        assistant(10, {"type": "tool_use", "id": "call_1", "name": "Bash", "input": {"command": "ls"}}),
        user(
            13,
            [{"type": "tool_result", "tool_use_id": "call_1", "content": "a.txt", "is_error": False}],
            tool_use_result={"stdout": "a.txt"},
        ),
        success(14, "done"),
    ]


def test_partial_messages() -> None:
    signed = Thinking("hm", opaque={"anthropic-messages": {"signature": "sig"}})
    events: list[Event] = [
        TurnStarted(INFO),
        RequestStarted("m"),
        STARTED,
        BlockStarted(0, Thinking("")),
        BlockDelta(0, "thinking", "hm"),
        BlockDelta(0, "signature", "sig"),
        BlockEnded(0, signed),
        *streamed(1, CALL, ['{"command":"ls"}']),
        ResponseEnded("tool_calls", "tool_use", USAGE),
    ]
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "up-model",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage(12, 1),
    }
    delta = "content_block_delta"
    tool_use = {"type": "tool_use", "id": "call_1", "name": "Bash"}
    assert lines(events, partial=True) == [
        init(1),
        {"type": "system", "subtype": "status", "status": "requesting", "session_id": SESSION, "uuid": uuid_of(2)},
        streaming(uuid_of(3), {"type": "message_start", "message": message}),
        streaming(
            uuid_of(4),
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "thinking", "thinking": "", "signature": ""},
            },
        ),
        streaming(uuid_of(5), {"type": delta, "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        streaming(uuid_of(6), {"type": delta, "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}}),
        assistant(7, {"type": "thinking", "thinking": "hm", "signature": "sig"}),
        streaming(new_id(1), {"type": "content_block_stop", "index": 0}),
        streaming(uuid_of(8), {"type": "content_block_start", "index": 1, "content_block": tool_use | {"input": {}}}),
        streaming(
            uuid_of(9),
            {"type": delta, "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"command":"ls"}'}},
        ),
        assistant(10, tool_use | {"input": {"command": "ls"}}),
        streaming(new_id(2), {"type": "content_block_stop", "index": 1}),
        streaming(
            uuid_of(11),
            {
                "type": "message_delta",
                "delta": {"stop_reason": "tool_use", "stop_sequence": None},
                "usage": usage(12, 7, 3, 5),
            },
        ),
        streaming(new_id(3), {"type": "message_stop"}),
    ]


STOPPED: list[Event] = [
    PartialKept(Text("This is "), 0, interrupted=True),
    Interrupted("user", "streaming"),
    ResponseDropped(1, 0, interrupted=True),
]


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 0, 1)], ids=["engine", "drop first", "drop before all"])
def test_stopped_while_text_streams(order: tuple[int, ...]) -> None:
    events: list[Event] = [
        TurnStarted(INFO),
        STARTED,
        BlockStarted(0, Text("")),
        BlockDelta(0, "text", "This is "),
        *(STOPPED[place] for place in order),
        ended("", outcome="cancelled", phase="streaming", stop_reason=None),
    ]
    void = {"stop_reason": None, "stop_sequence": None}
    out = lines(events, partial=True)[4:]
    numbers = {place: 5 + order.index(place) for place in order}
    assert out == [
        assistant(numbers[0], {"type": "text", "text": "This is "}, aborted=True),
        user(numbers[1], [{"type": "text", "text": "[Request interrupted by user]"}]),
        streaming(new_id(1), {"type": "content_block_stop", "index": 0}),
        streaming(new_id(2), {"type": "message_delta", "delta": void, "usage": usage(12, 1)}),
        streaming(
            new_id(3),
            {"type": "message_stop"},
            abandoned_blocks={"api_message_id": "msg_1", "from_block_index": 1},
        ),
        result(
            8,
            subtype="error_during_execution",
            is_error=True,
            stop_reason=None,
            errors=["[interrupted] The turn was stopped while the model answered."],
            terminal_reason="aborted_streaming",
        ),
    ]


def test_cut_and_asked_again() -> None:
    events: list[Event] = [
        TurnStarted(INFO),
        STARTED,
        BlockStarted(0, Text("")),
        BlockDelta(0, "text", "Hel"),
        ResponseDropped(0, 0, interrupted=False),
        Retrying(CUT, 1, 3, 250),
    ]
    assert lines(events, partial=True)[4:] == [
        streaming(new_id(1), {"type": "content_block_stop", "index": 0}),
        streaming(
            new_id(2), {"type": "message_stop"}, abandoned_blocks={"api_message_id": "msg_1", "from_block_index": 0}
        ),
        {
            "type": "system",
            "subtype": "api_retry",
            "attempt": 1,
            "max_retries": 3,
            "retry_delay_ms": 250,
            "error_status": None,
            "error": "unknown",
            "session_id": SESSION,
            "uuid": uuid_of(6),
        },
    ]


def test_a_call_of_an_answer_that_failed_gets_a_result() -> None:
    """It was printed when its block was complete; only the calls that are void get one here."""
    kept, void = ToolCall("call_1", "Bash", {"command": "ls"}), ToolCall("call_2", "Bash", {"command": "pwd"})
    events: list[Event] = [TurnStarted(INFO), STARTED]
    events += [BlockStarted(0, kept), BlockEnded(0, kept), BlockStarted(1, void), BlockEnded(1, void)]
    *_, line = lines([*events, ResponseDropped(1, None, interrupted=False)])
    text = "This call was not run: the answer that contains it failed."
    block = {"type": "tool_result", "tool_use_id": "call_2", "content": text, "is_error": True}
    assert line["message"] == {"role": "user", "content": [block]}
    assert lines([*events, ResponseDropped(0, None, interrupted=True)])[-1]["type"] == "assistant"


def test_stopped_in_a_tool_then_a_second_turn() -> None:
    events: list[Event] = [
        TurnStarted(INFO),
        Interrupted("user", "tools"),
        ended("", outcome="cancelled", phase="tools", stop_reason="tool_use", num_turns=3),
        TurnStarted(INFO),
        ended("next"),
    ]
    assert lines(events) == [
        init(1),
        user(2, [{"type": "text", "text": "[Request interrupted by user for tool use]"}]),
        result(
            3,
            subtype="error_during_execution",
            is_error=True,
            stop_reason="tool_use",
            num_turns=3,
            errors=["[interrupted] The turn was stopped while a tool ran."],
            terminal_reason="aborted_tools",
        ),
        init(4),
        success(5, "next", result_index=1),
    ]


def test_stopped_by_a_message_with_priority() -> None:
    events: list[Event] = [TurnStarted(INFO), Interrupted("priority", "tools"), ended("", phase="tools")]
    assert lines(events)[1:] == [success(3, "", terminal_reason="aborted_tools")]


def test_a_shutdown_prints_nothing_more() -> None:
    events: list[Event] = [TurnStarted(INFO), Interrupted("shutdown", "tools"), ended("", outcome="cancelled")]
    assert lines(events) == [init(1)]


def test_the_provider_fails() -> None:
    failure = Failure("overloaded", "Overloaded", 529, True, provider_code="overloaded_error")
    events: list[Event] = [
        TurnStarted(INFO),
        TurnFailed(failure),
        ended("", outcome="provider_error", failure=failure, stop_reason=None),
    ]
    message = {
        "id": uuid_of(2),
        "type": "message",
        "role": "assistant",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": "API Error: 529 Overloaded"}],
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "usage": usage(),
        "context_management": None,
    }
    line = {
        "type": "assistant",
        "message": message,
        "parent_tool_use_id": None,
        "session_id": SESSION,
        "uuid": uuid_of(2),
        "timestamp": STAMP,
        "error": "server_error",
        "is_api_error_message": True,
        "api_error_status": 529,
        "api_error_type": "overloaded_error",
    }
    assert lines(events)[1:] == [
        line,
        result(
            3,
            is_error=True,
            result="API Error: 529 Overloaded",
            api_error_status=529,
            api_error_type="overloaded_error",
            stop_reason="stop_sequence",
            terminal_reason="api_error",
        ),
    ]


@pytest.mark.parametrize("before", [True, False], ids=["prompt first", "turn first"])
def test_prompts_with_uuids_are_tracked_and_echoed(before: bool) -> None:
    taken = PromptTaken(Message("user", (Text("hi"),)), ({"type": "text", "text": "hi"},), "u-1", replay=True)
    turn = TurnStarted(INFO, ("u-1",))
    first: list[Event] = [taken, turn] if before else [turn, taken]
    events: list[Event] = [*first, STARTED, *streamed(0, Text("Yo"), ["Yo"]), ended("Yo", user_uuids=("u-1",))]

    def lifecycle(state: str, number: int) -> dict[str, Any]:
        line = {"type": "command_lifecycle", "command_uuid": "u-1", "state": state}
        return line | {"session_id": SESSION, "uuid": new_id(number)}

    mine: dict[str, Any] = {"user_message_uuid": "u-1", "user_message_uuids": ["u-1"]}
    assert lines(events) == [
        lifecycle("queued", 1),
        lifecycle("started", 2),
        init(2 if before else 1, **mine),
        user(0, [{"type": "text", "text": "hi"}], isReplay=True) | {"uuid": "u-1"},
        assistant(6, {"type": "text", "text": "Yo"}, **mine),
        success(7, "Yo", **mine),
        lifecycle("completed", 3),
    ]


def test_figures_per_turn_and_in_total() -> None:
    def used(input: int, cost: float) -> ModelUsage:
        return ModelUsage("m", Usage(input, 7), cost, 200_000, 8_192)

    events: list[Event] = [
        TurnStarted(INFO),
        ended("", model_usage=(used(10, 0.5),)),
        TurnStarted(INFO),
        ended("", model_usage=(used(30, 0.75), ModelUsage("n", Usage(1, 1), 0.1, 1, 1))),
    ]
    out = [line for line in lines(events) if line["type"] == "result"]
    assert [line["modelUsage"]["m"]["inputTokens"] for line in out] == [10, 30]
    since = out[1]["model_usage_since_last_result"]
    assert {
        model: (entry["inputTokens"], entry["outputTokens"], entry["costUSD"]) for model, entry in since.items()
    } == {
        "m": (20, 0, 0.25),
        "n": (1, 1, 0.1),
    }


def test_a_subagent_is_printed_in_whole_blocks() -> None:
    events: list[Event] = [
        prompt("look"),
        STARTED,
        *streamed(0, Text("x"), ["x"]),
        ResponseEnded("end", "end_turn", USAGE),
    ]
    mine = {"parent_tool_use_id": "call_1"}
    assert lines(events, partial=True, parent="call_1") == [
        user(1, [{"type": "text", "text": "look"}]) | mine,
        assistant(5, {"type": "text", "text": "x"}) | mine,
    ]


SINGLE: dict[str, tuple[Event, list[Any]]] = {
    "denied": (
        CallDenied(CALL, "not allowed", "rule", "Bash(ls)"),
        [
            {
                "type": "system",
                "subtype": "permission_denied",
                "tool_name": "Bash",
                "tool_use_id": "call_1",
                "message": "not allowed",
                "decision_reason_type": "rule",
                "decision_reason": "Bash(ls)",
                "session_id": SESSION,
                "uuid": uuid_of(1),
            }
        ],
    ),
    "asked": (
        ApprovalAsked("q1", CALL, "why", 1, (SetMode(),), "/etc", "ls"),
        [
            {
                "type": "control_request",
                "request_id": "q1",
                "request": {
                    "subtype": "can_use_tool",
                    "tool_name": "Bash",
                    "display_name": "Bash",
                    "input": {"command": "ls"},
                    "permission_suggestions": [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}],
                    "tool_use_id": "call_1",
                    "description": "ls",
                    "decision_reason": "why",
                    "blocked_path": "/etc",
                },
            }
        ],
    ),
    "withdrawn": (ApprovalWithdrawn("q1"), [{"type": "control_cancel_request", "request_id": "q1"}]),
    "mode": (
        ModeChanged("plan"),
        [
            {
                "type": "system",
                "subtype": "status",
                "status": None,
                "permissionMode": "plan",
                "session_id": SESSION,
                "uuid": uuid_of(1),
            }
        ],
    ),
    "model by the host": (
        ModelChanged("openai", "gpt-5", "host"),
        [user(1, "<local-command-stdout>Set model to gpt-5</local-command-stdout>", isReplay=True)],
    ),
    "model by failover": (
        ModelChanged("openai", "gpt-5", "overloaded"),
        [
            {
                "type": "system",
                "subtype": "model_fallback",
                "trigger": "overloaded",
                "original_model": "claude-sonnet-4-5",
                "fallback_model": "gpt-5",
                "content": "Switched from claude-sonnet-4-5 to gpt-5 (overloaded)",
                "session_id": SESSION,
                "uuid": uuid_of(1),
            }
        ],
    ),
    "session": (
        SessionChanged("new", SESSION),
        [
            {
                "type": "conversation_reset",
                "new_conversation_id": "new",
                "trigger": "clear",
                "session_id": SESSION,
                "uuid": uuid_of(1),
            }
        ],
    ),
    "progress": (
        ToolProgress(CALL, 30_400),
        [
            {
                "type": "tool_progress",
                "tool_use_id": "call_1-heartbeat-0",
                "tool_name": "Bash",
                "parent_tool_use_id": "call_1",
                "elapsed_time_seconds": 30,
                "heartbeat": True,
                "session_id": SESSION,
                "uuid": uuid_of(1),
            }
        ],
    ),
    "progress of the tool itself": (
        ToolProgress(CALL, 1_400, ProgressReport(3, 10, "indexing")),
        [
            {
                "type": "tool_progress",
                "tool_use_id": "call_1-progress-0",
                "tool_name": "Bash",
                "parent_tool_use_id": "call_1",
                "elapsed_time_seconds": 1,
                "progress": 3,
                "total": 10,
                "message": "indexing",
                "session_id": SESSION,
                "uuid": uuid_of(1),
            }
        ],
    ),
    "note": (NoteAdded("go on"), [user(1, [{"type": "text", "text": "go on"}], isSynthetic=True)]),
    "control": (
        ControlAnswered("r1"),
        [{"type": "control_response", "response": {"subtype": "success", "request_id": "r1"}}],
    ),
    "echo": (
        LineEchoed({"type": "control_response", "response": {"subtype": "success"}}),
        [{"type": "control_response", "response": {"subtype": "success"}}],
    ),
    "pong": (Pong(), [{"type": "pong"}]),
    "prompt without echo": (prompt("hi"), []),
    "empty text": (BlockEnded(0, Text("")), []),
    "foreign block": (BlockEnded(0, Other("openai-responses", {"type": "x"})), []),
}


@pytest.mark.parametrize(("event", "expected"), SINGLE.values(), ids=SINGLE.keys())
def test_single(event: Event, expected: list[Any]) -> None:
    assert lines([event]) == expected


@pytest.mark.parametrize(
    ("event", "content", "tag"),
    [
        (Notice("no_pdf", "sent as text"), "sent as text", "no_pdf"),
        (InputRejected("not JSON", "{oops"), "not JSON [{oops]", "bad_input"),
        (CommandRefused("not now"), "not now", "bad_input"),
    ],
)
def test_warnings(event: Event, content: str, tag: str) -> None:
    line = {"type": "system", "subtype": "informational", "content": content, "level": "warning", "tag": tag}
    assert lines([event]) == [line | {"session_id": SESSION, "uuid": uuid_of(1)}]


def test_lines_after_a_clear_carry_the_new_id() -> None:
    out = lines([SessionChanged("new", SESSION), ModeChanged("plan")])
    assert [line["session_id"] for line in out] == [SESSION, "new"]


BLOCKS: dict[str, tuple[Any, dict[str, Any]]] = {
    "unsigned thinking": (Thinking("hm"), {"type": "thinking", "thinking": "hm", "signature": ""}),
    "redacted": (
        Thinking("", redacted=True, opaque={"anthropic-messages": {"data": "xyz"}}),
        {"type": "redacted_thinking", "data": "xyz"},
    ),
    "hidden by another API": (
        Thinking("", redacted=True, opaque={"openai-responses": {"encrypted": "…"}}),
        {"type": "thinking", "thinking": "", "signature": ""},
    ),
    "broken arguments": (
        ToolCall("c", "Read", {}, '{"file'),
        {
            "type": "tool_use",
            "id": "c",
            "name": "Read",
            "input": {"__unparsedToolInput": {"raw": '{"file', "len": 6}},
        },
    ),
    "own kind": (
        Other("anthropic-messages", {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
    ),
}


@pytest.mark.parametrize(("block", "shape"), BLOCKS.values(), ids=BLOCKS.keys())
def test_blocks(block: Any, shape: dict[str, Any]) -> None:
    assert lines([STARTED, BlockEnded(0, block)]) == [assistant(2, shape)]


def test_results_with_media() -> None:
    content = (
        Text("See:"),
        Image("image/png", "QUJD"),
        Image("", "", "https://x/y.png"),
        Document("application/pdf", "QUJD", "a.pdf"),
        Document("text/plain", "abc"),
    )
    assert lines([ToolFinished(CALL, ToolResult("call_1", content))]) == [
        user(
            1,
            [
                {
                    "type": "tool_result",
                    "tool_use_id": "call_1",
                    "content": [
                        {"type": "text", "text": "See:"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
                        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
                        {
                            "type": "document",
                            "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"},
                            "title": "a.pdf",
                        },
                        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "abc"}},
                    ],
                }
            ],
        )
    ]


def test_a_foreign_block_leaves_no_stream_events() -> None:
    foreign = Other("openai-responses", {"type": "web_search_call"})
    events: list[Event] = [STARTED, BlockStarted(0, foreign), BlockDelta(0, "json", "{}"), BlockEnded(0, foreign)]
    assert [line["event"]["type"] for line in lines(events, partial=True)] == ["message_start"]
