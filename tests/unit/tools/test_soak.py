"""A short soak: many mixed calls in one session leave no processes or open files (the long one is scripts/soak.py)."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
import soak

if TYPE_CHECKING:
    from pathlib import Path

CALLS = 200


@pytest.mark.skipif(sys.platform == "win32", reason="what a process holds is read from /proc")
@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="what a process holds is read from /proc")
def test_two_hundred_calls_leave_nothing(tmp_path: Path) -> None:
    report = soak.soak(tmp_path, CALLS)
    assert (report.calls, report.complaints()) == (CALLS, [])
    assert 0 < report.failed < CALLS
