"""Progress of long scripts: a redrawn line on a terminal, plain lines elsewhere, findings in between."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from _progress import CLEAR, Progress, PytestProgress


def watched(terminal: bool, total: int) -> tuple[Progress, list[str], list[float]]:
    shown: list[str] = []
    now = [0.0]
    progress = Progress("bench", total, write=shown.append, terminal=terminal, clock=lambda: now[0])
    return progress, shown, now


def test_plain_lines_come_now_and_then() -> None:
    progress, shown, now = watched(terminal=False, total=4)
    for second in (1.0, 9.9, 10.0, 11.0):
        now[0] = second
        progress.step("first line")
    progress.clear()
    assert shown == ["bench: 3 of 4, first line, 3s left\n"]


def test_a_terminal_gets_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    progress, shown, now = watched(terminal=True, total=2)
    with progress:
        progress.step()
        now[0] = 90.0
        progress.step("1 with findings")
        progress.say("seed 7: a finding")
    bars = ("████████████░░░░░░░░░░░░ bench: 1 of 2, 0s left", f"{'█' * 24} bench: 2 of 2, 1 with findings, 0s left")
    assert shown == [f"{CLEAR}{bars[0]}", f"{CLEAR}{bars[1]}", CLEAR]
    assert capsys.readouterr().out == "seed 7: a finding\n"


def test_tests_are_counted_once_and_failures_named() -> None:
    shown: list[str] = []
    plugin = PytestProgress(shown.append)
    plugin._progress._next = 0.0
    plugin._progress._terminal = False
    plugin.pytest_xdist_node_collection_finished(["a", "b", "c"])
    for when, failed in (("setup", False), ("call", True), ("teardown", False)):
        plugin.pytest_runtest_logreport(SimpleNamespace(when=when, failed=failed))
    assert shown == ["tests: 1 of 3, 1 failed, 0s left\n"]
