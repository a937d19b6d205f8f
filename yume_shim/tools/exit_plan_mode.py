"""ExitPlanMode: tells the model that its plan was approved. The host approved it before this runs."""

from __future__ import annotations

from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """Tell the model to begin. The plan is repeated: the user may have changed it while approving."""
    text = "The user has approved your plan. Plan mode is over: you may begin, and change files from now on."
    structured: Json = {"plan": given.get("plan"), "isAgent": False}
    if given.get("plan"):
        text += f"\n\nThe approved plan:\n{given['plan']}"
    if given.get("allowedPrompts"):
        structured["allowedPrompts"] = given["allowedPrompts"]
    return ToolOutput(text, structured, mode="default")
