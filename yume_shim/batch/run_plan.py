"""What a run is made of, and what every engine does with it."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from yume_shim.batch.coordinator import Counts, Limits, Stop
    from yume_shim.batch.task_file import Task
    from yume_shim.batch.worker import WorkerSettings
    from yume_shim.types.blocks import Json

    class Engine(Protocol):
        """Where the workers of a run live."""

        def run(self, tick: Callable[[], None]) -> list[BaseException]:
            """Run until everything is done or the run was stopped, with a `tick` now and then; what workers failed
            with."""
            ...

        def counts(self) -> Counts:
            """The progress of the run."""
            ...

        def stop(self, reason: Stop) -> None:
            """End the run early. May be called by a signal handler."""
            ...

        def finish(self) -> None:
            """Bring OUT into its final order, and close it. Raises OSError."""
            ...


class Plan(Value):
    """What a run does."""

    tasks: tuple[Task, ...]
    out: str
    limits: Limits
    settings: WorkerSettings
    resume: bool = False
    retry_errors: bool = False
    input_order: bool = True
    """OUT ends in the order of IN; otherwise in the order in which tasks ended."""

    def keep(self, row: Json) -> bool:
        """Whether a row of an earlier run stays as it is."""
        return not (self.retry_errors and row.get("error"))

    def places(self) -> dict[str, int] | None:
        """id → place in the finished OUT; None = as they came."""
        return {task.id: task.index for task in self.tasks} if self.input_order else None
