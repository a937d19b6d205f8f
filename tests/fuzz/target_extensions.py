"""What extensions say: messages of MCP servers, answers and tables of hooks; and cassettes with recordings of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.fuzz.harness import Target
from tests.fuzz.target_provider import check_order
from tests.helpers.fakes import FakeIds, cancel
from yume_shim.engine.cancel import CancelSignal
from yume_shim.extensions.hooks.answers import HookRun, async_seconds, is_async, read_answer
from yume_shim.extensions.hooks.combined import Combined
from yume_shim.extensions.hooks.reading import hooks_of_host, hooks_of_settings, host_problem
from yume_shim.extensions.hooks.specs import Hook
from yume_shim.extensions.mcp.broken_answers import broken_answer
from yume_shim.extensions.mcp.errors import McpError
from yume_shim.extensions.mcp.event_stream import EventStream
from yume_shim.extensions.mcp.listing import read_list, tool_specs
from yume_shim.extensions.mcp.peer import Peer
from yume_shim.extensions.mcp.progress import progress_to
from yume_shim.extensions.mcp.prompts import _listed
from yume_shim.extensions.mcp.recording import open_place, tape_path
from yume_shim.extensions.mcp.results import resource_blocks, tool_output
from yume_shim.providers.cassettes.replay import ReplayProvider
from yume_shim.text import codec
from yume_shim.types.blocks import Message, Text
from yume_shim.types.errors import BadInvocation
from yume_shim.types.models import Request

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.blocks import Json

NAMES = ("mcp", "hooks", "cassettes")
CUT = b"\n%%\n"
SCHEMA = {"type": "object", "properties": {"a": {"type": ["string", "null"], "enum": ["x"]}}, "required": ["a"]}
CONTENT = [
    {"type": "text", "text": "x"},
    {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"},
    {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
    {"type": "resource", "resource": {"uri": "file:///a", "text": "t", "mimeType": "text/plain"}},
    {"type": "resource", "resource": {"uri": "x:y", "blob": "aGk=", "mimeType": "application/pdf"}},
    {"type": "resource_link", "uri": "https://x", "name": "n"},
]
MCP: tuple[Json, ...] = (
    {"jsonrpc": "2.0", "id": 0, "result": {"tools": [{"name": "t", "description": "d", "inputSchema": SCHEMA,
     "annotations": {"readOnlyHint": True}}], "nextCursor": "c"}},
    {"jsonrpc": "2.0", "id": 0, "result": {"content": CONTENT, "isError": False, "structuredContent": {"a": 1}}},
    {"jsonrpc": "2.0", "id": 0, "result": {"prompts": [{"name": "p", "arguments": [{"name": "a", "required": True}]}]}},
    {"jsonrpc": "2.0", "id": 0, "result": {"contents": [{"uri": "x:y", "blob": "aGk="}, {"uri": "a", "text": "t"}]}},
    {"jsonrpc": "2.0", "id": 0, "error": {"code": -32601, "message": "no", "data": {}}},
    {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 0, "progress": 1, "total": 2}},
    {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
    {"jsonrpc": "2.0", "id": 9, "method": "elicitation/create", "params": {"message": "m", "requestedSchema": SCHEMA}},
)  # fmt: skip
EVENTS = ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "PermissionRequest", "SessionStart")
HOOK_ANSWERS: tuple[Json, ...] = (
    {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "updatedInput": {"a": 1},
     "permissionDecisionReason": "r", "additionalContext": "c"}},
    {"continue": False, "stopReason": "s", "suppressOutput": True, "systemMessage": "m", "decision": "block", "reason": "r"},
    {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow", "updatedInput": {},
     "message": "m", "interrupt": True, "updatedPermissions": []}}},
    {"async": True, "asyncTimeout": 100}, {"ok": False, "reason": "r"},
    {"PreToolUse": [{"matcher": "Bash|mcp__.*", "hookCallbackIds": ["h"], "timeout": 5, "hooks": [
     {"type": "command", "command": "x", "args": ["a"], "shell": "bash", "async": True}, {"type": "http", "url": "http://x"},
     {"type": "prompt", "prompt": "p"}, {"type": "agent", "prompt": "p"}, {"type": "mcp_tool", "server": "s", "tool": "t"}]}]},
)  # fmt: skip
HOOK_WORDS = (b"(", b"(?:", b"[[", b"a{99999999999999999999}", b"(?i)", b"(?P<a>", b"\\\\1", b"|", b"*", b"+?")
TOML = b'api = "openai-chat"\nmodel = "m"\ntools = true\nstreaming = true\n'
WIRE: tuple[Json, ...] = (
    {"!headers": {"X-Request-Id": "r"}},
    {"id": "c", "choices": [{"index": 0, "delta": {"content": "Hi"}}]},
    {"!sleep_ms": 5},
    {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}},
    {"!drop": True},
)
STATUS = {"!status": 429, "headers": {"Retry-After": "1"}, "body": {"error": {"message": "slow down"}}}
TAPE = b'{"sent":{"id":0,"method":"tools/list","params":{}}}\n{"got":{"id":0,"result":{"tools":[]}}}\n{"gone":"bye"}\n'


class Impatient(CancelSignal):
    """A stop signal whose waits end at once: what waits for ever is stopped."""

    def wait(self, seconds: float) -> bool:
        if seconds > 60:
            self.set()
        return self.is_set()


def open_target(name: str, folder: Path) -> Target:
    """The target of this name."""
    if name == "mcp":
        seeds = tuple(codec.dumps(item) for item in MCP)
        sse = b"".join(b"event: message\nid: 1\ndata: " + seed + b"\n\n" for seed in seeds[:3])
        return Target(name, check_mcp, (*seeds, b"\n".join(seeds), b"[" + b",".join(seeds[:2]) + b"]", sse))
    if name == "hooks":
        return Target(
            name, check_hooks, (*(codec.dumps(item) for item in HOOK_ANSWERS), b"plain words\n", b"{a"), HOOK_WORDS
        )
    (folder / "wire").mkdir()
    (folder / "mcp").mkdir()
    lines = b"\n".join(codec.dumps(item) for item in WIRE)
    seeds = (TOML + CUT + lines + CUT + TAPE, TOML + CUT + codec.dumps(STATUS) + CUT + TAPE)
    words = (b'{"!hold":true}\n', b'{"!drop":1}\n', b'{"!whole":{}}\n', b'{"!status":"x"}\n', CUT, b"[[", b'{"!bad":1}')
    return Target(name, lambda data: check_cassette(folder, data), seeds, words)


def check_mcp(data: bytes) -> None:
    """Whatever a server sends, a request ends with a result or an McpError, and both can be shown."""
    messages: list[Any] = []
    for line in data.split(b"\n"):
        try:
            messages.append(codec.loads(line.strip()))
        except ValueError:
            failed = broken_answer(line.strip())
            messages += [] if failed is None else [failed]
    stream = EventStream()
    try:
        for event in stream.feed(data):
            messages.append(codec.loads_object(event.data))
    except McpError as error:
        assert error.message

    def send(message: Json) -> None:
        if message.get("method") == "tools/list":
            for said in messages:
                peer.take(said)

    peer = Peer(send, lambda method, params: {}, lambda method, params: None)
    progress = progress_to(lambda report: None)
    try:
        result = peer.request("tools/list", {}, seconds=0.0, cancel=cancel(), on_progress=progress)
        codec.dumps(result)
        _use(result)
    except McpError as error:
        codec.dumps({"message": error.message})

    def send_again(message: Json) -> None:
        if message.get("method") == "tools/list":
            for said in messages:
                again.take(said)

    again = Peer(send_again, lambda method, params: {}, lambda method, params: None)
    try:
        read_list(again, "tools/list", "tools", 0.0, cancel())
    except McpError as error:
        assert error.message


def _use(result: Json) -> None:
    for field in ("tools", "prompts", "contents"):
        entries = (
            [entry for entry in result.get(field) or () if isinstance(entry, dict)]
            if isinstance(result.get(field), list)
            else []
        )
        if field == "tools":
            for _, spec in tool_specs("s", entries, lambda level, text: None).values():
                codec.dumps(spec.schema)
        for entry in entries:
            if field == "prompts" and isinstance(entry.get("name"), str):
                codec.dumps(_listed("n", entry))
            if field == "contents":
                resource_blocks(entry)
    output = tool_output(result)
    codec.dumps({"shown": output.structured if hasattr(output, "structured") else str(output.content)})


def check_hooks(data: bytes) -> None:
    """Any output of a hook is an answer; any table of hooks is hooks, each with what is wrong with it."""
    text = data.decode("utf-8", "replace")
    body = codec.loads_object(data)
    is_async(data)
    seconds = async_seconds(data)
    assert seconds is None or seconds > 0
    mark = len(data)
    event = EVENTS[mark % len(EVENTS)]
    answers = []
    for hook in (Hook(event, command="x"), Hook(event, url="http://x"), Hook(event, callback_id="c")):
        run = HookRun(hook, code=(0, 2, 1, -9, 127)[mark % 5], stdout=text, stderr=text[:50], cut=mark % 7 == 0)
        answers.append(read_answer(run))
        if body is not None:
            answers.append(read_answer(HookRun(hook, body=body)))
    combined = Combined(tuple(answers))
    assert not any(answer.blocks for answer in answers) or combined.verdict == "deny"
    codec.dumps({"reason": combined.reason, "input": combined.input, "stopped": combined.stopped})
    for hook in hooks_of_settings(body, "user"):
        hook.matches("Bash")
        assert 0 < hook.seconds < float("inf")
    if not host_problem(body):
        for hook in hooks_of_host(body):
            hook.matches("Bash")


def check_cassette(folder: Path, data: bytes) -> None:
    """A cassette plays to one terminal event, or is refused."""
    toml, _, rest = data.partition(CUT)
    wire, _, tape = rest.partition(CUT)
    (folder / "cassette.toml").write_bytes(toml)
    (folder / "wire" / "01.jsonl").write_bytes(wire)
    errors: list[str] = []
    try:
        provider = ReplayProvider(
            str(folder), FakeIds(), lambda level, text: errors.append(text) if level == "error" else None
        )
    except BadInvocation as bad:
        assert bad.message
    else:
        events = list(provider.stream(Request(provider.model, (Message("user", (Text("go"),)),)), Impatient()))
        check_order(events)
        assert not errors, errors[0][:80]
    path = tape_path(str(folder), "s")
    with open(path, "wb") as file:
        file.write(tape)
    said = open_place(str(folder), "s").after({"id": 3, "method": "tools/list", "params": {}})
    codec.dumps([list(item) for item in said])
