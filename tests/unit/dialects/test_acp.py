"""The Agent Client Protocol as a dialect: whole messages, and every message of random stories against the official
schema."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from acp.schema import RequestPermissionRequest, SessionNotification
from hypothesis import given, settings

from tests.helpers.event_stories import INFO, ended, prompt, stories, streamed, tag_events
from yume_shim.dialects.acp import MAX_CHUNK, AcpDialect
from yume_shim.dialects.acp_results import prompt_error, prompt_result
from yume_shim.dialects.acp_state import ModelEntry
from yume_shim.dialects.acp_tools import MAX_TEXT, finished_content, shown_input, title_of
from yume_shim.types.blocks import Image, Message, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.errors import Failure
from yume_shim.types.events import (
    ApprovalAsked,
    ApprovalWithdrawn,
    CommandsChanged,
    LocalCommandDone,
    ModeChanged,
    ModelChanged,
    ResponseStarted,
    ServersChanged,
    SessionReady,
    ToolFinished,
    ToolStarted,
)
from yume_shim.types.permission_records import AddRules, PermissionRule, SetMode
from yume_shim.types.side_events import ElicitationAsked, FileAsked

if TYPE_CHECKING:
    from yume_shim.types.events import Event

CWD = os.path.abspath("/w")
HOSTS = os.path.abspath("/etc/hosts")
S = "11111111-2222-4333-8444-555555555555"


def dialect(**more: Any) -> AcpDialect:
    made = AcpDialect(S, CWD, (ModelEntry("p/m", "m"), ModelEntry("p/other", "other")), **more)
    made.feed(tag_events([SessionReady(INFO)])[0])
    return made


def updates(made: AcpDialect, *events: Any, parent: str | None = None) -> list[Any]:
    messages = [message for tagged in tag_events(events, parent) for message in made.feed(tagged)]
    assert all(message["method"] == "session/update" and message["params"]["sessionId"] == S for message in messages)
    for message in messages:
        SessionNotification.model_validate(message["params"])
    return [message["params"]["update"] for message in messages]


@settings(max_examples=20, deadline=None)
@given(stories())
def test_every_message_of_a_story_fits_the_official_schema(story: list[Any]) -> None:
    made = dialect()
    for tagged in story:
        for message in made.feed(tagged):
            assert message["jsonrpc"] == "2.0"
            match message["method"]:
                case "session/update":
                    SessionNotification.model_validate(message["params"])
                case "session/request_permission":
                    RequestPermissionRequest.model_validate(message["params"])
                case method:
                    assert method == "$/cancel_request"


def test_text_and_thoughts_stream_with_the_id_of_their_message() -> None:
    made = dialect()
    events = [
        ResponseStarted("msg_1", "m"),
        *streamed(0, Thinking("Hm."), ["Hm."]),
        *streamed(1, Text("Hi"), ["H", "i"]),
    ]
    assert updates(made, *events) == [
        {"sessionUpdate": kind, "content": {"type": "text", "text": text}, "messageId": "msg_1"}
        for kind, text in (
            ("agent_thought_chunk", "Hm."),
            ("agent_message_chunk", "H"),
            ("agent_message_chunk", "i"),
        )
    ]
    assert updates(made, *streamed(0, Text("x"), ["x"]), parent="call_1") == []
    long = updates(made, *streamed(0, Text(""), ["y" * (MAX_CHUNK + 1)]))
    assert [len(update["content"]["text"]) for update in long] == [MAX_CHUNK, 1]


def test_nothing_is_said_before_the_client_knows_the_session() -> None:
    made = AcpDialect(S, CWD)
    assert updates(made, ServersChanged((), (), ("mcp__a__b",)), ModeChanged("plan")) == []
    (first,) = updates(made, SessionReady(INFO))
    assert first["sessionUpdate"] == "available_commands_update"


def test_an_edit_is_a_diff_before_and_after() -> None:
    made = dialect()
    call = ToolCall("c1", "Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"})
    (started,) = updates(made, ToolStarted(call))
    assert started == {
        "sessionUpdate": "tool_call",
        "toolCallId": "c1",
        "title": "Edit a.py",
        "kind": "edit",
        "status": "in_progress",
        "content": [{"type": "diff", "path": os.path.join(CWD, "a.py"), "oldText": "x", "newText": "y"}],
        "locations": [{"path": os.path.join(CWD, "a.py")}],
        "rawInput": call.input,
        "_meta": {"yume": {"toolName": "Edit"}},
    }
    hunk = {"oldStart": 3, "oldLines": 2, "newStart": 3, "newLines": 2, "lines": [" def f():", "-    x", "+    y"]}
    (finished,) = updates(made, ToolFinished(call, ToolResult("c1", "ok"), {"structuredPatch": [hunk]}), parent="c0")
    assert finished == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c1",
        "status": "completed",
        "content": [
            {
                "type": "diff",
                "path": os.path.join(CWD, "a.py"),
                "oldText": "def f():\n    x",
                "newText": "def f():\n    y",
            }
        ],
        "_meta": {"yume": {"toolName": "Edit", "parentToolCallId": "c0"}},
    }


def test_results_of_all_kinds() -> None:
    def shown(name: str, content: Any, **more: Any) -> list[Any]:
        return finished_content(ToolFinished(ToolCall("c", name, {}), ToolResult("c", content), **more), CWD)

    def text(words: str) -> dict[str, Any]:
        return {"type": "content", "content": {"type": "text", "text": words}}

    assert shown("Grep", "a:1") == [text("a:1")]
    assert shown("Bash", "a ``` b\n") == [text("````console\na ``` b\n````")]
    assert shown("Bash", "") == []
    assert shown("Read", (Text("t"), Image("image/png", "AA=="), Image("", "", "http://x/y.png"))) == [
        text("t"),
        {"type": "content", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}},
        text("[image: http://x/y.png]"),
    ]
    (long,) = shown("Grep", "z" * (MAX_TEXT + 5))
    assert long["content"]["text"].endswith("z… [5 more characters]")
    huge = ToolCall("c", "Edit", {"file_path": HOSTS, "old_string": "x" * (MAX_TEXT + 1), "new_string": ""})
    (named,) = updates(dialect(), ToolStarted(huge))[0]["content"]
    assert named == text(f"The change of {HOSTS} is too long to show.")


def test_titles_and_inputs_are_bounded() -> None:
    assert title_of(ToolCall("c", "Bash", {"command": "ls\n  -l"}), CWD) == "ls -l"
    assert title_of(ToolCall("c", "Grep", {"pattern": "a+"}), CWD) == "Grep a+"
    assert title_of(ToolCall("c", "Read", {"file_path": HOSTS}), CWD) == f"Read {HOSTS}"
    assert title_of(ToolCall("c", "mcp__a__b", {"file_path": "/etc/hosts"}), CWD) == "mcp__a__b"
    deep: Any = "x"
    for _ in range(50):
        deep = {"a": deep}
    assert len(str(shown_input(deep))) < 100
    assert len(shown_input({"a": ["y" * 10**6] * 10**3})["a"]) == 200


def test_tasks_are_a_plan() -> None:
    todos = [{"content": "Look", "status": "completed", "activeForm": "Looking"}, {"content": "Do", "status": "odd"}]
    call = ToolCall("c1", "TodoWrite", {"todos": todos})
    assert updates(dialect(), ToolStarted(call), ToolFinished(call, ToolResult("c1", "ok"))) == [
        {
            "sessionUpdate": "plan",
            "entries": [
                {"content": "Look", "priority": "medium", "status": "completed"},
                {"content": "Do", "priority": "medium", "status": "pending"},
            ],
        }
    ]


def test_questions() -> None:
    made = dialect(elicits=True)
    events: list[Event]
    call = ToolCall("c1", "Bash", {"command": "npm test"})
    rule = AddRules(rules=[PermissionRule(toolName="Bash", ruleContent="npm test:*")], destination="localSettings")
    events = [
        ApprovalAsked("q1", call, "needs approval", 1000, (rule, SetMode())),
        ApprovalWithdrawn("q1"),
        FileAsked("q2", "/w/a"),
        FileAsked("q3", "/w/a", "text"),
        ElicitationAsked("q4", "tea", {"message": "Which?", "requestedSchema": {"type": "object", "properties": {}}}),
    ]
    asked, withdrawn, read, write, form = [message for tagged in tag_events(events) for message in made.feed(tagged)]
    assert (asked["id"], asked["method"]) == ("q1", "session/request_permission")
    RequestPermissionRequest.model_validate(asked["params"])
    assert [tuple(option.values()) for option in asked["params"]["options"]] == [
        ("allow_once", "Allow", "allow_once"),
        ("allow_always", "Always allow Bash(npm test:*)", "allow_always"),
        ("allow_accept_edits", "Allow all edits in this session", "allow_always"),
        ("reject_once", "Reject", "reject_once"),
        ("reject_always", "Always reject this call", "reject_always"),
    ]
    assert withdrawn == {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": "q1"}}
    params = {"sessionId": S, "path": "/w/a"}
    assert read == {"jsonrpc": "2.0", "id": "q2", "method": "fs/read_text_file", "params": params}
    assert write["params"] == {**params, "content": "text"}
    assert (form["method"], form["params"]["mode"]) == ("elicitation/create", "form")
    assert dialect().feed(tag_events(events[-1:])[0]) == []
    plan = ApprovalAsked("q5", ToolCall("c2", "ExitPlanMode", {"plan": "1. Look"}), "", 0)
    (question,) = made.feed(tag_events([plan])[0])
    assert [option["kind"] for option in question["params"]["options"]] == ["allow_always", "allow_once", "reject_once"]


def test_the_state_of_a_session() -> None:
    made = dialect()
    assert [
        update["sessionUpdate"] for update in updates(made, ModeChanged("plan"), ModelChanged("p", "other", "host"))
    ] == [
        "current_mode_update",
        "config_option_update",
        "config_option_update",
    ]
    made.choose_effort("high")
    chosen = {"mode": "plan", "model": "p/other", "effort": "high"}
    assert {option["id"]: option["currentValue"] for option in made.options()} == chosen
    modes = [mode["id"] for mode in made.state()["modes"]["availableModes"]]
    assert "bypassPermissions" not in modes
    assert "bypassPermissions" in [m["id"] for m in dialect(bypass=True).state()["modes"]["availableModes"]]
    described = ({"name": "tea", "description": "Brews", "argumentHint": "kind"}, {"name": "clear", "description": ""})
    (commands,) = updates(made, CommandsChanged(described))
    assert commands["availableCommands"] == [{"name": "tea", "description": "Brews", "input": {"hint": "kind"}}]
    assert updates(made, prompt("/compact")) == []
    (title,) = updates(made, prompt("Brew tea.\nNow."), prompt("And more."))
    assert (title["sessionUpdate"], title["title"]) == ("session_info_update", "Brew tea.")
    (done,) = updates(made, LocalCommandDone("compact", "Compacted."))
    assert done["content"]["text"] == "Compacted."


def test_a_stored_conversation_is_told_again() -> None:
    call = ToolCall("c1", "Read", {"file_path": "a", "offset": 7})
    history = (
        Message(
            "user", (Text("Look."), Image("image/png", "AA=="), Text("<system-reminder>\nhidden</system-reminder>"))
        ),
        Message("assistant", (Thinking("Hm."), Text("I look."), call)),
        Message("user", (ToolResult("c1", "7\tx"), ToolResult("unknown", "y"), Text("[Request interrupted by user]"))),
    )
    told = [message["params"]["update"] for message in AcpDialect(S, CWD).replay(history)]
    assert [(update["sessionUpdate"], update.get("status")) for update in told] == [
        ("user_message_chunk", None),
        ("user_message_chunk", None),
        ("agent_thought_chunk", None),
        ("agent_message_chunk", None),
        ("tool_call", "in_progress"),
        ("tool_call_update", "completed"),
    ]
    assert told[4]["locations"] == [{"path": os.path.join(CWD, "a"), "line": 7}]
    for update in told:
        SessionNotification.model_validate({"sessionId": S, "update": update})


def test_how_turns_end() -> None:
    reasons = {
        "success": "end_turn",
        "cancelled": "cancelled",
        "max_turns": "max_turn_requests",
        "hook_stopped": "end_turn",
        "prompt_blocked": "end_turn",
    }
    for outcome, reason in reasons.items():
        assert prompt_result(ended(outcome=outcome)) == {"stopReason": reason}
    assert prompt_result(ended(stop_reason="max_tokens")) == {"stopReason": "max_tokens"}
    assert prompt_result(ended(stop_reason="refusal")) == {"stopReason": "refusal"}
    failed = ended(outcome="auth_error", failure=Failure("auth", "no key", status=401))
    assert prompt_result(failed) is None
    assert prompt_error(failed) == (
        -32000,
        "no key",
        {"outcome": "auth_error", "code": "auth", "retryable": False, "status": 401},
    )
    assert prompt_error(ended(outcome="max_budget", limit="$1"))[0] == -32603
    blocked = updates(dialect(), ended("not today", outcome="prompt_blocked"))
    assert blocked[0]["content"]["text"] == "not today"
