"""BashOutput: returns what a background command has printed since the last call."""

from __future__ import annotations

import os

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

MAX_SHOWN = 30_000
"""Bytes of new output that one call shows: the newest."""


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """Status and new output; with `filter` only the lines that match (the others are not shown later either)."""
    shell = find_shell(given["bash_id"], state)
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
        known = ", ".join(state.shells.background)
        raise ToolFailed(f"No shell found with ID: {name}. " + (f"There are: {known}" if known else "There is none."))
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
