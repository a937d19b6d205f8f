"""Reads how a turn ended from the `result` line of a recorded stream."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.pages.readers.assembler import Assembler
    from yume_shim.types.blocks import Json


def close_failed(made: Assembler, at: float | None, line: Json) -> None:
    """Mark a turn whose `result` says that it failed or was stopped, unless that was shown already."""
    if made.turn.failure:
        return
    if line.get("subtype") == "cancelled" or str(line.get("terminal_reason")).startswith("aborted"):
        if not made.turn.interrupted:
            made.mark(at, "interrupted", "Interrupted")
        return
    errors = line.get("errors")
    texts = list(map(str, errors)) if isinstance(errors, list) else []
    result = line.get("result")
    text = "\n".join(texts) or (result if isinstance(result, str) else "")
    made.mark(at, "failure", f"The turn failed: {str(line.get('subtype')).replace('_', ' ')}", text)
