"""The tasks of a session. Loads nothing before the first one."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.engine.tasks import Tasks
    from yume_shim.types.ports import Emit
    from yume_shim.types.tasks import TaskNotice


class LazyTasks:
    """`open` runs on the threads of calls, `get` on any. The lock makes sure that there is one registry."""

    def __init__(
        self, emit: Emit, fresh_id: Callable[[], str], deliver: Callable[[], Callable[[TaskNotice], None]]
    ) -> None:
        """`deliver` returns who takes the notices; it is asked when the registry is made."""
        self._emit, self._fresh_id, self._deliver = emit, fresh_id, deliver
        self._lock = threading.Lock()
        self._tasks: Tasks | None = None

    def get(self) -> Tasks | None:
        """The registry; None if there has been no task."""
        return self._tasks

    def open(self) -> Tasks:
        """The registry, made now if there is none."""
        with self._lock:
            if self._tasks is None:
                from yume_shim.engine.tasks import Tasks

                self._tasks = Tasks(self._emit, self._fresh_id, self._deliver())
            return self._tasks

    def report(self) -> None:
        """Print the list of background tasks, also an empty one."""
        if self._tasks is not None:
            self._tasks.report()
            return
        from yume_shim.types.side_events import TasksChanged

        self._emit(TasksChanged(()))

    def stop_all(self) -> None:
        """Stop what runs in the background."""
        if self._tasks is not None:
            self._tasks.stop_all()

    def close(self) -> None:
        """Stop what still runs."""
        if self._tasks is not None:
            self._tasks.close()
