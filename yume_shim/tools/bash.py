"""Bash: runs one command with a time limit, or in the background; long output is saved to a file."""

from __future__ import annotations

import os
import threading

from yume_shim.text.clean import clean_output
from yume_shim.tools.files.text_files import os_failure
from yume_shim.tools.shell.live_output import LiveOutput
from yume_shim.tools.shell.processes import (
    CANCEL_GRACE_S,
    DRAIN_S,
    TIMEOUT_GRACE_S,
    WINDOWS,
    ended_so_far,
    exit_code,
    run_to_end,
)
from yume_shim.tools.shell.shell_session import NO_FILE
from yume_shim.tools.shell.shown_output import MAX_SHOWN, both_ends, output_of_success
from yume_shim.tools.shell.sink import Sink
from yume_shim.types.errors import Cancelled, ToolFailed
from yume_shim.types.outputs import ToolOutput
from yume_shim.types.tasks import TaskEnd, TaskFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.tools.shell.processes import Ended, ProcessGroup
    from yume_shim.tools.shell.shell_session import BackgroundCommand, ShellSession
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext
    from yume_shim.types.ports import Cancel, Task
    from yume_shim.types.tasks import TaskStatus

DEFAULT_TIMEOUT_MS = 120_000
MAX_TIMEOUT_MS = 600_000
TIMEOUT_CODE = 143
MAX_CWD_NOTE = 8_192
LONG_RUN_S = 3.0
"""A foreground command is reported as a task after this time."""


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """Run the command in the session's shell folder."""
    command: str = given["command"]
    note = _ensure_folder(state)
    if given.get("run_in_background"):
        return _start_background(command, state, str(given.get("description") or command), context)
    with _LongRun(state, context.call_id, str(given.get("description") or command)):
        ended, moved, planted = _run_command(command, time_limit_ms(given.get("timeout"), state) / 1000, state, context)
    text = clean_output(ended.output).rstrip("\n")
    confined = ""
    if context.confinement is not None:
        confined = state.wall.note_failure(command, context.confinement, ended.code, text[-MAX_SHOWN:])
    note = "\n".join(part for part in (note, moved, planted, confined) if part)
    if ended.timed_out:
        head = f"Exit code {TIMEOUT_CODE}\nCommand timed out after {_duration(given.get('timeout'), state)}"
        raise ToolFailed(_lines(head, both_ends(ended, text), note))
    if ended.code:
        raise ToolFailed(_lines(f"Exit code {ended.code}", both_ends(ended, text), note))
    structured: Json = {
        "stdout": text[:MAX_SHOWN],
        "stderr": note,
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
    }
    shown = output_of_success(ended, text, state, context.call_id)
    if shown.path:
        structured["persistedOutputPath"], structured["persistedOutputSize"] = shown.path, shown.size
    return ToolOutput(_lines(shown.text, note) or "(Bash completed with no output)", structured, is_error=False)


# ---------------------------------------------------------------- time limits


def time_limit_ms(asked: float | None, state: ToolState) -> int:
    """The requested limit, else the default, never above the maximum. The environment can set default and maximum."""
    default = _number(state.env_setting("BASH_DEFAULT_TIMEOUT_MS"), DEFAULT_TIMEOUT_MS)
    highest = max(_number(state.env_setting("BASH_MAX_TIMEOUT_MS"), MAX_TIMEOUT_MS), default)
    return min(int(asked) if asked is not None and asked >= 1 else default, highest)


