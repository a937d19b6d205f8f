"""Background commands as tasks: those that start there, and those that take too long and move there."""

from __future__ import annotations

import os
import threading

from yume_shim.tools.shell.processes import CANCEL_GRACE_S, DRAIN_S, TIMEOUT_GRACE_S, exit_code
from yume_shim.tools.shell.shown_output import MAX_SHOWN
from yume_shim.types.tasks import TaskEnd, TaskFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.tools.shell.processes import ProcessGroup
    from yume_shim.tools.shell.shell_session import BackgroundCommand
    from yume_shim.types.outputs import ToolContext
    from yume_shim.types.ports import Cancel, Task
    from yume_shim.types.tasks import TaskStatus

LONG_RUN_S = 3.0
"""A foreground command is reported as a task after this time."""
MAX_MOVED_S = 1_800
"""How long a command may run that was moved into the background."""
NO_BACKGROUND = "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"


def watch(made: BackgroundCommand, state: ToolState, description: str, context: ToolContext) -> None:
    """Report a background command as a task; without a registry only its end is looked at."""
    if state.tasks is None:
        threading.Thread(target=_await_end, args=(made, state, description, context), daemon=True).start()
        return
    tasks = state.tasks()
    task = tasks.begin(TaskFacts(made.id, "", "local_bash", description, context.call_id, command=made.command))
    tasks.launch(task, lambda task: _await_end(made, state, description, context, task.cancel))


class LongRun:
    """Reports a foreground command as a task once it has taken long, and then its end too. The lock orders the timer's
    thread and the call's."""

    def __init__(self, state: ToolState, call_id: str, command: str, description: str) -> None:
        self._state, self._call_id, self._command, self.description = state, call_id, command, description
        self._lock = threading.Lock()
        self._over = False
        self._task: Task | None = None
        self._timer = threading.Timer(LONG_RUN_S, self._report)
        self._timer.daemon = True

    def __enter__(self) -> LongRun:
        self._timer.start()
        return self

    def take(self) -> Task | None:
        """Nothing more is reported; returns the task, if there is one: somebody else reports its end."""
        self._timer.cancel()
        with self._lock:
            self._over = True
            task, self._task = self._task, None
            return task

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        status: Literal["completed", "killed"] = "completed" if kind is None else "killed"
        self._timer.cancel()
        with self._lock:  # nothing is reported after the call's own result
            self._over = True
            if self._task is not None:
                words = "completed" if kind is None else "stopped"
                self._task.end(TaskEnd(status, f'Command "{self.description}" {words}'))

    def _report(self) -> None:
        with self._lock:
            if not self._over and self._state.tasks is not None:
                place = self._state.shells.new_id()
                facts = TaskFacts(place, "", "local_bash", self.description, self._call_id, command=self._command)
                self._task = self._state.tasks().begin(facts, backgrounded=False)


def may_move(command: str, state: ToolState) -> bool:
    """May this command continue in the background when its time is up? One that only waits may not."""
    return state.tasks is not None and not command.lstrip().startswith("sleep") and not state.env_setting(NO_BACKGROUND)


def move_to_background(
    command: str, running: ProcessGroup, cwd_file: str, state: ToolState, context: ToolContext, long_run: LongRun
) -> BackgroundCommand | None:
    """Let a command that runs go on in the background; None if too many do."""
    if state.tasks is None:
        return None
    task = long_run.take()
    tasks, description = state.tasks(), long_run.description
    made = state.shells.adopt(task.facts.task_id if task is not None else "", command, running)
    if made is None:
        if task is not None:
            task.end(TaskEnd("killed", description))
        return None
    if task is None:
        task = tasks.begin(TaskFacts(made.id, "", "local_bash", description, context.call_id, command=made.command))
    else:
        task.move_to_background()

    def work(task: Task) -> TaskEnd:
        try:
            return _await_end(made, state, description, context, task.cancel, MAX_MOVED_S)
        finally:
            if cwd_file:
                _remove(cwd_file)

    tasks.launch(task, work)
    return made


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # the command may have deleted its folder


def _await_end(
    made: BackgroundCommand,
    state: ToolState,
    description: str,
    context: ToolContext,
    cancel: Cancel | None = None,
    limit: float = threading.TIMEOUT_MAX,
) -> TaskEnd:
    """Wait for the end of a background command; end it when it is cancelled, or when the limit is over."""
    expired = False
    if cancel is None:
        made.running.ended.wait()
    elif not made.running.wait(limit, cancel):
        made.killed, expired = True, not cancel.is_set()
        made.running.stop(CANCEL_GRACE_S if state.closing else TIMEOUT_GRACE_S)
    made.running.drain(DRAIN_S)
    code = exit_code(made.running)
    words = f"failed with exit code {code}" if code else "completed (exit code 0)"
    summary = description if made.killed else f'Background command "{description}" {words}'
    if expired:
        summary = f'Background command "{description}" was stopped after {limit / 60:g} minutes'
    if context.confinement is not None:
        note = state.wall.note_failure(made.command, context.confinement, code, _saved_tail(made.running.sink.path))
        summary = " ".join(part for part in (summary, made.running.note, note) if part)
    status: TaskStatus = "killed" if made.killed else "failed" if code else "completed"
    return TaskEnd(status, summary, made.running.sink.path or "")


def _saved_tail(path: str) -> str:
    """The end of a saved output; "" if it is not there."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - MAX_SHOWN))
            return file.read(MAX_SHOWN).decode("utf-8", "replace")
    except OSError:
        return ""
