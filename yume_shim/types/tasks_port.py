"""The ports of background tasks. Imported for type checking only, through `types/ports.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from yume_shim.types.tasks import TaskEnd, TaskFacts, TaskUsage

if TYPE_CHECKING:
    from yume_shim.types.ports import Cancel


class Task(Protocol):
    """One command or agent that can go on in the background. `cancel` is set when it is stopped."""

    @property
    def facts(self) -> TaskFacts: ...

    @property
    def cancel(self) -> Cancel: ...

    @property
    def backgrounded(self) -> bool: ...

    @property
    def ended(self) -> TaskEnd | None:
        """How it ended; None while it runs."""
        ...

    output: Callable[[], str] | None
    """What it has said so far; None = there is nothing to show."""

    def progress(self, description: str, last_tool: str, usage: TaskUsage) -> None:
        """Report what an agent is doing."""
        ...

    def move_to_background(self) -> None:
        """The conversation no longer waits for it."""
        ...

    def end(self, end: TaskEnd) -> None:
        """Report its end; a second one is ignored."""
        ...

    def wait(self, seconds: float) -> bool:
        """Wait for its end; False if the time is up first."""
        ...

    def then(self, call: Callable[[], None]) -> None:
        """Call this when it has ended, at once if it has."""
        ...

    def post(self, text: str) -> bool:
        """Leave a message for a running agent; False if it reads no more, or has too many."""
        ...

    def take_messages(self, *, last: bool = False) -> tuple[str, ...]:
        """The messages that the agent has not read; `last`: it takes no more after these."""
        ...


class BackgroundTasks(Protocol):
    """The tasks of a session. Safe from any thread."""

    def begin(self, facts: TaskFacts, *, backgrounded: bool = True) -> Task:
        """Register and announce one; an empty `run_id` is filled in."""
        ...

    def launch(self, task: Task, work: Callable[[Task], TaskEnd]) -> None:
        """Run its work on a thread of its own. What the work returns ends the task; if it raises Cancelled, the task
        was killed; any other exception is a failure."""
        ...

    def find(self, task_id: str) -> Task | None:
        """The task of that id, also one that has ended."""
        ...

    def all(self) -> tuple[Task, ...]:
        """All tasks that are remembered, ended ones included."""
        ...

    def running(self) -> tuple[Task, ...]:
        """Those that run in the background."""
        ...

    def mark_seen(self, task_id: str) -> None:
        """The model reads the end of this task in a result: it needs no notice."""
        ...

    def was_seen(self, task_id: str) -> bool: ...

    def stop(self, task_id: str, why: str = ...) -> bool:
        """End one and wait a little for its end; False if none of that id runs. `why` is what the model reads."""
        ...

    def stop_all(self, why: str = ..., kind: str = "", *, wait: bool = True) -> None:
        """End all that run in the background, or those of one kind; `wait` a little until they have ended."""
        ...
