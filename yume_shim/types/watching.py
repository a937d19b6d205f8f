"""Stopping an answer early: what a watcher of a stream says."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json


class StreamStop(Value):
    """Why an answer is stopped. Of a call, `fields` are the complete fields received so far and `reason` is its result;
    of a text, `keep` is how many of its characters stay in the history."""

    reason: str
    fields: Json | None = None
    keep: int = 0
