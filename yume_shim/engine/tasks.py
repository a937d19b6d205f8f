"""The registry of tasks: commands and agents that go on in the background, what they report, and how they are stopped.

The end of a background task becomes a notice for the model (`TaskNotice`), unless the model has read of it already.
"""

from __future__ import annotations

import threading
import time

from yume_shim.engine.cancel import CancelSignal
from yume_shim.types.errors import Cancelled
from yume_shim.types.side_events import (
    TaskNotification,
    TaskProgress,
    TasksChanged,
    TaskStarted,
    TaskUpdated,
)
from yume_shim.types.tasks import TaskEnd, TaskFacts, TaskNotice
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types import ports
    from yume_shim.types.ports import Emit
    from yume_shim.types.tasks import TaskUsage

MAX_ENDED = 256
"""Ended tasks that are remembered, for TaskOutput."""
STOP_WAIT_S = 2.0
"""How long a stop waits until the work has ended, all tasks together: less than the end of a session may take."""
MAX_MESSAGES = 64
"""Messages to a running agent that it has not read yet."""
HOST_STOPPED = "was stopped by the user or the host"


class Task:
    """One task. Implements `types.ports.Task`. The thread of its work reports; any thread may look at it, wait for it
    and stop it. Everything that changes is guarded by the registry's lock."""

    def __init__(self, registry: Tasks, facts: TaskFacts, *, backgrounded: bool) -> None:
        self._registry = registry
        self.facts = facts
        self.backgrounded = backgrounded
        self.cancel = CancelSignal()
        self.ended: TaskEnd | None = None
        self.output: Callable[[], str] | None = None
        """What the task has said so far, for TaskOutput."""
        self.seen = False
        """The model has read of its end."""
        self.stopped_by = ""
        """Who stopped it, as words for the model; "" = nobody."""
        self.over = threading.Event()
        self.listeners: list[Callable[[], None]] = []
        self.messages: list[str] | None = []
        """Messages to an agent that it has not read; None = it reads no more."""

    def progress(self, description: str, last_tool: str, usage: TaskUsage) -> None:
        """Report what an agent is doing."""
        self._registry.progress(self, description, last_tool, usage)

    def move_to_background(self) -> None:
        """The conversation no longer waits for it."""
        self._registry.move_to_background(self)

    def end(self, end: TaskEnd) -> None:
        """Report the end; a second one is ignored."""
        self._registry.end(self, end)

    def then(self, call: Callable[[], None]) -> None:
        """Call this when it has ended, at once if it has."""
        self._registry.when_over(self, call)

    def wait(self, seconds: float) -> bool:
        """Wait for the end; False if the time is up first."""
        return self.over.wait(seconds)

    def post(self, text: str) -> bool:
        """Leave a message for a running agent; False if it reads no more, or has too many."""
        return self._registry.post(self, text)

    def take_messages(self, *, last: bool = False) -> tuple[str, ...]:
        """The messages that the agent has not read; `last`: it takes no more after these."""
        return self._registry.take_messages(self, last=last)


