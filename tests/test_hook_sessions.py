"""Hooks in the whole program: what they are given, what reaches later commands, what they may change."""

from __future__ import annotations

import json
import os
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.scripted_model import ModelServer, call, say
from tests.helpers.vendor_place import FLAT, MODELS, NESTED, VendorPlace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.helpers.scripted_model import Answer

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the commands are written for a POSIX shell")
APIS = ("anthropic-messages", "openai-responses")


class HookedPlace:
    """A workspace whose settings hold hooks."""

    def __init__(self, folder: Path, server: ModelServer, api: str, **hooks: str) -> None:
        """Event → command."""
        self.place, self.api = VendorPlace(folder, server), api
        table = {event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in hooks.items()}
        self.settings = json.dumps({"hooks": table})
        self.cwd = self.place.cwd

    def run(self, *prompts: str, argv: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        lines = [{"type": "user", "message": {"role": "user", "content": text}} for text in prompts]
        return self.place.run("--model", MODELS[self.api], "--settings", self.settings, *argv, lines=lines)

    def given(self) -> list[dict[str, Any]]:
        """What the hooks wrote to `log`, in order."""
        return [json.loads(line) for line in (self.cwd / "log").read_text("utf-8").splitlines()]


LOG = "cat >> log"
SEEN = """python3 -c '
import json, sys
given = json.load(sys.stdin)
try:
    lines = open(given["transcript_path"], encoding="utf-8").read().splitlines()
except FileNotFoundError:
    lines = []
print(json.dumps([given["hook_event_name"], [json.loads(line).get("type") for line in lines]]), file=open("log", "a"))
'"""


def results(lines: list[dict[str, Any]]) -> list[str]:
    blocks = [block for line in lines if line["type"] == "user" for block in line["message"]["content"]]
    return [block["content"] for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]


@pytest.mark.parametrize("api", APIS)
def test_variables_of_the_env_file_reach_later_commands(tmp_path: Path, api: str) -> None:
    text = 'export GREETING="hello you"\\nexport PATH="$PATH:/opt/extra"\\nLOCAL=1\\n'
    hook = f"printf '{text}' >> \"$CLAUDE_ENV_FILE\""
    script: list[Answer] = [
        [call("Bash", command='echo "$GREETING|${PATH##*:}|$LOCAL|$CLAUDE_ENV_FILE|"')],
        [say("Done.")],
    ]
    with ModelServer(*script) as server:
        place = HookedPlace(tmp_path, server, api, SessionStart=hook)
        lines = place.run("Go", argv=("--allowedTools", "Bash"))
    assert results(lines) == ["hello you|/opt/extra|||"]
    assert not list(tmp_path.rglob("hook-env-*"))


@pytest.mark.parametrize(
    "text", ["exit 3", "export A='", "sleep 60 & export B=1; while :; do :; done", "\\000\\377", "export C=1"]
)
def test_an_env_file_that_is_odd_breaks_nothing(tmp_path: Path, text: str) -> None:
    from yume_shim.extensions.hooks import env_file

    logged: list[str] = []
    patched = pytest.MonkeyPatch()
    patched.setattr(env_file, "READ_SECONDS", 0.5)
    try:
        file = env_file.EnvFile({"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}, str(tmp_path))
        with open(file.path, "w", encoding="utf-8") as written:
            written.write(text)
        found = file.take(lambda level, message: logged.append(message))
    finally:
        patched.undo()
    assert found == ({"C": "1"} if text == "export C=1" else {})
    assert not os.path.exists(file.path)


@pytest.mark.parametrize("api", APIS)
def test_all_hooks_of_a_prompt_get_its_id(tmp_path: Path, api: str) -> None:
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
    script: list[Answer] = [[call("Glob", pattern="*")], [say("One.")], [call("Glob", pattern="*")], [say("Two.")]]
    with ModelServer(*script) as server:
        place = HookedPlace(tmp_path, server, api, **dict.fromkeys(events, LOG))
        place.run("First", "Second")
    given = place.given()
    assert [each["hook_event_name"] for each in given] == [*events, *events[1:]]
    assert "prompt_id" not in given[0]  # the session has begun, no prompt has
    first, second = {each["prompt_id"] for each in given[1:5]}, {each["prompt_id"] for each in given[5:]}
    assert len(first) == len(second) == 1
    assert first != second


@pytest.mark.parametrize("api", APIS)
def test_a_hook_can_read_the_lines_so_far(tmp_path: Path, api: str) -> None:
    """The prompt before a call, the call after it, the answer when the turn ends."""
    events = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
    with ModelServer([call("Glob", pattern="*")], [say("One.")], [say("Two.")]) as server:
        place = HookedPlace(tmp_path, server, api, **dict.fromkeys(events, SEEN))
        place.run("First", "Second")
    seen: list[Any] = place.given()
    turns = [[name, [kind for kind in kinds if kind in ("user", "assistant")]] for name, kinds in seen]
    assert turns == [
        ["UserPromptSubmit", []],
        ["PreToolUse", ["user", "assistant"]],
        ["PostToolUse", ["user", "assistant"]],
        ["Stop", ["user", "assistant", "user", "assistant"]],
        ["UserPromptSubmit", ["user", "assistant", "user", "assistant"]],
        ["Stop", ["user", "assistant", "user", "assistant", "user", "assistant"]],
    ]


def allow(**more: Any) -> str:
    decision = {"behavior": "allow", **more}
    answer = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}
    return f"cat >> log; echo '{json.dumps(answer)}'"


@pytest.mark.parametrize("api", APIS)
def test_a_permission_hook_adds_rules_and_changes_the_input(tmp_path: Path, api: str) -> None:
    rule = {
        "type": "addRules",
        "rules": [{"toolName": "Write"}],
        "behavior": "allow",
        "destination": "session",
    }
    new = {"file_path": "b.txt", "content": "changed"}
    script: list[Answer] = [
        [call("Write", file_path="a.txt", content="one")],
        [call("Write", file_path="c.txt", content="two")],
        [say("Done.")],
    ]
    with ModelServer(*script) as server:
        place = HookedPlace(tmp_path, server, api, PermissionRequest=allow(updatedPermissions=[rule], updatedInput=new))
        place.run("Go")
    assert len(place.given()) == 1, "the second call is allowed by the new rule"
    assert sorted(path.name for path in place.cwd.glob("*.txt")) == ["b.txt", "c.txt"]
    assert (place.cwd / "b.txt").read_text("utf-8") == "changed"


@pytest.mark.parametrize("api", APIS)
def test_a_deny_rule_beats_the_input_that_a_hook_chose(tmp_path: Path, api: str) -> None:
    hook = allow(updatedInput={"file_path": "secret.txt", "content": "x"})
    with ModelServer([call("Write", file_path="a.txt", content="one")], [say("Done.")]) as server:
        place = HookedPlace(tmp_path, server, api, PermissionRequest=hook)
        lines = place.run("Go", argv=("--disallowedTools", "Write(secret.txt)"))
    assert not list(place.cwd.glob("*.txt"))
    [result] = [line for line in lines if line["type"] == "result"]
    assert len(result["permission_denials"]) == 1


@pytest.mark.parametrize("form", [NESTED, FLAT])
def test_an_async_hook_is_not_waited_for(tmp_path: Path, form: tuple[str, ...]) -> None:
    """It works on while the turn goes on, and ends with the session at the latest."""
    hook = "echo '{\"async\": true}'; while [ ! -e go ]; do sleep 0.05; done; echo done > finished; sleep 600"
    script: list[Answer] = [
        [call("Bash", command="touch go; until [ -e finished ]; do sleep 0.05; done; cat finished")]
    ]
    with ModelServer(*script, [say("Done.")]) as server:
        place = HookedPlace(tmp_path, server, "openai-responses", PreToolUse=hook)
        user = {"type": "user", "content": "Go"} if form == FLAT else None
        argv = ("--model", MODELS[place.api], "--settings", place.settings, "--allowedTools", "Bash")
        lines = (
            place.place.run(*argv, lines=[user], form=form)
            if user is not None
            else place.run("Go", argv=("--allowedTools", "Bash"))
        )
    assert '"done' in json.dumps(lines)
    assert [line["is_error"] for line in lines if line["type"] == "result"] == [False]


def test_guards_of_a_host_that_cannot_be_read_refuse_all_calls(tmp_path: Path) -> None:
    """The host is told; if it goes on all the same, nothing runs unguarded. Hooks of the settings decide about models,
    and hear that the host was asked."""
    script: list[Answer] = [[call("Glob", pattern="*")], [say("No.")]]
    hooks = {
        "PreModelSwitch": "cat >> log; echo stay >&2; exit 2",
        "PostModelSwitch": "touch wrong",
    }
    lines = [
        ask("r1", subtype="initialize", hooks={"PreToolUse": [{"hookCallbackIds": "h0"}]}),
        ask("r2", subtype="set_model", model="claude-haiku-4-5"),
        {"!after": "control_response"},
        {"!after": "control_response"},
        {"type": "user", "message": {"role": "user", "content": "Go"}},
    ]
    with ModelServer(*script) as server:
        place = HookedPlace(tmp_path, server, APIS[0], **hooks)
        argv = [*NESTED, "--model", MODELS[APIS[0]], "--settings", place.settings]
        ended = child.run(argv, [*lines, {"!after": "result"}], cwd=place.cwd, env=place.place.env)
    printed = ended.lines
    answers = {
        line["response"]["request_id"]: line["response"] for line in printed if line["type"] == "control_response"
    }
    assert answers["r1"]["subtype"] == "error"
    assert answers["r1"]["error"].startswith("`hooks.PreToolUse` has an entry without a list of texts")
    assert answers["r2"]["error"].startswith("a hook refused the model claude-haiku-4-5: ")
    [switch] = place.given()
    assert (switch["hook_event_name"], switch["to_model"]) == ("PreModelSwitch", "claude-haiku-4-5")
    assert not (place.cwd / "wrong").exists()
    [result] = results(printed)
    assert "the hooks of the host: `hooks.PreToolUse` has an entry" in result


def ask(number: str, **request: Any) -> dict[str, Any]:
    return {"type": "control_request", "request_id": number, "request": request}


def test_an_address_changes_a_call(tmp_path: Path) -> None:
    asked: list[Any] = []

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            special = {"hookEventName": "PreToolUse", "updatedInput": {"command": "echo changed"}}
            body = json.dumps({"hookSpecificOutput": special | {"permissionDecision": "allow"}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ModelServer([call("Bash", command="touch made")], [say("Done.")]) as server, serving(Answers) as url:
        place = HookedPlace(tmp_path, server, "anthropic-messages")
        place.settings = json.dumps({"hooks": {"PreToolUse": [{"hooks": [{"type": "http", "url": url}]}]}})
        lines = place.run("Go")
    assert results(lines) == ["changed"]
    assert [(each["hook_event_name"], each["tool_input"]) for each in asked] == [
        ("PreToolUse", {"command": "touch made"})
    ]
    assert not (place.cwd / "made").exists()


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """A server on the loopback address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook"
    finally:
        server.shutdown()
        server.server_close()
