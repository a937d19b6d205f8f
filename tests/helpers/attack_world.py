"""A hostile workspace with a folder next to it, the real parts of the call pipeline, and a check that nothing changed.

For tests that call a tool and then look at the disk. No host answers questions: a call that must be asked about fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.engine_fakes import Bench, ScriptedProvider
from tests.helpers.gates import tree
from tests.helpers.settings import settings_with
from yume_shim.engine.calls import CallRunner
from yume_shim.engine.cancel import CancelSignal
from yume_shim.engine.toolbox import Toolbox
from yume_shim.gate.permissions import Permissions
from yume_shim.tools.dispatch.builtin import open_builtin_tools
from yume_shim.types.blocks import ToolCall
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.events import ToolFinished
    from yume_shim.types.settings import Rules

CAREFUL = ("default", "plan", "dontAsk")
EVERY = (*CAREFUL, "acceptEdits", "bypassPermissions")


class World:
    """A workspace, a folder next to it, and the real parts of the call pipeline."""

    def __init__(self, base: Path) -> None:
        if shutil.which("git") is None:
            pytest.skip("git not found")
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

    def runner(self, mode: str, rules: Rules, **more: Any) -> CallRunner:
        """`more` are further fields of Settings."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.base / "home")}
        settings = settings_with(permission_mode=mode, rules=rules, cwd=str(self.space), env=env, **more)
        tools = open_builtin_tools(settings, str(self.base / "scratch"), env, lambda *_: None)
        self._open.append(tools)
        gate = Permissions(
            settings,
            settings.cwd,
            env["HOME"],
            False,
            lambda *_: None,
            shell_cwd=tools.shell_folder,
            confiner=tools.confiner,
        )
        parts = replace(Bench(ScriptedProvider()).services, settings=settings, toolbox=Toolbox((tools,)), gate=gate)
        return CallRunner(parts, CancelSignal())

    def guarded(self) -> object:
        """What no call may change, even one that may edit: all but ordinary files of the workspace."""
        inside = [name for name in ("hidden", ".claude") if (self.space / name).exists()]
        return self.snapshot()[1:], [tree(self.space / name) for name in inside]

    def snapshot(self) -> tuple[object, ...]:
        git = self.space / ".git"
        target = sorted(os.listdir(git)), sorted(os.listdir(git / "hooks")), (git / "config").read_bytes()
        return tree(self.space), tree(self.outside), tree(self.base / "work-sibling"), target

    def close(self) -> None:
        for tools in self._open:
            tools.close()


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