class Tasks:
    """Implements `types.ports.BackgroundTasks`. Used by the threads of calls, of tasks, of the stdin reader and of the
    session; one lock for all tasks, so that the reports of two do not mix. `deliver` takes the notices."""

    def __init__(self, emit: Emit, fresh_id: Callable[[], str], deliver: Callable[[TaskNotice], None]) -> None:
        self._emit, self._fresh_id, self._deliver = emit, fresh_id, deliver
        self._lock = threading.RLock()
        self._tasks: dict[str, Task] = {}
        self._closed = False

    # ------------------------------------------------------------ beginning

    def begin(self, facts: TaskFacts, *, backgrounded: bool = True) -> Task:
        """Register and announce a task; an empty `run_id` is filled in."""
        if not facts.run_id:
            facts = replace(facts, run_id=self._fresh_id())
        task = Task(self, facts, backgrounded=backgrounded)
        with self._lock:
            self._forget_old()
            self._tasks[facts.task_id] = task
            if self._closed:  # the session has ended meanwhile: it is stopped before it begins
                task.cancel.set()
                return task
            if backgrounded:
                self._emit_list()
            self._emit(TaskStarted(facts, backgrounded))
        return task

    def launch(self, task: ports.Task, work: Callable[[ports.Task], TaskEnd]) -> None:
        """Run the work of a task on a thread of its own; its value, or what it raises, ends the task."""
        threading.Thread(target=self._run, args=(task, work), name=f"task {task.facts.task_id}", daemon=True).start()

    def _run(self, task: ports.Task, work: Callable[[ports.Task], TaskEnd]) -> None:
        try:
            end = work(task)
        except Cancelled:
            end = TaskEnd("killed", task.facts.description)
        except Exception as error:  # whatever went wrong: the task ends once, and says so
            end = TaskEnd("failed", f"{task.facts.description}: {error}")
        task.end(end)

    def _forget_old(self) -> None:
        over = [name for name, task in self._tasks.items() if task.ended is not None]
        for name in over[:-MAX_ENDED]:
            del self._tasks[name]

    # ------------------------------------------------------------ reports

    def progress(self, task: Task, description: str, last_tool: str, usage: TaskUsage) -> None:
        """Report what an agent is doing."""
        with self._lock:
            if task.ended is None and not self._closed:
                self._emit(TaskProgress(task.facts, description, last_tool, usage))

    def move_to_background(self, task: Task) -> None:
        """The conversation no longer waits for this task."""
        with self._lock:
            if task.ended is not None or task.backgrounded or self._closed:
                return
            task.backgrounded = True
            self._emit_list()
            self._emit(TaskUpdated(task.facts))

    def end(self, task: Task, end: TaskEnd) -> None:
        """A task has ended. A background task becomes a notice; one that the host stopped waits for the next prompt."""
        with self._lock:
            if task.ended is not None:
                return
            if task.stopped_by:
                words = f'Task "{task.facts.description}" {task.stopped_by}'
                end = replace(end, status="killed", summary=task.facts.description, told=words)
            task.ended = end
            if not self._closed:
                self._emit(TaskUpdated(task.facts, end.status, end.summary if end.status == "failed" else ""))
                self._emit(TaskNotification(task.facts, end))
                if task.backgrounded:
                    self._emit_list()
            if task.backgrounded and not self._closed:  # within the lock: who sees no running task finds its notice
                self._deliver(TaskNotice(task.facts, end, urgent=not task.stopped_by))
            listeners, task.listeners = task.listeners, []
        task.over.set()
        for call in listeners:
            call()

    def when_over(self, task: Task, call: Callable[[], None]) -> None:
        """Call this when the task has ended, at once if it has."""
        with self._lock:
            if task.ended is None:
                task.listeners.append(call)
                return
        call()

    def post(self, task: Task, text: str) -> bool:
        """Leave a message for a running agent."""
        with self._lock:
            if task.ended is not None or task.messages is None or len(task.messages) >= MAX_MESSAGES:
                return False
            task.messages.append(text)
            return True

    def take_messages(self, task: Task, *, last: bool) -> tuple[str, ...]:
        """The messages that an agent has not read; `last`: it takes no more after these."""
        with self._lock:
            found = tuple(task.messages or ())
            task.messages = None if last or task.messages is None else []
            return found

    def report(self) -> None:
        """Print the list of background tasks."""
        with self._lock:
            if not self._closed:
                self._emit_list()

    def _emit_list(self) -> None:
        self._emit(TasksChanged(tuple(task.facts for task in self._tasks.values() if _runs_behind(task))))

    # ------------------------------------------------------------ looking

    def find(self, task_id: str) -> Task | None:
        """The task of that id, also one that has ended."""
        with self._lock:
            return self._tasks.get(task_id)

    def all(self) -> tuple[Task, ...]:
        """All tasks that are remembered."""
        with self._lock:
            return tuple(self._tasks.values())

    def running(self) -> tuple[Task, ...]:
        """The tasks that run in the background."""
        with self._lock:
            return tuple(task for task in self._tasks.values() if _runs_behind(task))

    def mark_seen(self, task_id: str) -> None:
        """The model reads the end of this task in a result: it needs no notice."""
        with self._lock:
            task = self._tasks.get(task_id)
            if task is not None:
                task.seen = True

    def was_seen(self, task_id: str) -> bool:
        """Whether the model has read of this task's end already."""
        with self._lock:
            task = self._tasks.get(task_id)
            return task is not None and task.seen

    # ------------------------------------------------------------ stopping

    def stop(self, task_id: str, why: str = HOST_STOPPED) -> bool:
        """End one, and wait a little until it has ended; False if none of that id runs."""
        with self._lock:
            task = self._tasks.get(task_id)
            if task is None or task.ended is not None:
                return False
            task.stopped_by = task.stopped_by or why
        task.cancel.set()
        task.wait(STOP_WAIT_S)
        return True

    def stop_all(self, why: str = HOST_STOPPED, kind: str = "", *, wait: bool = True) -> None:
        """End all that run in the background, or those of one kind; `wait` a little until they have ended."""
        chosen = [task for task in self.running() if not kind or task.facts.kind == kind]
        with self._lock:
            for task in chosen:
                task.stopped_by = task.stopped_by or why
        for task in chosen:
            task.cancel.set()
        deadline = time.monotonic() + STOP_WAIT_S
        for task in chosen if wait else ():
            task.wait(max(0.0, deadline - time.monotonic()))

    def close(self) -> None:
        """The session ends: report and stop what still runs; nothing is reported after this."""
        self.stop_all()
        with self._lock:
            self._closed = True


def _runs_behind(task: Task) -> bool:
    return task.backgrounded and task.ended is None
