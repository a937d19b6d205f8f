"""The way out for every event: tagged, remembered, rendered, written; from any thread, in one order."""

from __future__ import annotations

import threading

from yume_shim.types.events import BlockDelta, PromptTaken, Tagged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.host.writer import LineWriter
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import Event
    from yume_shim.types.ports import Clock, Dialect, Ids, Store


class Outlet:
    """Remember first, print second: what the host has read is on disk."""

    def __init__(self, clock: Clock, ids: Ids, dialect: Dialect, writer: LineWriter) -> None:
        self._clock = clock
        self._ids = ids
        self._dialect = dialect
        self._writer = writer
        self._lock = threading.RLock()
        self._listeners: list[Callable[[Tagged], None]] = []
        self._stores: list[Store] = []
        self._muted = False

    def listen(self, listener: Callable[[Tagged], None]) -> None:
        """Let somebody hear every event before it is printed."""
        self._listeners.append(listener)

    def remember_in(self, store: Store) -> None:
        """Let a store hear everything but deltas, which it has no use for."""
        self._stores.append(store)

    def mute(self) -> None:
        """Print nothing more (a terminated Claude form says nothing)."""
        self._muted = True

    def emit(self, event: Event) -> str:
        """Send one event out; returns its uuid. Implements `types.ports.Emit`."""
        with self._lock:
            kind = type(event)
            uuid = (event.uuid if isinstance(event, PromptTaken) else "") or self._ids.uuid()
            tagged = Tagged(event, uuid, self._clock.now(), None)
            for listener in self._listeners:
                listener(tagged)
            if kind is not BlockDelta:
                for store in self._stores:
                    store.feed(tagged)
            if not self._muted:
                lines = self._dialect.feed(tagged)
                if lines:
                    self._print(lines)
            return uuid

    def _print(self, lines: Sequence[Json]) -> None:
        """`{"!text": …}` stands for text that is printed as it is (the print modes)."""
        if "!text" in lines[0]:
            for line in lines:
                self._writer.write_text(line["!text"])
        else:
            self._writer.write(lines)
