"""Time in which the machine let a session work: what a process waited for a processor does not count.

A limit in wall time finds fault with a correct program whose processor time goes to others. Linux says for each thread
how long it was ready to run and did not (`/proc/PID/task/*/schedstat`); the harness notices by itself when it wakes too
late. Both are left out. Time in which a program sleeps, waits or computes counts in full, so one that hangs or works
for ever meets the limit all the same.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LOOK = 0.1
"""Seconds between two looks at the threads. What they waited in total is counted by the system, so a look may be rare;
threads that end in between take at most what they waited since the last one with them."""
STARVED = 20
"""After so many times its limit in wall time a wait is given up without a verdict."""


class FairClock:
    """Counts seconds while `wait` is called, or all of them (`since_start`). `pids`: the processes whose waiting for a
    processor does not count."""

    def __init__(self, *pids: int) -> None:
        self._pids = pids
        self.seconds = 0.0
        """What counts."""
        self.lost = 0.0
        """What did not count."""
        self._began, self._waited = time.monotonic(), self._look()

    def wait(self, happened: Callable[[float], object], seconds: float) -> bool:
        """Call `happened(pause)`, which waits at most so long, until it says yes; False after `seconds` that count, or
        after `STARVED` times as long in all."""
        end, last = self.seconds + seconds, time.monotonic() + seconds * STARVED
        self._waited = self._look()
        while True:
            pause = min(LOOK, max(end - self.seconds, 0.0))
            began = time.monotonic()
            yes = happened(pause)
            self._count(time.monotonic() - began, pause)
            if yes:
                return True
            if self.seconds >= end or time.monotonic() > last:
                return False

    def sleep(self, seconds: float) -> None:
        """Sleep so many seconds that count."""
        self.wait(time.sleep, seconds)

    def since_start(self) -> float:
        """Seconds since the clock was made, if `wait` was not called."""
        passed = time.monotonic() - self._began
        return passed - min(passed, self._longest(self._look()))

    def _count(self, passed: float, asked: float) -> None:
        waited = self._look()
        lost = min(passed, max(self._longest(waited), passed - asked))
        self._waited = waited
        self.lost += lost
        self.seconds += passed - lost

    def _longest(self, waited: dict[tuple[int, str], float]) -> float:
        return max((waited[thread] - self._waited.get(thread, 0.0) for thread in waited), default=0.0)

    def _look(self) -> dict[tuple[int, str], float]:
        """Thread → seconds that it was ready to run and did not."""
        found: dict[tuple[int, str], float] = {}
        for pid in self._pids:
            try:
                for thread in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{thread}/schedstat", "rb") as file:
                        found[pid, thread] = int(file.read().split()[1]) / 1e9
            except (OSError, IndexError):  # it has ended, or this is no Linux
                continue
        return found
