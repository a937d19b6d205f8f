"""TaskOutput: returns what a background task has printed since the last call, and whether it still runs."""

from __future__ import annotations

import os
import threading

from yume_shim.text.clean import clean_output
from yume_shim.tools.files.text_files import os_failure, size_text
from yume_shim.tools.shell.processes import DRAIN_S, exit_code
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.tools.shell.shell_session import BackgroundCommand
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext
    from yume_shim.types.ports import BackgroundTasks, Task

DEFAULT_WAIT_MS = 30_000
MAX_WAIT_MS = 600_000
REPORT_S = 2.0
"""How long a look waits for the report of a command that has ended."""
MAX_SHOWN = 30_000
"""Bytes of new output that one call shows: the newest."""


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """Status and new output; with `filter` only the lines that match (the others are not shown later either)."""
    task_id: str = given["task_id"]
    tasks = state.tasks() if state.tasks is not None else None
    task = tasks.find(task_id) if tasks is not None else None
    if task is not None and given.get("block") and task.ended is None:
        _await(task, given.get("timeout"), context)
    if tasks is not None and task is not None and task.facts.kind == "local_agent":
        _mark(tasks, task)
        return _of_agent(task)
    shell = find_shell(task_id, state)
    if tasks is not None and task is not None and shell.status() != "running":
        task.wait(REPORT_S)  # its end is about to be reported: the model reads of it here
        _mark(tasks, task)
    if task is None and given.get("block"):
        shell.running.wait(_seconds(given.get("timeout")), context.cancel)
        context.cancel.check()
    return _of_command(shell, given, state, context)


def _await(task: Task, timeout: float | None, context: ToolContext) -> None:
    """Wait for the end of a task; raises Cancelled."""
    woken = threading.Event()
    with context.cancel.guard(woken.set):
        task.then(woken.set)
        woken.wait(_seconds(timeout))
    context.cancel.check()


def _seconds(timeout: float | None) -> float:
    return min(DEFAULT_WAIT_MS if timeout is None or timeout < 0 else timeout, MAX_WAIT_MS) / 1000


def _mark(tasks: BackgroundTasks, task: Task) -> None:
    """Note that the model reads of its end, if it has ended."""
    if task.ended is not None:
        tasks.mark_seen(task.facts.task_id)


def _of_agent(task: Task) -> ToolOutput:
    """The answer of an agent, or what it has said so far."""
    end = task.ended
    status = "running" if end is None else end.status
    text = end.result or end.told or end.summary if end is not None else task.output() if task.output else ""
    structured: Json = {"task_id": task.facts.task_id, "status": status, "output": text}
    return ToolOutput(f"<status>{status}</status>\n\n{text or '(no output yet)'}", structured)


def _of_command(shell: BackgroundCommand, given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    status = shell.status()
    if status != "running":
        shell.running.drain(DRAIN_S)
    pattern = given.get("filter", "")
    if shell.running.sink.path:
        try:
            end = os.path.getsize(shell.running.sink.path)
            text = _filtered(shell, end, pattern, state, context) if pattern else _new_text(shell, end)
        except OSError as error:
            raise os_failure(error, "read", shell.running.sink.path) from None
        shell.shown_bytes = end
    else:
        text = _from_memory(shell, pattern)
    code = exit_code(shell.running) if status != "running" else None
    head = f"<status>{status}</status>" + ("" if code is None else f"\n<exit_code>{code}</exit_code>")
    body = f"<stdout>\n{text}\n</stdout>" if text else "(no new output)"
    structured: Json = {
        "shellId": shell.id,
        "command": shell.command,
        "status": status,
        "exitCode": code,
        "stdout": text,
        "stderr": "",
        "stdoutLines": text.count("\n") + 1 if text else 0,
        "stderrLines": 0,
    }
    if pattern:
        structured["filterPattern"] = pattern
    return ToolOutput(f"{head}\n\n{body}", structured)


def find_shell(name: str, state: ToolState) -> BackgroundCommand:
    """The background command of that name. Raises ToolFailed if there is none."""
    shell = state.shells.background.get(name)
    if shell is None:
        agents = [task.facts.task_id for task in state.tasks().all()] if state.tasks is not None else []
        known = ", ".join(dict.fromkeys((*state.shells.background, *agents)))
        raise ToolFailed(f"No task found with ID: {name}. " + (f"There are: {known}" if known else "There is none."))
    return shell


def _new_text(shell: BackgroundCommand, end: int) -> str:
    start = max(shell.shown_bytes, end - MAX_SHOWN)
    with open(shell.running.sink.path, "rb") as file:
        file.seek(start)
        text = file.read(end - start).decode("utf-8", "replace").rstrip("\n")
    return _cut_note(shell, start) + text


def _from_memory(shell: BackgroundCommand, pattern: str) -> str:
    """The newest output of a command whose output cannot be saved. It is not filtered: that needs a file too."""
    sink = shell.running.sink
    end = sink.total
    data, skipped = sink.newest(min(shell.shown_bytes, end))
    shell.shown_bytes = end
    text = clean_output(data[-MAX_SHOWN:]).rstrip("\n")
    skipped += max(0, len(data) - MAX_SHOWN)
    why = f"it could not be saved ({sink.lost})"
    cut = f"… {size_text(skipped)} of output are lost: {why} …\n" if skipped else ""
    unfiltered = f"… the filter was not applied to this output: {why} …\n" if pattern and text else ""
    return unfiltered + cut + text


def _cut_note(shell: BackgroundCommand, start: int) -> str:
    skipped = start - shell.shown_bytes
    return f"… {size_text(skipped)} cut, all of it is in {shell.running.sink.path} …\n" if skipped else ""


def _filtered(shell: BackgroundCommand, end: int, pattern: str, state: ToolState, context: ToolContext) -> str:
    """The process that Grep uses does the search: a bad pattern can take for ever, and a process can be ended."""
    from yume_shim.tools.search.search_process import MAX_GATHERED, matching_lines

    start = max(shell.shown_bytes, end - MAX_GATHERED // 2)
    handle, path = state.scratch.new_file("filter", ".txt")
    try:
        with open(handle, "wb") as part, open(shell.running.sink.path, "rb") as file:
            file.seek(start)
            part.write(file.read(end - start))
        lines = matching_lines(path, pattern, state, context)
    finally:
        os.unlink(path)
    text, size = "", 0
    for place in range(len(lines) - 1, -1, -1):
        size += len(lines[place]) + 1
        if size > MAX_SHOWN:
            text = f"… {place + 1} matching lines cut …\n"
            lines = lines[place + 1 :]
            break
    return _cut_note(shell, start) + text + "\n".join(lines)
