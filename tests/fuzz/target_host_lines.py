"""Bytes on stdin: lines of both dialects, JSON-RPC messages of ACP, control requests, lines that are split anywhere."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tests.fuzz.harness import Target
from yume_shim.app.acp.params import open_params, session_param, session_values
from yume_shim.host.acp_prompt import read_prompt
from yume_shim.host.input_lines import parse_line, steering_prompt
from yume_shim.host.json_rpc import BadMessage, RpcRequest, error_message, long_message, parse_message
from yume_shim.host.reader import LineReader
from yume_shim.text import codec
from yume_shim.types.commands import ControlAsk, UserInput
from yume_shim.types.errors import BadLine

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.blocks import Json

NAMES = ("stdin", "acp")
CLOSED_FD = -1
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
STDIN: tuple[Json, ...] = (
    {"type": "user", "content": "hi"},
    {"type": "user", "uuid": "u-1", "priority": "now", "message": {"role": "user", "content": [
        {"type": "text", "text": "see"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}, "title": "t"},
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "x"}], "is_error": True}]}},
    {"type": "assistant", "message": {"role": "assistant", "content": [
        {"type": "text", "text": "said"}, {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a"}}]}},
    {"type": "tool_approval", "id": "a1", "approved": True, "input": {"a": 1}, "remember": "session", "rules": ["Bash"]},
    {"type": "set_permission_mode", "mode": "plan"},
    {"type": "set_model", "model": "openai/gpt"},
    {"type": "interrupt"},
    {"type": "ping"},
    {"type": "control_request", "request_id": "r1", "request": {"subtype": "initialize", "hooks": {"PreToolUse": [
        {"matcher": "Bash", "hookCallbackIds": ["h1"], "timeout": 5}]}, "sdkMcpServers": ["x"]}},
    {"type": "control_request", "request_id": 7, "request": {"subtype": "steer", "content": "also", "uuid": "u-9"}},
    {"type": "control_response", "response": {"subtype": "success", "request_id": "r1", "response": {
        "behavior": "allow", "updatedInput": {}, "updatedPermissions": [{"type": "addRules", "rules": [
            {"toolName": "Bash", "ruleContent": "ls"}], "behavior": "allow", "destination": "session"}]}}},
    {"type": "control_response", "response": {"subtype": "error", "request_id": "r1", "error": "no"}},
    {"type": "control_cancel_request", "request_id": "r1"},
)  # fmt: skip
ACP: tuple[Json, ...] = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}},
    {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/w", "mcpServers": [
        {"name": "s", "command": "c", "args": ["a"], "env": [{"name": "A", "value": "b"}]},
        {"type": "http", "name": "h", "url": "http://x", "headers": [{"name": "A", "value": "b"}]}]}},
    {"jsonrpc": "2.0", "id": "x", "method": "session/load", "params": {
        "cwd": "/w", "sessionId": "11111111-2222-4333-8444-555555555555", "mcpServers": []}},
    {"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": {"sessionId": "s", "prompt": [
        {"type": "text", "text": "hi"}, {"type": "image", "mimeType": "image/png", "data": PNG},
        {"type": "resource", "resource": {"uri": "file:///a%20b", "text": "t", "mimeType": "text/plain"}},
        {"type": "resource", "resource": {"uri": "file:///p", "blob": "aGk=", "mimeType": "application/pdf"}},
        {"type": "resource_link", "uri": "file:///w/a.py", "name": "a.py"}]}},
    {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}},
    {"jsonrpc": "2.0", "id": 4, "result": {"outcome": {"outcome": "selected", "optionId": "allow"}}},
    {"jsonrpc": "2.0", "id": 5, "error": {"code": -32000, "message": "no"}},
)  # fmt: skip


def open_target(name: str, folder: Path) -> Target:
    """The target of this name."""
    lines = STDIN if name == "stdin" else ACP
    seeds = tuple(codec.dumps(line) for line in lines)
    whole = b"\n".join(seeds) + b"\r\n\n$\n"
    return Target(name, check_stdin if name == "stdin" else check_acp, (*seeds, whole))


def check_stdin(data: bytes) -> None:
    """Every line is a command or a BadLine that can be shown, however the bytes are split."""
    for line in _lines(data):
        for dialect in ("flat", "claude"):
            try:
                command = parse_line(line, dialect)
                if isinstance(command, ControlAsk) and command.subtype == "steer":
                    command = steering_prompt(command.body, lambda: "fresh")
            except BadLine as bad:
                assert bad.message
                assert len(bad.quote) <= 200
                _show({"message": bad.message, "quote": bad.quote})
                continue
            if isinstance(command, UserInput):
                content = command.content
                _show({"content": list(content) if isinstance(content, tuple) else content})


def check_acp(data: bytes) -> None:
    """Every line is a message or a BadMessage, whose answer can be written."""
    for line in _lines(data):
        try:
            message = parse_message(line)
            if isinstance(message, RpcRequest):
                _use(message)
        except BadMessage as bad:
            _show(error_message(bad))
        told = long_message(line[:1024], 64 << 20)
        if isinstance(told, BadMessage):
            _show(error_message(told))


def _use(message: RpcRequest) -> None:
    if message.method == "session/new":
        session_values({}, open_params("new", message.params))
    elif message.method == "session/load":
        session_param(message.params)
        session_values({"add-dir": ("/x",)}, open_params("load", message.params))
    elif message.method == "session/prompt":
        read_prompt(message.params.get("prompt"), "u-1")


def _lines(data: bytes) -> list[bytes]:
    """The lines that the reader finds, the same however its reads are cut."""
    found = []
    for size in (len(data) + 1, 1 + len(data) // 3):
        lines: list[bytes] = []
        ends: list[bool] = []
        reader = LineReader(CLOSED_FD, lines.append, partial(ends.append, True), lines.append, 1 << 16)
        for start in range(0, len(data), size):
            reader._take(data[start : start + size])
        reader._run()  # its file is closed: it finishes
        assert ends == [True]
        found.append(lines)
    assert found[0] == found[1], "lines depend on how reads are cut"
    return found[0]


def _show(line: Json) -> None:
    codec.dumps(line).decode("utf-8")
