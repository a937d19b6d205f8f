"""The attack tables again, through the whole call pipeline (gate, tools, no host to ask), tested by what is on disk.

`tests/unit/gate/test_attacks.py` has the rows and checks the gate's verdict. Here each row is really called, in every
mode in which it must not work; afterwards the workspace and the folders next to it must be unchanged, to the byte.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.helpers.attack_world import CAREFUL, EVERY, World, call, survive
from tests.helpers.hostile_state import lay_traps
from tests.unit.gate.test_attacks import (
    BEHIND_AN_ALLOWED_PREFIX,
    EDITS_KEPT_IN,
    HARD,
    NOT_READ_ONLY,
    PLAIN_DENIED,
    lay_links,
)
from tests.unit.gate.test_attacks_shell_state import TABLES
from yume_shim.types.settings import Rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the rows are written for a POSIX shell")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("mode", CAREFUL)
def test_nothing_is_smuggled_behind_an_allowed_prefix(world: World, mode: str) -> None:
    survive(world, world.runner(mode, Rules(allow=("Bash(git status:*)",))), BEHIND_AN_ALLOWED_PREFIX)


@pytest.mark.parametrize("mode", CAREFUL)
def test_no_command_that_does_more_counts_as_reading(world: World, mode: str) -> None:
    survive(world, world.runner(mode, Rules()), NOT_READ_ONLY)


@pytest.mark.parametrize("mode", EVERY)
def test_a_denied_command_never_runs(world: World, mode: str) -> None:
    survive(world, world.runner(mode, Rules(deny=("Bash(touch:*)",))), [*PLAIN_DENIED, *HARD])


@pytest.mark.parametrize("mode", EVERY)
def test_no_state_of_the_shell_makes_a_command_harmful(world: World, mode: str) -> None:
    lay_traps(world.space, world.outside)
    for rows, rules, modes in TABLES.values():
        survive(world, world.runner(mode, rules), rows if mode in modes else [])


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
