"""Every control request of the host, in both dialects, in a real process: each answer has the form of its schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.fake_server import FakeServer
from tests.test_startup import WIRE
from yume_shim.app.control_requests import ControlRequests
from yume_shim.dialects.records.index import REQUESTS
from yume_shim.dialects.schema_check import SchemaCheck, load_schema
from yume_shim.dialects.stream_check import StreamCheck
from yume_shim.types.record import describe

if TYPE_CHECKING:
    from pathlib import Path

FORMS = {
    "flat": ("--output-format", "flat"),
    "stream-json": ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
}
KEY = "sk-not-to-be-shown"
SUBTYPES = {str(describe(request).constants()["subtype"]) for request in REQUESTS}
ENDS = "end_session"
GIVEN: dict[str, dict[str, Any]] = {
    "set_permission_mode": {"mode": "plan"},
    "set_model": {"model": "haiku"},
    "set_effort": {"effort": "low"},
    "set_max_thinking_tokens": {"max_thinking_tokens": 0},
    "rename_session": {"title": "Renamed"},
    "mcp_set_servers": {"servers": {}},
    "mcp_reconnect": {"serverName": "none"},
    "mcp_toggle": {"serverName": "none"},
    "mcp_message": {"server_name": "none", "message": {}},
    "mcp_authenticate": {"serverName": "none"},
    "mcp_call": {"serverName": "none", "tool": "t"},
    "mcp_clear_auth": {"serverName": "none"},
    "mcp_read_resource": {"serverName": "none", "uri": "ui://x"},
    "stop_task": {"task_id": "none"},
    "cancel_async_message": {"message_uuid": "none"},
    "delete_session": {"session_id": "none"},
    "list_models": {"refresh": True, "provider": "anthropic"},
    "steer": {"content": "now"},
    "generate_session_title": {"persist": True},
}
REFUSED = {
    "delete_session": "not_found",
    "mcp_authenticate": "not_found",
    "mcp_call": "not_found",
    "mcp_clear_auth": "not_found",
    "mcp_read_resource": "not_found",
    "mcp_message": "not_found",
    "mcp_reconnect": "not_found",
    "mcp_toggle": "not_found",
    "rewind_files": "rewind_failed",
    "set_cwd": "unsupported",
    "steer": "not_running",
}
"""What cannot be done in this session, and the code that says so."""


def test_every_request_that_is_handled_is_described() -> None:
    handlers = ControlRequests.handlers(object.__new__(ControlRequests))
    assert set(handlers) == SUBTYPES


@pytest.mark.parametrize("dialect", FORMS)
def test_every_question_is_answered(dialect: str, tmp_path: Path) -> None:
    with FakeServer("anthropic-messages", [WIRE]) as server:
        env = child.clean_environment(tmp_path, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY=KEY)
        program = child.start([*FORMS[dialect], "--name", "First"], cwd=tmp_path, env=env)
        try:
            program.send({"type": "user", "message": {"role": "user", "content": "Hello"}})
            program.wait_for("result")
            answers = {}
            for subtype in sorted(SUBTYPES - {ENDS}):
                request = {"subtype": subtype, **GIVEN.get(subtype, {})}
                program.send({"type": "control_request", "request_id": subtype, "request": request})
                answers[subtype] = program.wait_for("control_response")["response"]
            program.send({"type": "control_request", "request_id": ENDS, "request": {"subtype": ENDS}})
            answers[ENDS] = program.wait_for("control_response")["response"]
        finally:
            ended = program.end()
    assert {name: said["request_id"] for name, said in answers.items()} == {name: name for name in answers}
    assert {name: said["error_code"] for name, said in answers.items() if said["subtype"] == "error"} == REFUSED
    check = SchemaCheck(load_schema("control-answers"), strict=True)
    for name, said in answers.items():
        if name not in REFUSED:
            assert check.member(name, said.get("response", {})) == [], name
    stream = StreamCheck(dialect, strict=True)
    assert [problem for line in ended.stdout.splitlines(keepends=True) for problem in stream.feed(line)] == []
    assert KEY.encode() not in ended.stdout + ended.stderr
    sessions = answers["list_sessions"]["response"]["sessions"]
    assert {entry["title"] for entry in sessions} == {"Hello", "First"}  # a copy, and the running one
    assert answers["generate_session_title"]["response"] == {"title": "First"}
    assert answers["get_session"]["response"]["messages"][0]["content"] == [{"type": "text", "text": "Hello"}]
    assert {model["provider"] for model in answers["list_models"]["response"]["models"]} == {"anthropic"}


def test_an_answer_that_takes_time_comes_before_the_end(tmp_path: Path) -> None:
    """A script pipes a question in and closes the pipe: the answer must not be lost."""
    env = child.clean_environment(tmp_path, ANTHROPIC_API_KEY=KEY)
    script = [
        {"type": "control_request", "request_id": str(number), "request": {"subtype": "list_sessions"}}
        for number in range(3)
    ]
    ended = child.run(FORMS["flat"], script, cwd=tmp_path, env=env)
    said = [line["response"] for line in ended.lines if line["type"] == "control_response"]
    assert sorted(each["request_id"] for each in said) == ["0", "1", "2"]
    assert all(each["response"] == {"sessions": []} for each in said)
    assert ended.code == 0
