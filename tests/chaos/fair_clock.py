"""Time in which the machine let a session work: what its processes waited for a processor does not count.

A limit in wall time finds fault with a correct program whose processor time goes to others. Linux says for each thread
how long it was ready to run and did not (`/proc/PID/task/*/schedstat`); the harness notices by itself when it wakes too
late. Both are left out. Time in which a program sleeps, waits or computes counts in full, so one that hangs or works
for ever meets the limit all the same.
"""

from __future__ import annotations

import os
import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

LOOK = 0.1
"""Seconds between two looks at the threads."""
STARVED = 20
"""After so many times its limit in wall time a wait is given up without a verdict."""
STEPS = 600
"""So many steps back a wait for a processor is looked for: at least a minute."""
MAX_PROCESSES = 64
"""Of one session that are looked at."""


class FairClock:
    """Counts seconds while `wait` or `run` is called. `pids`: the processes whose waiting for a processor does not
    count, nor does that of the processes they started."""

    def __init__(self, *pids: int) -> None:
        self._pids = pids
        self.seconds = 0.0
        """What counts."""
        self.lost = 0.0
        """What did not count."""
        self._waited: dict[tuple[int, str], float] = {}
        self._steps: deque[list[float]] = deque(maxlen=STEPS)
        """[end, seconds that it counted] of the last steps."""

    def wait(self, happened: Callable[[float], object], seconds: float) -> bool:
        """Call `happened(pause)`, which waits at most so long, until it says yes; False after `seconds` that count, or
        after `STARVED` times as long in all."""
        end, last = self.seconds + seconds, time.monotonic() + seconds * STARVED
        self._waited = self._look()
        while True:
            pause = min(LOOK, max(end - self.seconds, 0.0))
            if self._step(happened, pause):
                return True
            if self.seconds >= end or time.monotonic() > last:
                return False

    def run(self, over: threading.Event) -> None:
        """Count until the event; for a thread of its own."""
        self._waited = self._look()
        while not self._step(over.wait, LOOK):
            pass

    def sleep(self, seconds: float) -> None:
        """Sleep so many seconds that count."""
        self.wait(time.sleep, seconds)

    def _step(self, happened: Callable[[float], object], pause: float) -> object:
        began = time.monotonic()
        yes = happened(pause)
        now = time.monotonic()
        passed, waited = now - began, self._look()
        longest = max((waited[thread] - self._waited.get(thread, 0.0) for thread in waited), default=0.0)
        self._waited = waited
        late = max(0.0, passed - pause)
        self._steps.append([now, passed - late])
        self.lost += late
        self.seconds += passed - late
        self._take_back(now - longest)
        return yes

    def _take_back(self, since: float) -> None:
        """A thread has waited since then: the system tells of a wait only when it is over, so steps that have counted
        are part of it."""
        for step in reversed(self._steps):
            end, counted = step
            if end <= since:
                return
            lost = min(counted, end - since)
            step[1] -= lost
            self.lost += lost
            self.seconds -= lost

    def _look(self) -> dict[tuple[int, str], float]:
        """Thread → seconds that it was ready to run and did not."""
        found: dict[tuple[int, str], float] = {}
        pids = list(self._pids)
        for pid in pids:  # grows: the processes that these have started follow
            try:
                for thread in os.listdir(f"/proc/{pid}/task"):
                    place = f"/proc/{pid}/task/{thread}"
                    with open(f"{place}/schedstat", "rb") as file:
                        found[pid, thread] = int(file.read().split()[1]) / 1e9
                    with open(f"{place}/children", "rb") as file:
                        pids += map(int, file.read().split()[: MAX_PROCESSES - len(pids)])
            except (OSError, IndexError):  # it has ended, or this is no Linux
                continue
        return found
