"""SendMessage in whole sessions: an agent that has ended goes on, also in a later process; one that runs reads it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.helpers import child
from tests.helpers.agent_team import config
from tests.helpers.scripted_model import ModelServer, call, say
from tests.helpers.seen_request import read_request

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.scripted_model import Answer

SESSION = "11111111-1111-4111-8111-111111111111"
NESTED = ["-p", "--output-format", "stream-json", "--verbose"]
AGENTS = {"scout": {"description": "Looks", "prompt": "You are a scout.", "tools": ["Read"]}}


def run(folder: Path, answers: list[Answer], *argv: str, flat: bool) -> tuple[child.Ended, list[Any]]:
    """A process of the session; returns its end and the requests."""
    for name in ("ws", "home"):
        (folder / name).mkdir(exist_ok=True)
    with ModelServer(*answers) as server:
        env = child.clean_environment(folder / "home", IS_SANDBOX="1", **config(folder, server.url))
        form = [*([] if flat else NESTED), "--model", "one/model-one", "--agents", json.dumps(AGENTS), *argv]
        script: list[dict[str, Any]] = [{"type": "user", "content": "Go."}] if flat else [{"!raw": "Go."}]
        ended = child.run(form, script, cwd=folder / "ws", env=env)
        assert server.left == 0, ended.stdout.decode() + ended.stderr.decode()
        requests = [read_request(request) for request in server.requests if request.method == "POST"]
    assert ended.code == 0, ended.stderr
    return ended, requests


def subtypes(lines: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [line for line in lines if line.get("subtype") == name]


def test_an_agent_of_an_earlier_process_goes_on(tmp_path: Path) -> None:
    start = call("Agent", description="look", prompt="Find pears.", subagent_type="scout", run_in_background=False)
    ended, _ = run(tmp_path, [[start], [say("Two pears.")], [say("Two.")]], "--session-id", SESSION, flat=True)
    [begun] = subtypes(ended.lines, "task_started")
    agent_id, first_call = begun["task_id"], begun["tool_use_id"]

    message = call("SendMessage", to=agent_id, summary="ask for apples", message="And apples?")
    nobody = call("SendMessage", to="../a", message="Hello?")
    answers: list[Answer] = [[message], [say("One apple.")], [nobody], [say("One.")]]
    ended, requests = run(tmp_path, answers, "--resume", SESSION, flat=True)
    assert [requests[1].said[-2], requests[1].said[-1].rpartition("\n")[2]] == ["Find pears.", "And apples?"]
    assert requests[1].tools == ("Read",)
    assert "One apple." in requests[2].results[-1]
    assert '"success":false' in requests[3].results[-1]
    [begun] = subtypes(ended.lines, "task_started")
    assert (begun["task_id"], begun["tool_use_id"] != first_call) == (agent_id, True)
    assert {line["parent_tool_use_id"] for line in ended.lines if line.get("agent_id") == agent_id} == {first_call}

    message = call("SendMessage", to=agent_id, message="And plums?")
    answers = [[message], [say("None.")], [say("None.")], [say("None.")]]  # the agent's and the main answer may cross
    ended, requests = run(tmp_path, answers, "--resume", SESSION, flat=False)
    [begun] = subtypes(ended.lines, "task_started")
    assert (begun["task_id"], begun["is_backgrounded"], begun["prompt"][-10:]) == (agent_id, True, "And plums?")
    [sent] = [line["tool_use_result"] for line in ended.lines if "tool_use_result" in line]
    assert (sent["success"], sent["resumedAgentId"]) == (True, agent_id)
    results = [line for line in ended.lines if line["type"] == "result"]
    assert [line.get("origin", {}).get("kind") for line in results] == [None, "task-notification"]
    transcript = next((tmp_path / "home").rglob(f"agent-{agent_id}.jsonl"))
    entries = [json.loads(line) for line in transcript.read_text().splitlines()]
    chain = [entry for entry in entries if entry.get("uuid")]
    assert [entry["parentUuid"] for entry in chain] == [None, *(entry["uuid"] for entry in chain[:-1])]
