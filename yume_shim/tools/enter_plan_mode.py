"""EnterPlanMode: tells the model to plan first. The engine switches the mode."""

from __future__ import annotations

from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext

TEXT = (
    "Plan mode is on. Look around and work out a plan; change nothing yet. When the plan is ready, hand it over with "
    "ExitPlanMode and wait for it to be approved."
)


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """Tell the model what the mode means."""
    return ToolOutput(TEXT, {"message": TEXT}, mode="plan")
