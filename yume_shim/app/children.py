"""Sends the events of a child loop to the session's output, with the parent's call id, and to its own transcript."""

from __future__ import annotations

from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.host.event_output import EventOutput
    from yume_shim.store.jsonl import JsonlStore
    from yume_shim.types.child import Child
    from yume_shim.types.events import Event
    from yume_shim.types.ports import ChildOutput, Emit, Store


class _ChildOutput:
    """Implements `types.ports.ChildOutput`."""

    def __init__(self, emit: Emit, store: Store | None, transcript: str) -> None:
        self._emit, self._store, self.transcript = emit, store, transcript

    def emit(self, event: Event) -> str:
        return self._emit(event)

    def close(self) -> None:
        if self._store is not None:
            self._store.close()


def open_child(
    child: Child, events: EventOutput, session_store: JsonlStore | None, *, forwards: bool = True
) -> ChildOutput:
    """The output of one child. Sessions that are not stored have no transcripts of their children either. `forwards`:
    the Claude forms print all of it."""
    if not forwards:
        child = replace(child, shown="nothing" if child.depth > 1 else "all" if child.background else "calls")
    if session_store is None:
        return _ChildOutput(events.child(child), None, "")
    from yume_shim.store.children import open_child_transcript

    store = open_child_transcript(session_store, child)
    return _ChildOutput(events.child(child, store), store, store.path)
