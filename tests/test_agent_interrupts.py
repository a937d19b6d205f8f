"""A team of eight agents on four APIs: side by side to their end, and interrupted at random moments.

`python -m tests.test_agent_interrupts 50 SEED` interrupts 50 sessions.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from claude_agent_sdk import get_subagent_messages, list_subagents

from tests.helpers import child, listening_shim
from tests.helpers.agent_team import APIS, MARK, TeamServer, config, definitions, report_of
from yume_shim.text import codec

if TYPE_CHECKING:
    from tests.helpers.child import Child

COUNT = 8
MAX_LINES = 70
"""An interrupt comes after at most this many lines."""
STALLED = 1.0
"""Seconds without a line after which the session stands still, and the interrupt comes."""
DEADLINE = 90.0
FORMS = {
    "flat": ["--permission-mode", "bypassPermissions"],
    "nested": [
        *("-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose"),
        *("--permission-mode", "bypassPermissions"),
    ],
}
PROMPT: dict[str, Any] = {"flat": {"type": "user", "content": "Start."}}
PROMPT["nested"] = {"type": "user", "message": {"role": "user", "content": "Start."}}
SECOND: dict[str, Any] = {"flat": {"type": "user", "content": "Never mind."}}
SECOND["nested"] = {"type": "user", "message": {"role": "user", "content": "Never mind."}}
STOP: dict[str, Any] = {"flat": {"type": "interrupt"}}
STOP["nested"] = {"type": "control_request", "request_id": "stop", "request": {"subtype": "interrupt"}}


def start(folder: Path, server: TeamServer, form: str) -> Child:
    (folder / "ws").mkdir()
    (folder / "ws" / "notes.txt").write_text("notes of the team\n")
    (folder / "home").mkdir()
    agents = codec.dumps(definitions(COUNT)).decode()
    env = child.clean_environment(folder / "home", IS_SANDBOX="1", **config(folder, server.url))
    argv = [*FORMS[form], "--model", "one/model-one", "--agents", agents]
    program = listening_shim.order_checked()
    return child.start(argv, cwd=folder / "ws", env=env, program=program, deadline=DEADLINE)


def wait_for_moment(program: Child, lines: int) -> None:
    """Until so many lines came, or none comes any more."""
    last, seen = time.monotonic(), 0
    while len(program.out) < lines and time.monotonic() - last < STALLED:
        if len(program.out) != seen:
            last, seen = time.monotonic(), len(program.out)
        time.sleep(0.002)


def left_behind() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", MARK.encode()]:
            found.append(str(path))
    return found


def calls_and_results(lines: list[dict[str, Any]]) -> tuple[Counter[str], Counter[str]]:
    made: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for line in lines:
        content = line.get("message", {}).get("content") if line["type"] in ("assistant", "user") else None
        for block in [line, *(content if isinstance(content, list) else ())]:
            if block.get("type") == "tool_use":
                made[block["id"]] += 1
            elif block.get("type") == "tool_result":
                answered[block["tool_use_id"]] += 1
    return made, answered


def check(folder: Path, lines: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call one result, every prompt one `result`, every agent one end, transcripts that load, no process left."""
    made, answered = calls_and_results(lines)
    assert made == answered, report_of(lines)
    assert set(made.values()) <= {1}
    results = [line for line in lines if line["type"] == "result" and "origin" not in line]
    assert len(results) == 2, report_of(lines)
    started = [line["task_id"] for line in lines if line.get("subtype") == "task_started"]
    ended = [line["task_id"] for line in lines if line.get("subtype") == "task_notification"]
    agents = [name for name in started if name.startswith("a")]
    assert sorted(agents) == sorted(name for name in ended if name.startswith("a")), report_of(lines)
    session = next(line["session_id"] for line in lines if "session_id" in line)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder / "home" / ".claude"))
    stored = list_subagents(session, directory=str(folder / "ws"))
    assert set(stored) <= set(agents)
    for agent in stored:
        messages = get_subagent_messages(session, agent, directory=str(folder / "ws"))
        assert messages, agent
    assert left_behind() == []


def interrupted(folder: Path, form: str, background: bool, lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One session: start the team, interrupt after so many lines, go on, end."""
    with TeamServer(COUNT, stuck=True, background=background) as server:
        program = start(folder, server, form)
        try:
            program.send(PROMPT[form])
            wait_for_moment(program, lines)
            program.send(STOP[form])
            program.wait_for("result")
            program.send(SECOND[form])
            program.wait_for("result")
            ended = program.end()
        finally:
            program.kill()
    assert ended.code == 0, ended.stderr.decode()
    assert b"Traceback" not in ended.stderr
    check(folder, ended.lines, monkeypatch)


@pytest.mark.parametrize(
    ("form", "background", "lines"),
    [("nested", False, 12), ("nested", False, 45), ("nested", True, 30), ("flat", True, 40)],
)
def test_a_team_is_interrupted(
    form: str, background: bool, lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(tmp_path, form, background, lines, monkeypatch)


def test_a_team_on_four_apis_works_side_by_side(tmp_path: Path) -> None:
    """Whole lines, each agent's in its own order, all reports, and a table of what each has used."""
    with TeamServer(COUNT, stuck=False, background=False) as server:
        program = start(tmp_path, server, "nested")
        try:
            program.send(PROMPT["nested"])
            ended = program.end()
        finally:
            program.kill()
        asked = server.asked
    lines = ended.lines
    assert asked == {"main": {APIS[0]}, **{f"a{n}": {APIS[n % 4]} for n in range(COUNT)}}
    made, answered = calls_and_results(lines)
    assert made == answered
    [result] = [line for line in lines if line["type"] == "result"]
    assert (result["subtype"], result["num_turns"]) == ("success", 1 + COUNT)
    table = result["agentUsage"]
    assert sorted((row["agent_type"], row["model"], row["provider"]) for row in table) == sorted(
        (f"a{n}", *(f"model-{place}", place))
        for n, place in ((n, ("one", "two", "three", "four")[n % 4]) for n in range(COUNT))
    )
    assert {row["outputTokens"] > 0 for row in table} == {True}
    for agent in {line["agent_id"] for line in lines if "agent_id" in line}:
        kinds = [kind_of(line) for line in lines if line.get("agent_id") == agent]
        assert kinds == ["text", "tool_use", "tool_result"], agent


def kind_of(line: dict[str, Any]) -> str:
    return str(line["message"]["content"][0]["type"])


def main(count: int, seed: int) -> None:
    """Interrupt `count` sessions; prints what was tried before it is tried."""
    chosen = random.Random(seed)
    for number in range(count):
        form = chosen.choice(("flat", "nested"))
        background = form == "flat" or chosen.random() < 0.5
        lines = chosen.randint(1, MAX_LINES)
        where = "background" if background else "foreground"
        sys.stdout.write(f"{number}: {form}, {where}, after {lines} lines\n")
        sys.stdout.flush()
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            interrupted(Path(folder), form, background, lines, patch)
    sys.stdout.write(f"{count} sessions, seed {seed}: in order\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
