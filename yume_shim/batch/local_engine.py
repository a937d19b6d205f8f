"""Runs the workers on threads of this process; each has a process of the program below it."""

from __future__ import annotations

import os
import threading

from yume_shim.batch.coordinator import Coordinator
from yume_shim.batch.out_file import OutFile
from yume_shim.batch.worker import Worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.batch.coordinator import Counts, Stop
    from yume_shim.batch.run_plan import Plan

TICK_S = 0.2
"""How often the waiting thread looks at signals and shows progress."""


class LocalEngine:
    """The engine without a cluster."""

    def __init__(self, plan: Plan) -> None:
        """Opens OUT. Raises BadInvocation."""
        self._plan = plan
        self._coordinator = Coordinator(plan.tasks, OutFile(plan.out, resume=plan.resume, keep=plan.keep), plan.limits)
        self._failures: list[BaseException] = []
        self._asked_to_stop: Stop = ""

    def run(self, tick: Callable[[], None]) -> list[BaseException]:
        names = [f"w{number}" for number in range(self._plan.limits.workers)]
        threads = [threading.Thread(target=self._work, args=(name,), daemon=True) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(TICK_S)
                if self._asked_to_stop:
                    self._coordinator.stop(self._asked_to_stop)
                tick()
        return self._failures

    def counts(self) -> Counts:
        return self._coordinator.counts()

    def stop(self, reason: Stop) -> None:
        self._asked_to_stop = reason  # no lock here: a signal may come while this thread holds the coordinator's

    def finish(self) -> None:
        self._coordinator.finish(self._plan.places())

    def _work(self, name: str) -> None:
        try:
            Worker(name, self._coordinator, self._plan.settings, os.environ).run()
        except BaseException as error:
            self._failures.append(error)
            self._coordinator.lost(name)
