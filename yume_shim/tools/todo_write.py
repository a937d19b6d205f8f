"""TodoWrite: replaces the to-do list of the session."""

from __future__ import annotations

from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext

WORDS = (("completed", "completed"), ("in_progress", "in progress"), ("pending", "pending"))


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """Keep the new list and summarise it."""
    before, state.todos = state.todos, given["todos"]
    counts = [(sum(1 for todo in state.todos if todo["status"] == status), word) for status, word in WORDS]
    text = ", ".join(f"{count} {word}" for count, word in counts if count) or "it is empty now"
    structured = {"oldTodos": before, "newTodos": state.todos}
    return ToolOutput(f"The todo list was updated: {text}.", structured, todos=tuple(state.todos))
