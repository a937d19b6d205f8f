"""Runs the workers on threads of this process; each has a process of the program below it."""

from __future__ import annotations

import threading

from yume_shim.batch.worker import Worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from yume_shim.batch.coordinator import Coordinator
    from yume_shim.batch.worker import WorkerSettings

TICK_S = 0.2
"""How often the waiting thread looks at signals and shows progress."""
END_S = 30.0
"""How long workers get to end after the run was stopped."""


def run_local(
    coordinator: Coordinator, workers: int, settings: WorkerSettings, env: Mapping[str, str], tick: Callable[[], None]
) -> list[BaseException]:
    """Run until everything is done or the run was stopped; returns what workers failed with."""
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            Worker(name, coordinator, settings, env).run()
        except BaseException as error:
            failures.append(error)
            coordinator.lost(name)

    threads = [threading.Thread(target=work, args=(f"w{number}",), daemon=True) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(TICK_S)
            tick()
    return failures
