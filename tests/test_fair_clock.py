"""The clock of the chaos sessions leaves out what a process waits for a processor, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from itertools import chain, repeat

import pytest

from tests.chaos.fair_clock import FairClock

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc/PID/schedstat")

BUSY = "while True: pass"
RIVALS = 4
SECONDS = 0.5


def test_time_without_a_processor_does_not_count() -> None:
    """Five programs on one processor: each gets a fifth."""
    one = {min(os.sched_getaffinity(0))}
    with ExitStack() as stack:
        children = [subprocess.Popen([sys.executable, "-S", "-c", BUSY]) for _ in range(RIVALS + 1)]
        for child in children:
            stack.enter_context(child)
            stack.callback(child.kill)
            os.sched_setaffinity(child.pid, one)
        time.sleep(0.1)
        starved, began = FairClock(children[0].pid), time.monotonic()
        starved.sleep(SECONDS)
        passed = time.monotonic() - began
    assert starved.seconds >= SECONDS
    assert starved.lost > SECONDS
    assert starved.seconds + starved.lost == pytest.approx(passed, abs=0.1)


def test_a_long_wait_for_a_processor_is_known_only_when_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system counts it when it ends. What counted until then is taken back, and nothing else."""
    clock, waited = FairClock(1), chain([0.0] * 4, repeat(0.3))
    monkeypatch.setattr(clock, "_look", lambda: {(1, "1"): next(waited)})
    assert clock.wait(time.sleep, 0.4) is False
    assert clock.seconds == pytest.approx(0.4, abs=0.05)
    assert clock.lost >= 0.3


def test_a_program_that_waits_or_computes_for_ever_meets_the_limit() -> None:
    for words in ("import time; time.sleep(60)", BUSY):
        with subprocess.Popen([sys.executable, "-S", "-c", words]) as child:
            clock = FairClock(child.pid)
            assert not clock.wait(threading.Event().wait, 0.2)
            assert clock.seconds >= 0.2
            assert FairClock(child.pid).wait(lambda _: True, 0.2)
            child.kill()
