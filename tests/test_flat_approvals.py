"""Approvals of a flat host, as processes: a bare start asks, saved answers count later, planted files do not."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from tests.helpers import child
from tests.helpers.scripted_model import ModelServer, call, say

if TYPE_CHECKING:
    from pathlib import Path

APPROVE: dict[str, Any] = {"type": "tool_approval", "approved": True}


class Host:
    """A home, a workspace, and a flat program in it."""

    def __init__(self, root: Path) -> None:
        self.home, self.work = root / "home", root / "work"
        self.home.mkdir()
        self.work.mkdir()

    def run(self, script: list[Any], *argv: str, answer: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """The lines of one turn; a question is answered with `answer`, once."""
        with ModelServer(*([step] for step in script)) as server:
            env = child.clean_environment(self.home, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="not-a-key")
            process = child.start(["--output-format", "flat", *argv], cwd=self.work, env=env)
            process.send({"type": "user", "content": "Go."})
            if answer is not None:
                asked = process.wait_for("approval_needed")
                process.send({**answer, "id": asked["tool_use_id"]})
            process.wait_for("message_stop")
            process.close_input()
            return process.end().lines


def subtypes(lines: list[dict[str, Any]]) -> list[str]:
    return [line.get("subtype", line["type"]) for line in lines]


def test_a_saved_answer_counts_after_a_restart_and_a_planted_file_does_not(tmp_path: Path) -> None:
    host = Host(tmp_path)
    script = [call("Bash", command="touch made"), say("done")]
    planted = {"permissions": {"allow": ["Bash(touch:*)"]}, "folders": {str(host.work): {"allow": ["Bash(touch:*)"]}}}
    for name in (".claude/settings.local.json", ".claude/settings.json", ".yume/permissions.json"):
        (host.work / name).parent.mkdir(exist_ok=True)
        (host.work / name).write_text(json.dumps(planted))
    first = host.run(script, answer={**APPROVE, "remember": "project", "rules": ["Bash(touch made)"]})
    asked = first[subtypes(first).index("approval_needed")]
    assert (asked["timeout_ms"], asked["scopes"]) == (300_000, ["once", "session", "project", "user"])
    assert asked["suggested_rules"]
    assert (host.work / "made").exists()
    assert "approval_needed" not in subtypes(host.run(script))
    saved = json.loads((host.home / ".yume" / "permissions.json").read_text())
    assert saved == {"folders": {os.path.realpath(host.work): {"allow": ["Bash(touch made)"]}}}
    other = [call("Bash", command="touch other"), say("done")]
    again = host.run(other, "--approval-timeout", "0", answer={"type": "tool_approval", "approved": False})
    assert again[subtypes(again).index("approval_needed")]["timeout_ms"] == 0
    assert not (host.work / "other").exists()


def test_an_edit_is_shown_before_it_is_allowed_and_after(tmp_path: Path) -> None:
    host = Host(tmp_path)
    (host.work / "a.txt").write_text("one\ntwo\n")
    edit = {"file_path": "a.txt", "old_string": "two", "new_string": "2"}
    lines = host.run([call("Edit", **edit), say("done")], answer={**APPROVE, "remember": "session"})
    hunk = {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" one", "-two", "+2"]}
    patch = {"file_path": "a.txt", "hunks": [hunk]}
    assert lines[subtypes(lines).index("approval_needed")]["patch"] == patch
    assert lines[subtypes(lines).index("tool_result")]["patch"] == patch
    assert (host.work / "a.txt").read_text() == "one\n2\n"
    started, ended = lines[1], lines[subtypes(lines).index("success")]
    assert started["subtype"] == "turn_started"
    assert started["prompt_id"] == ended["prompt_id"]
