"""Decisions under the `sandbox` settings of the Claude CLI."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.gates import SPECS
from tests.helpers.settings import settings_with
from yume_shim.gate.permissions import Permissions
from yume_shim.types.blocks import ToolCall
from yume_shim.types.settings import Rules, SandboxSettings

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.confinement import Confinement
    from yume_shim.types.outputs import Decision

pytestmark = pytest.mark.skipif(os.sep != "/", reason="POSIX paths")


class System:
    """A system that can or cannot run a sandbox."""

    def __init__(self, why: str = "") -> None:
        self._why = why

    def problem(self, confinement: Confinement) -> str:
        return self._why if confinement.kind == "sandbox" else ""

    def failed(self, command: str) -> bool:
        return not command


def decide(
    work: Path, command: str, mode: str = "default", rules: Rules | None = None, why: str = "", **given: Any
) -> Decision:
    """One decision; `given` are fields of SandboxSettings, and `outside` = dangerouslyDisableSandbox."""
    more = {"dangerouslyDisableSandbox": True} if given.pop("outside", False) else {}
    sandbox = SandboxSettings(enabled=True, **given)
    settings = settings_with(
        permission_mode=mode, rules=rules or Rules(), allow_bypass=True, claude_sandbox=sandbox, cwd=str(work)
    )
    gate = Permissions(settings, str(work), "/home/x", False, lambda *_: None, confiner=System(why))
    return gate.decide(ToolCall("c", "Bash", {"command": command, **more}), SPECS["Bash"])


def summary(decision: Decision) -> tuple[str, str]:
    return decision.verdict, decision.confinement.kind if decision.confinement is not None else "open"


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "dontAsk", "bypassPermissions"])
def test_a_sandboxed_command_needs_no_approval(tmp_path: Path, mode: str) -> None:
    assert summary(decide(tmp_path, "make all", mode)) == ("allow", "sandbox")
    assert summary(decide(tmp_path, "make all", mode, auto_allow=False))[1] in ("sandbox", "open")


def test_what_only_reads_keeps_its_stricter_confinement(tmp_path: Path) -> None:
    assert summary(decide(tmp_path, "git status")) == ("allow", "read")


def test_plan_mode_still_asks(tmp_path: Path) -> None:
    assert summary(decide(tmp_path, "make all", "plan")) == ("ask", "sandbox")


def test_without_auto_allow_the_answer_leads_into_the_sandbox(tmp_path: Path) -> None:
    assert summary(decide(tmp_path, "make all", auto_allow=False)) == ("ask", "sandbox")
    allow = Rules(allow=("Bash(make:*)",))
    assert summary(decide(tmp_path, "make all", rules=allow, auto_allow=False)) == ("allow", "sandbox")
    assert summary(decide(tmp_path, "make all", "dontAsk", auto_allow=False))[0] == "deny"


@pytest.mark.parametrize("mode", ["default", "dontAsk", "bypassPermissions"])
def test_rules_hold_in_the_sandbox(tmp_path: Path, mode: str) -> None:
    assert decide(tmp_path, "curl x", mode, Rules(deny=("Bash(curl:*)",))).verdict == "deny"
    asked = decide(tmp_path, "curl x", mode, Rules(ask=("Bash(curl:*)",)))
    assert asked.verdict == ("deny" if mode == "dontAsk" else "ask")


def test_a_sensitive_file_still_asks(tmp_path: Path) -> None:
    assert decide(tmp_path, "echo x > .claude/settings.json").verdict == "ask"


def test_excluded_commands_are_decided_on_as_without_a_sandbox(tmp_path: Path) -> None:
    for command in ("docker ps", "docker run x && make", "make; docker ps"):
        assert summary(decide(tmp_path, command, excluded=("docker",))) == ("ask", "open"), command
    assert summary(decide(tmp_path, "git push x", excluded=("git push *",))) == ("ask", "open")
    assert summary(decide(tmp_path, "git pull", excluded=("git push *",))) == ("allow", "sandbox")


def test_a_call_may_ask_to_run_outside(tmp_path: Path) -> None:
    assert summary(decide(tmp_path, "make", outside=True)) == ("ask", "open")
    assert summary(decide(tmp_path, "make", outside=True, allow_open=False)) == ("allow", "sandbox")


def test_without_a_sandbox_the_usual_decision_stays(tmp_path: Path) -> None:
    assert summary(decide(tmp_path, "make", why="no bubblewrap")) == ("ask", "open")
    denied = decide(tmp_path, "make", why="no bubblewrap", required=True)
    assert (denied.verdict, "no bubblewrap" in denied.message) == ("deny", True)
