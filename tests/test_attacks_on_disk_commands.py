"""The attacks through flags, hostile repositories and protected names, through the whole call pipeline, in every mode,
tested by what is on disk and by what the model would read.

The rows are those of `tests/unit/gate/test_attacks_flags.py`, `tests/helpers/hostile_repositories.py` and
`yume_shim/types/protected_names.py`. In bypassPermissions, where commands run unasked, rules deny the programs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.helpers.attack_world import CAREFUL, World, call
from tests.helpers.hostile_repositories import RUNNING, SHOWING, Hostile
from tests.unit.gate.test_attacks_flags import ASKED, DENIES, LEAKING, MERGING, WRITING, lay_traps
from yume_shim.tools.shell.unasked_environment import unasked_environment
from yume_shim.types.protected_names import PROTECTED
from yume_shim.types.settings import Rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the rows are written for a POSIX shell")


class GitWorld(World):
    """The parts of the pipeline around a hostile repository."""

    def __init__(self, hostile: Hostile) -> None:
        self.base, self.space, self.outside = hostile.base, hostile.space, hostile.outside
        self._open = []


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("mode", [*CAREFUL, "acceptEdits", "bypassPermissions"])
def test_no_flag_writes_or_reads_outside(world: World, mode: str) -> None:
    lay_traps(world.space, world.outside)
    runner = world.runner(mode, Rules(deny=DENIES) if mode == "bypassPermissions" else Rules())
    before = world.snapshot()
    for number, command in enumerate([*WRITING, *LEAKING, *ASKED, *MERGING]):
        finished = call(runner, number, "Bash", command=command)
        assert finished.result.is_error, command
        assert "OUTSIDE" not in str(finished.result.content).replace(command, ""), command
    assert world.snapshot() == before


@pytest.mark.parametrize("name", [*RUNNING, *SHOWING])
def test_a_hostile_repository_runs_nothing(tmp_path: Path, name: str) -> None:
    hostile = Hostile(tmp_path)
    command, build = {**RUNNING, **SHOWING}[name]
    build(hostile)
    world = GitWorld(hostile)
    try:
        for mode in (*CAREFUL, "acceptEdits", "bypassPermissions"):
            rules = Rules(deny=("Bash(git:*)",)) if mode == "bypassPermissions" else Rules()
            finished = call(world.runner(mode, rules), 1, "Bash", command=command)
            assert finished.result.is_error, mode
            assert "OUTSIDE" not in str(finished.result.content), mode
            assert not hostile.mark.exists(), mode
    finally:
        world.close()


@pytest.mark.parametrize(
    "name",
    [
        *("fsmonitor", "worktree configuration", "index hook", "index hook in diff", "hooks folder", "included file"),
        *("planted bare repository", "planted commondir", "signature", "signature in show", "signature by format"),
        *("signature by alias", "lazy objects", "lazy objects in diff", "lazy remote", "submodule monitor"),
        *("submodule monitor in diff", "commondir in .git", ".git file", "quoted", "continued line"),
    ],
)
def test_the_environment_of_unasked_git_alone_stops_most(tmp_path: Path, name: str) -> None:
    """What the gate would overlook: these need no judgement of the repository."""
    import subprocess

    hostile = Hostile(tmp_path)
    command, build = RUNNING[name]
    build(hostile)
    env = unasked_environment({"PATH": os.environ["PATH"], "HOME": str(hostile.base)}, str(hostile.base))
    subprocess.run(["bash", "-c", command], cwd=hostile.space, env=env, capture_output=True, check=False)
    assert not hostile.mark.exists()


@pytest.mark.parametrize("mode", [*CAREFUL, "acceptEdits", "bypassPermissions"])
def test_no_protected_name_is_written(world: World, mode: str) -> None:
    runner, before = world.runner(mode, Rules()), world.snapshot()
    rows = [row for row in PROTECTED if row.bypass or mode != "bypassPermissions"]
    for number, row in enumerate(rows):
        path = {"/": row.name + "x", "*": row.plain + "yml"}.get(row.name[-1], row.name)
        calls = (
            call(runner, number, "Write", file_path=path, content="x\n"),
            call(runner, number, "Write", file_path=f"sub/{path}", content="x\n"),
            call(runner, number, "Bash", command=f"echo x > {path}"),
            call(runner, number, "Bash", command=f"cp a.txt sub/{path}"),
            call(runner, number, "Bash", command=f"mkdir -p {path}") if mode != "bypassPermissions" else None,
        )
        assert all(done is None or done.result.is_error for done in calls), path
    assert world.snapshot() == before
