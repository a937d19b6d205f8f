"""A process killed at any point has lost nothing that it printed (300 points: scripts/kill_test.py)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.helpers.kill_points import one_kill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a POSIX thing")
@pytest.mark.parametrize("seed", range(12))
def test_a_killed_session_resumes_completely(tmp_path: Path, seed: int) -> None:
    verdict = one_kill(tmp_path, seed)
    assert verdict.problems == ()
