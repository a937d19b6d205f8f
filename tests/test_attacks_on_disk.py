"""The attack tables again, through the whole call pipeline (gate, tools, no host to ask), tested by what is on disk.

`tests/unit/gate/test_attacks.py` has the rows and checks the gate's verdict. Here each row is really called, in every
mode in which it must not work; afterwards the workspace and the folders next to it must be unchanged, to the byte.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.engine_fakes import Bench, ScriptedProvider
from tests.helpers.gates import tree
from tests.helpers.settings import settings_with
from tests.unit.gate.test_attacks import (
    BEHIND_AN_ALLOWED_PREFIX,
    EDITS_KEPT_IN,
    HARD,
    NOT_READ_ONLY,
    PLAIN_DENIED,
    lay_links,
)
from yume_shim.engine.calls import CallRunner
from yume_shim.engine.cancel import CancelSignal
from yume_shim.engine.toolbox import Toolbox
from yume_shim.gate.permissions import Permissions
from yume_shim.tools.dispatch.builtin import open_builtin_tools
from yume_shim.types.blocks import ToolCall
from yume_shim.types.settings import Rules
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from yume_shim.types.events import ToolFinished

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the rows are written for a POSIX shell")
CAREFUL = ("default", "plan", "dontAsk")
EVERY = (*CAREFUL, "acceptEdits", "bypassPermissions")


class World:
    """A workspace, a folder next to it, and the real parts of the call pipeline."""

    def __init__(self, base: Path) -> None:
        self.base, self.space, self.outside = base, base / "work", base / "outside"
        (self.space / "sub").mkdir(parents=True)
        self.outside.mkdir()
        (base / "work-sibling").mkdir()
        (self.space / "a.txt").write_text("alpha\nbeta\n")
        (self.space / "b.json").write_text('{"a": 1}\n')
        (self.space / "secret.txt").write_text("SECRET\n")
        (self.space / "sub" / "c.py").write_text("x = 1\n")
        (self.outside / "o.txt").write_text("OUTSIDE\n")
        subprocess.run(["git", "init", "-q", "."], cwd=self.space, check=True)
        self._open: list[Any] = []

    def runner(self, mode: str, rules: Rules) -> CallRunner:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.base / "home")}
        settings = settings_with(permission_mode=mode, rules=rules, cwd=str(self.space), env=env)
        tools = open_builtin_tools(settings, str(self.base / "scratch"), env, lambda *_: None)
        self._open.append(tools)
        gate = Permissions(settings, settings.cwd, env["HOME"], False, lambda *_: None, shell_cwd=tools.shell_folder)
        parts = replace(Bench(ScriptedProvider()).services, settings=settings, toolbox=Toolbox((tools,)), gate=gate)
        return CallRunner(parts, CancelSignal())

    def snapshot(self) -> object:
        git = self.space / ".git"
        target = sorted(os.listdir(git)), sorted(os.listdir(git / "hooks")), (git / "config").read_bytes()
        return tree(self.space), tree(self.outside), tree(self.base / "work-sibling"), target

    def close(self) -> None:
        for tools in self._open:
            tools.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def call(runner: CallRunner, number: int, tool: str, **given: Any) -> ToolFinished:
    done: list[ToolFinished] = []
    runner.run_all([ToolCall(f"c{number}", tool, given)], done)
    return done[0]


def survive(world: World, runner: CallRunner, rows: list[str]) -> None:
    before = world.snapshot()
    for number, command in enumerate(rows):
        finished = call(runner, number, "Bash", command=command)
        assert finished.result.is_error, command
        assert world.snapshot() == before, command


@pytest.mark.parametrize("mode", CAREFUL)
def test_nothing_is_smuggled_behind_an_allowed_prefix(world: World, mode: str) -> None:
    survive(world, world.runner(mode, Rules(allow=("Bash(git status:*)",))), BEHIND_AN_ALLOWED_PREFIX)


@pytest.mark.parametrize("mode", CAREFUL)
def test_no_command_that_does_more_counts_as_reading(world: World, mode: str) -> None:
    survive(world, world.runner(mode, Rules()), NOT_READ_ONLY)


@pytest.mark.parametrize("mode", EVERY)
def test_a_denied_command_never_runs(world: World, mode: str) -> None:
    survive(world, world.runner(mode, Rules(deny=("Bash(touch:*)",))), [*PLAIN_DENIED, *HARD])


@pytest.mark.parametrize("mode", [*CAREFUL, "acceptEdits"])
def test_edits_stay_in_the_workspace_and_off_protected_files(world: World, mode: str) -> None:
    lay_links(world.space, world.outside)
    runner, before = world.runner(mode, Rules()), world.snapshot()
    for number, path in enumerate(EDITS_KEPT_IN):
        full = path.format(outside=world.outside, space=world.space)
        finished = call(runner, number, "Write", file_path=full, content="target\n")
        assert finished.result.is_error, path
        assert world.snapshot() == before, path


def test_harmless_calls_pass_the_same_pipeline(world: World) -> None:
    """The tables above would also pass if nothing ever ran."""
    runner = world.runner("acceptEdits", Rules(allow=("Bash(git status:*)",)))
    assert call(runner, 1, "Bash", command="git status --short").result.is_error is False
    assert call(runner, 2, "Write", file_path="new.txt", content="x").result.is_error is None
    assert (world.space / "new.txt").read_text() == "x"
