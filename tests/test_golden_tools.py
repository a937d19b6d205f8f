"""Every tool golden: the result and the files after it. Adding a case adds no Python (format: golden/README.md)."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.helpers import tool_cases

if TYPE_CHECKING:
    from pathlib import Path

CASES = tool_cases.all_cases()
NAMES = [case.relative_to(tool_cases.TOOLS).as_posix() for case in CASES]
SHOW_PATHS = ("Grep", "LS")
"""Tools that show relative paths; on Windows with its own separator."""
OWN_WORDS = ("bad-pattern", "unknown-type")
"""Cases whose text is the searching program's own."""


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_case(case: Path, tmp_path: Path) -> None:
    missing = tool_cases.missing(case)
    if missing:
        pytest.skip(missing)
    played = tool_cases.play(case, tmp_path / "play", tool_cases.usual_env(case))
    if os.sep == "\\" and case.parent.name in SHOW_PATHS:
        played = (json.loads(json.dumps(played[0]).replace("\\\\", "/")), played[1])
    assert played == tool_cases.expected(case, tmp_path / "fresh")


@pytest.mark.ripgrep
@pytest.mark.parametrize("case", [case for case in CASES if case.parent.name == "Grep"], ids=lambda case: case.name)
def test_ripgrep_gives_the_same(case: Path, tmp_path: Path) -> None:
    result, files = tool_cases.play(case, tmp_path / "play")
    wanted, wanted_files = tool_cases.expected(case, tmp_path / "fresh")
    if case.name in OWN_WORDS:
        assert result.keys() == wanted.keys()
    else:
        assert result == wanted
    assert files == wanted_files


def test_every_tool_has_cases(tmp_path: Path) -> None:
    tools = tool_cases.toolbox(tmp_path, tmp_path / "scratch").specs()
    assert {spec.name for spec in tools} - {case.parent.name for case in CASES} == set()


def test_update_writes_what_play_gives(tmp_path: Path) -> None:
    case = shutil.copytree(tool_cases.TOOLS / "Edit" / "plain", tmp_path / "Edit" / "plain")
    shutil.rmtree(case / "expected")
    tool_cases.update(case, tmp_path / "work")
    assert tool_cases.files_of(case) == tool_cases.files_of(tool_cases.TOOLS / "Edit" / "plain")
