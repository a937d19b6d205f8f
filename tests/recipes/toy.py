"""Toy: says a word several times. tests/test_recipes.py puts this file where CONTRIBUTING.md says a tool goes."""

from __future__ import annotations

from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext

MAX_TIMES = 100


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """Say it."""
    times = given.get("times", 1)
    if not 1 <= times <= MAX_TIMES:
        raise ToolFailed(f"times must be between 1 and {MAX_TIMES}")
    return ToolOutput(" ".join([given["word"]] * times), {"times": times})
