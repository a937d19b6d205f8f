"""Joins adjacent pieces of a block that arrived in one network read: the program then handles them in one step."""

from __future__ import annotations

from yume_shim.types.events import BlockDelta

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.events import ModelEvent


def joined(events: list[ModelEvent]) -> list[ModelEvent]:
    """The same events; each run of deltas of one block and kind is one delta that remembers its pieces,
    those included that a decoder has joined."""
    if len(events) < 2:
        return events
    out: list[ModelEvent] = []
    run: list[str] = []
    first: BlockDelta | None = None
    for event in events:
        if type(event) is not BlockDelta:
            if first is not None:
                out.append(_whole(first, run))
                first = None
            out.append(event)
        elif first is not None and event.kind == first.kind and event.index == first.index:
            run += event.pieces or (event.text,)
        else:
            if first is not None:
                out.append(_whole(first, run))
            first, run = event, list(event.pieces or (event.text,))
    if first is not None:
        out.append(_whole(first, run))
    return out


def _whole(first: BlockDelta, run: list[str]) -> BlockDelta:
    alone = len(run) == (len(first.pieces) or 1)
    return first if alone else BlockDelta(first.index, first.kind, "".join(run), tuple(run))
