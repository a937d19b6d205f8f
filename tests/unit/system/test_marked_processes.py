"""Processes are found by a mark in their environment, wherever they have gone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from yume_shim.system.linux.marked_processes import end_marked, marked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_only_marked_processes_end() -> None:
    env = {"PATH": os.environ["PATH"]}
    mine = subprocess.Popen(["sleep", "60"], env=marked(env, "SOME_MARK", "a-1"), start_new_session=True)
    other = subprocess.Popen(["sleep", "60"], env=marked(env, "SOME_MARK", "a-2"))
    try:
        assert end_marked("SOME_MARK", {"a-1", "b"}) >= 1
        assert mine.wait(30) == -9
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
    assert end_marked("SOME_MARK", {"a-1"}) == 0


def test_the_mark_comes_first_and_once() -> None:
    assert list(marked({"A": "1", "M": "old"}, "M", "new").items()) == [("M", "new"), ("A", "1")]
