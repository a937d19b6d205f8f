"""AskUserQuestion: returns the host's answers. The host got the questions with the request for permission, and put its
answers into the input."""

from __future__ import annotations

from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """Give the answers to the model."""
    answers: Json = given.get("answers") or {}
    if not answers:
        raise ToolFailed("The questions were not answered. Go on with what you know, or ask in plain text.")
    pairs = ", ".join(f'"{question}"="{_words(answer)}"' for question, answer in answers.items())
    structured: Json = {"questions": given["questions"], "answers": answers}
    if given.get("annotations"):
        structured["annotations"] = given["annotations"]
    return ToolOutput(
        f"Your questions have been answered: {pairs}. You can now go on with these answers in mind.", structured
    )


def _words(answer: Any) -> str:
    """One label, or several."""
    return ", ".join(map(str, answer)) if isinstance(answer, list) else str(answer)
