"""Reads the parameters of a call that its tool's spec names."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import ToolCall


def text_at(call: ToolCall, field: str) -> str | None:
    """The text of a parameter. None if the spec names no such field ("" is a name that a model could send), if the
    call does not have it, or if it is not text."""
    found = call.input.get(field) if field else None
    return found if isinstance(found, str) else None