def _number(text: str, default: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and 0 < int(text) < 1 << 40 else default


def _duration(asked: float | None, state: ToolState) -> str:
    """`1s`, `1.5s`, `2m`, `2m 30s`."""
    seconds = time_limit_ms(asked, state) / 1000
    if seconds < 60:
        return f"{seconds:g}s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m {rest}s" if rest else f"{minutes}m"


# ---------------------------------------------------------------- running


def _run_command(command: str, seconds: float, state: ToolState, context: ToolContext) -> tuple[Ended, str, str]:
    """Run the command to its end and adopt the folder that it changed to. Returns how it ended, a note if the shell
    went back to the workspace instead, and what the confinement reports."""
    shells = state.shells
    sink = Sink(lambda: state.scratch.new_file(context.call_id, ".txt"), redact=state.scratch.redact)
    try:
        handle, cwd_file = state.scratch.new_file("cwd", ".txt")
        os.close(handle)
    except OSError as error:
        state.log("warning", f"the shell's working directory is not tracked for this command: {error}")
        cwd_file = ""
    try:
        running = _start(command, sink, cwd_file or NO_FILE, state, context)
        try:
            with LiveOutput(sink, context.show_output, state.scratch.redact):
                ended = run_to_end(running, seconds, context.cancel)
        except Cancelled:
            ended = ended_so_far(running)
            raise Cancelled(both_ends(ended, clean_output(ended.output).rstrip("\n"))) from None
        finally:
            shells.leave(running)
        return ended, _adopt_folder(shells, cwd_file, state), running.note
    except OSError as error:
        raise os_failure(error, "spawn", shells.shell or "shell") from None
    finally:
        if cwd_file:
            _remove(cwd_file)


def _start(command: str, sink: Sink, cwd_file: str, state: ToolState, context: ToolContext) -> ProcessGroup:
    """Start the command. One that must be confined and cannot be is not run, and asked about the next time."""
    try:
        return state.shells.start(command, sink, cwd_file, context.confinement)
    except OSError as error:
        raise _not_confined(command, error, state) if context.confinement is not None else error from None


def _not_confined(command: str, error: OSError, state: ToolState) -> ToolFailed:
    state.wall.remember_failure(command)
    return ToolFailed(
        f"Nothing was run: the command could not be confined ({error.strerror or error}). Run the very same command "
        "again: it then needs approval, and runs unconfined."
    )


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # the command may have deleted its folder


def _adopt_folder(shells: ShellSession, cwd_file: str, state: ToolState) -> str:
    """Stay in the folder that the command changed to if it is inside the workspace, else go back to the top."""
    if not cwd_file:
        return ""
    try:
        with open(cwd_file, "rb") as file:
            where = os.fsdecode(file.read(MAX_CWD_NOTE).removesuffix(b"\n"))
    except OSError:  # the command has deleted it
        return ""
    if not where or (not WINDOWS and where == shells.cwd) or not os.path.isdir(where):
        return ""
    if state.inside(where):
        shells.cwd = where
        return ""
    shells.cwd = state.cwd
    return f"Shell cwd was reset to {state.cwd}"


def _ensure_folder(state: ToolState) -> str:
    """Move the shell to the workspace if its folder was deleted meanwhile."""
    if os.path.isdir(state.shells.cwd):
        return ""
    if not os.path.isdir(state.cwd):
        raise ToolFailed(f"The working directory does not exist any more: {state.cwd}")
    state.shells.cwd = state.cwd
    return f"Shell cwd was reset to {state.cwd}"


def _start_background(command: str, state: ToolState, description: str, context: ToolContext) -> ToolOutput:
    try:
        made = state.shells.start_background(command, context.confinement)
    except BlockingIOError as error:
        raise ToolFailed(f"{error.strerror}. Stop one of them first.") from None
    except OSError as error:
        if context.confinement is not None:
            raise _not_confined(command, error, state) from None
        raise os_failure(error, "spawn", state.shells.shell or "shell") from None
    structured = {
        "stdout": "",
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
        "backgroundTaskId": made.id,
    }
    sink = made.running.sink
    where = f"Output is being written to: {sink.path}"
    if not sink.path:
        where = f"Its output cannot be saved ({sink.lost}): only the newest is kept, for BashOutput"
    _watch(made, state, description, context)
    text = f"Command running in background with ID: {made.id}. {where}"
    return ToolOutput(text, structured, is_error=False)


def _watch(made: BackgroundCommand, state: ToolState, description: str, context: ToolContext) -> None:
    """Report a background command as a task; without a registry only its end is looked at."""
    if state.tasks is None:
        threading.Thread(target=_await_end, args=(made, state, description, context), daemon=True).start()
        return
    tasks = state.tasks()
    task = tasks.begin(TaskFacts(made.id, "", "local_bash", description, context.call_id))
    tasks.launch(task, lambda task: _await_end(made, state, description, context, task.cancel))


class _LongRun:
    """Reports a foreground command as a task once it has taken long, and then its end too. The lock orders the timer's
    thread and the call's."""

    def __init__(self, state: ToolState, call_id: str, description: str) -> None:
        self._state, self._call_id, self._description = state, call_id, description
        self._lock = threading.Lock()
        self._over = False
        self._task: Task | None = None
        self._timer = threading.Timer(LONG_RUN_S, self._report)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        status: Literal["completed", "killed"] = "completed" if kind is None else "killed"
        self._timer.cancel()
        with self._lock:  # nothing is reported after the call's own result
            self._over = True
            if self._task is not None:
                words = "completed" if kind is None else "stopped"
                self._task.end(TaskEnd(status, f'Command "{self._description}" {words}'))

    def _report(self) -> None:
        with self._lock:
            if not self._over and self._state.tasks is not None:
                facts = TaskFacts(self._state.shells.new_id(), "", "local_bash", self._description, self._call_id)
                self._task = self._state.tasks().begin(facts, backgrounded=False)


def _await_end(
    made: BackgroundCommand, state: ToolState, description: str, context: ToolContext, cancel: Cancel | None = None
) -> TaskEnd:
    """Wait for the end of a background command, or end it when it is cancelled."""
    if cancel is None:
        made.running.ended.wait()
    elif not made.running.wait(threading.TIMEOUT_MAX, cancel):
        made.killed = True
        made.running.stop(CANCEL_GRACE_S if state.closing else TIMEOUT_GRACE_S)
    made.running.drain(DRAIN_S)
    code = exit_code(made.running)
    words = f"failed with exit code {code}" if code else "completed (exit code 0)"
    summary = description if made.killed else f'Background command "{description}" {words}'
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


# ---------------------------------------------------------------- output


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
