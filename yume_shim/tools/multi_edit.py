"""MultiEdit: applies several edits to one file in order, all or none."""

from __future__ import annotations

from yume_shim.tools.edit import edit_file
from yume_shim.tools.files import diff
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """Each edit works on the text that the one before it produced."""
    shown, edits = given["file_path"], given["edits"]
    if not edits:
        raise ToolFailed("`edits` must hold at least one edit.", before_run=True)
    steps = tuple((edit["old_string"], edit["new_string"], edit["replace_all"]) for edit in edits)
    before, after, stale = edit_file(shown, steps, state, context)
    count = "1 edit" if len(edits) == 1 else f"{len(edits)} edits"
    structured: Json = {
        "filePath": shown,
        "edits": edits,
        "originalFile": before,
        "structuredPatch": diff.hunks(before, after),
        "userModified": False,
    }
    if stale:
        structured["staleRecovered"] = True
    text = f"The file {shown} has been updated successfully. {count} applied."
    return ToolOutput(text, structured, patch=diff.patch_of(shown, structured["structuredPatch"]))
