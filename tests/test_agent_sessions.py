"""What a definition brings along, in whole sessions: servers, hooks, a permission mode, a model with fallbacks."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.helpers import child, mcp_server
from tests.helpers.agent_team import config
from tests.helpers.scripted_model import ModelServer, call, refuse, say
from tests.helpers.seen_request import read_request

if TYPE_CHECKING:
    from tests.helpers.scripted_model import Answer

NESTED = ["-p", "--output-format", "stream-json", "--verbose", "--model", "one/model-one"]


def run(folder: Path, agents: dict[str, Any], answers: list[Answer], *more: str, flat: bool = False) -> Any:
    """A session with these agents; returns its end and the requests."""
    (folder / "ws").mkdir()
    (folder / "home").mkdir()
    with ModelServer(*answers) as server:
        env = child.clean_environment(folder / "home", IS_SANDBOX="1", **config(folder, server.url))
        form = ["--model", "one/model-one"] if flat else NESTED
        argv = [*form, "--agents", json.dumps(agents), *more]
        script: list[dict[str, Any]] = [{"type": "user", "content": "Go."}] if flat else [{"!raw": "Go."}]
        ended = child.run(argv, script, cwd=folder / "ws", env=env)
        assert server.left == 0, ended.stdout.decode() + ended.stderr.decode()
        requests = [read_request(request) for request in server.requests if request.method == "POST"]
    return ended, requests


def agent(kind: str) -> Any:
    return call("Agent", description="work", prompt="Work.", subagent_type=kind, run_in_background=False)


def test_servers_and_hooks_live_as_long_as_the_agent(tmp_path: Path) -> None:
    log = tmp_path / "hooks.jsonl"
    hook = [{"hooks": [{"type": "command", "command": f"cat >> {log}; echo >> {log}"}]}]
    server = {"command": sys.executable, "args": [str(Path(mcp_server.__file__)), "stdio"]}
    definition = {
        "description": "Adds",
        "prompt": "You add.",
        "tools": ["Read"],
        "mcpServers": [{"own": server}],
        "hooks": {"PreToolUse": hook, "Stop": hook},
    }
    answers: list[Answer] = [
        [agent("adder")],
        [call("mcp__own__add", a=1, b=2)],
        [say("Three.")],
        [call("Glob", pattern="*.txt")],
        [say("Done.")],
    ]
    ended, requests = run(tmp_path, {"adder": definition}, answers, "--permission-mode", "bypassPermissions")
    assert (ended.code, ended.stderr) == (0, b"")
    offered = [{name for name in request.tools if name.startswith("mcp__")} for request in requests]
    assert ["mcp__own__add" in names for names in offered] == [False, True, True, False, False]
    assert [name for name in requests[1].tools if not name.startswith("mcp__") and "Mcp" not in name] == ["Read"]
    assert "3" in requests[2].results[0]
    told = [json.loads(line) for line in log.read_text().splitlines() if line.strip()]
    assert [(each["hook_event_name"], each["agent_type"]) for each in told] == [
        ("PreToolUse", "adder"),
        ("SubagentStop", "adder"),
    ]


def test_an_agent_has_its_own_chain_of_models(tmp_path: Path) -> None:
    definition = {
        "description": "D",
        "prompt": "You try.",
        "model": "two/model-two",
        "fallbackModel": "three/model-three, four/model-four",
    }
    answers: list[Answer] = [[agent("trier")], [refuse(529)], [say("Three answers.")], [say("Done.")]]
    ended, requests = run(tmp_path, {"trier": definition}, answers, "--max-retries", "0", flat=True)
    assert [request.model for request in requests] == ["model-one", "model-two", "model-three", "model-one"]
    lines = ended.lines
    [result] = [line for line in lines if line["type"] == "result"]
    assert [(row["model"], row["provider"]) for row in result["agentUsage"]] == [("model-three", "three")]
    changed = [line for line in lines if line.get("subtype") == "model"]
    assert [(line["model"], "agent_id" in line) for line in changed] == [("model-three", True)]


def test_a_permission_mode_is_the_agents_alone(tmp_path: Path) -> None:
    definition = {"description": "D", "prompt": "You write.", "permissionMode": "acceptEdits"}
    answers: list[Answer] = [
        [agent("writer")],
        [call("Write", file_path="inside.txt", content="x")],
        [say("Written.")],
        [call("Write", file_path="outside.txt", content="x")],
        [say("Refused.")],
    ]
    ended, _ = run(tmp_path, {"writer": definition}, answers)
    assert sorted(path.name for path in (tmp_path / "ws").iterdir()) == ["inside.txt"]
    [result] = [line for line in ended.lines if line["type"] == "result"]
    assert [denial["tool_input"]["file_path"] for denial in result["permission_denials"]] == [
        str(tmp_path / "ws" / "outside.txt")
    ]


def test_an_unknown_agent(tmp_path: Path) -> None:
    for folder, argv, flat in (("text", ["--agent", "nobody"], False), ("flat", ["--agent", "nobody"], True)):
        (tmp_path / folder).mkdir()
        ended, requests = run(tmp_path / folder, {}, [], *argv, flat=flat)
        assert (ended.code, requests) == (2 if flat else 1, [])
        assert b"agent 'nobody' not found. Available agents: Explore, general-purpose, Plan" in ended.stderr
