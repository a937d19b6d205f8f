"""KillShell: stops a background command and everything it started."""

from __future__ import annotations

from yume_shim.tools.bash_output import find_shell
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """End the whole group."""
    shell = find_shell(given["shell_id"], state)
    if shell.status() != "running":
        raise ToolFailed(f"Shell {shell.id} is not running, so it cannot be killed (status: {shell.status()}).")
    tasks = state.tasks() if state.tasks is not None else None
    if tasks is not None:
        tasks.mark_seen(shell.id)
    if tasks is None or not tasks.stop(shell.id):
        state.stop_background(shell.id)
    message = f"Successfully killed shell: {shell.id} ({shell.command})"
    return ToolOutput(message, {"message": message, "shell_id": shell.id})
