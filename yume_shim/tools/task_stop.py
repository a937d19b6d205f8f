"""TaskStop: stops a background task, a command with everything it started or an agent."""

from __future__ import annotations

from yume_shim.tools.task_output import find_shell
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext

BY_MODEL = "was stopped by TaskStop"


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """End it and wait for its end."""
    task_id: str = given["task_id"]
    tasks = state.tasks() if state.tasks is not None else None
    task = tasks.find(task_id) if tasks is not None else None
    if tasks is None or task is None:
        return _stop_command(task_id, state)
    if task.ended is not None:
        raise ToolFailed(f"Task {task_id} is not running, so it cannot be stopped (status: {task.ended.status}).")
    tasks.mark_seen(task_id)
    tasks.stop(task_id, BY_MODEL)
    return _stopped(task_id, task.facts.description)


def _stop_command(task_id: str, state: ToolState) -> ToolOutput:
    shell = find_shell(task_id, state)
    if shell.status() != "running":
        raise ToolFailed(f"Task {shell.id} is not running, so it cannot be stopped (status: {shell.status()}).")
    state.stop_background(shell.id)
    return _stopped(shell.id, shell.command)


def _stopped(task_id: str, description: str) -> ToolOutput:
    message = f"Successfully stopped task: {task_id} ({description})"
    return ToolOutput(message, {"message": message, "task_id": task_id})
