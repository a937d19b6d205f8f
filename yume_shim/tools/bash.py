"""Bash: runs one command with a time limit, or in the background; long output is saved to a file."""

from __future__ import annotations

import os

from yume_shim.text.clean import clean_output
from yume_shim.tools.files.text_files import os_failure
from yume_shim.tools.shell.background_tasks import MAX_MOVED_S, LongRun, may_move, move_to_background, watch
from yume_shim.tools.shell.live_output import LiveOutput
from yume_shim.tools.shell.processes import (
    WINDOWS,
    ended_so_far,
    run_to_end,
)
from yume_shim.tools.shell.shell_session import NO_FILE, BackgroundCommand
from yume_shim.tools.shell.shown_output import MAX_SHOWN, both_ends, output_of_success
from yume_shim.tools.shell.sink import Sink
from yume_shim.types.errors import Cancelled, ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.tools.shell.processes import Ended, ProcessGroup
    from yume_shim.tools.shell.shell_session import BackgroundCommand, ShellSession
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext

DEFAULT_TIMEOUT_MS = 120_000
MAX_TIMEOUT_MS = 600_000
TIMEOUT_CODE = 143
MAX_CWD_NOTE = 8_192


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """Run the command in the session's shell folder."""
    command: str = given["command"]
    note = _ensure_folder(state)
    if given.get("run_in_background"):
        return _start_background(command, state, str(given.get("description") or command), context)
    limit = time_limit_ms(given.get("timeout"), state)
    with LongRun(state, context.call_id, command, str(given.get("description") or command)) as long_run:
        outcome = _run_command(command, limit / 1000, state, context, long_run)
    if isinstance(outcome, BackgroundCommand):
        return _moved(outcome, limit, _duration(given.get("timeout"), state))
    ended, moved, planted = outcome
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


def _run_command(
    command: str, seconds: float, state: ToolState, context: ToolContext, long_run: LongRun
) -> tuple[Ended, str, str] | BackgroundCommand:
    """Run the command to its end and adopt the folder that it changed to. Returns how it ended, a note if the shell
    went back to the workspace instead, and what the confinement reports; or the command, if it took too long and
    continues in the background."""
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
            if may_move(command, state):
                with LiveOutput(sink, context.show_output, state.scratch.redact):
                    over = running.wait(seconds, context.cancel)
                if not over and not context.cancel.is_set():
                    begun = sink.save_from_start()
                    made = move_to_background(command, running, cwd_file, state, context, long_run)
                    if made is not None:
                        made.begun = begun
                        cwd_file = ""  # it is removed when the command ends
                        return made
                    seconds = 0.0
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
            where = shells.folder_noted(os.fsdecode(file.read(MAX_CWD_NOTE).removesuffix(b"\n")))
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
    watch(made, state, description, context)
    text = f"Command running in background with ID: {made.id}. {where}"
    if state.tasks is not None:
        text += ". You will be told when it ends; TaskOutput shows its output before that."
    return ToolOutput(text, structured, is_error=False)


def _moved(made: BackgroundCommand, limit: int, words: str) -> ToolOutput:
    """The result of a command that took longer than its time limit and continues."""
    text = clean_output(made.begun).rstrip("\n")[:MAX_SHOWN]
    path = made.running.sink.path or "memory"
    note = (
        f"The command did not end within {words} and continues in the background with ID: {made.id}. Its output is "
        f"written to: {path}. You will be told when it ends; after {MAX_MOVED_S // 60} minutes "
        "it is stopped. Do not start it a second time meanwhile; TaskStop ends it if it is not needed."
    )
    structured: Json = {
        "stdout": text,
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
        "backgroundTaskId": made.id,
        "timedOutAfterMs": limit,
    }
    return ToolOutput(_lines(text, note), structured, is_error=False)


# ---------------------------------------------------------------- output


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
