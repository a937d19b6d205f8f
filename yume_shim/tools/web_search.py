"""WebSearch: passes the query to the session's search function. Without one the tool is not offered."""

from __future__ import annotations

from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """Search."""
    if state.search is None:
        raise ToolFailed("Web search is not available in this session.")
    text = state.search(given, context.cancel)
    return ToolOutput(text, {"query": given["query"], "results": [text]})
