"""Sends every event out: tags it, stores it, turns it into lines, writes them. From any thread, in one order."""

from __future__ import annotations

import threading

from yume_shim.types.events import BlockDelta, PromptTaken, Tagged
from yume_shim.types.live_events import UNNAMED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.host.delta_merging import DeltaMerger
    from yume_shim.host.writer import LineWriter
    from yume_shim.types.blocks import Json
    from yume_shim.types.child import Child
    from yume_shim.types.events import Event
    from yume_shim.types.ports import Clock, Dialect, Emit, Ids, Store

    Listener = Callable[[Tagged], None]


class EventOutput:
    """Stores an event before it prints it: what the host has read is on disk.

    `emit` and the emitters of `child` run on every thread of the program; the lock gives all events one order. It is
    re-entrant because a store may emit a notice about itself. `store_in` is called before the stdin reader starts;
    `mute` runs on the reader's thread or the one of signals, and only sets a flag.
    """

    def __init__(
        self,
        clock: Clock,
        ids: Ids,
        dialect: Dialect,
        writer: LineWriter | DeltaMerger,
        listeners: Sequence[Listener] = (),
        *,
        tell: Callable[[Event], None] | None = None,
    ) -> None:
        self._clock = clock
        self._ids = ids
        self._dialect = dialect
        self._writer = writer
        self._listeners = listeners
        """Each receives every event before it is printed."""
        self._tell = tell
        """Receives every event but deltas, and says on stderr what people should know."""
        self._lock = threading.RLock()
        self._stores: list[Store] = []
        self._on_delta: Callable[[BlockDelta, float], None] | None = None
        self._muted = False

    def store_in(self, store: Store, on_delta: Callable[[BlockDelta, float], None] | None = None) -> None:
        """Pass the session's own events to this store from now on. `on_delta` gets its deltas, with their time."""
        self._stores.append(store)
        self._on_delta = on_delta

    def mute(self) -> None:
        """Print nothing more (a terminated Claude form prints nothing)."""
        self._muted = True

    def emit(self, event: Event) -> str:
        """Send one event; returns its uuid. Implements `types.ports.Emit`."""
        return self._send_delta(event, None) if type(event) is BlockDelta else self._send(event, None, self._stores)

    def child(self, child: Child, store: Store | None = None) -> Emit:
        """An emitter for the events of a child loop: they carry the id of the call that started it, and go to `store`
        in place of the session's stores."""
        stores = () if store is None else (store,)

        def emit(event: Event) -> str:
            return self._send_delta(event, child) if type(event) is BlockDelta else self._send(event, child, stores)

        return emit

    def _send(self, event: Event, child: Child | None, stores: Sequence[Store]) -> str:
        with self._lock:
            uuid = event.uuid if isinstance(event, PromptTaken) else ""
            if not uuid and type(event) not in UNNAMED:
                uuid = self._ids.uuid()
            parent_call_id = None if child is None else child.call_id
            tagged = Tagged(event, uuid, self._clock.now(), parent_call_id, child)
            for listener in self._listeners:
                listener(tagged)
            for store in stores:
                store.feed(tagged)
            if self._tell is not None:
                self._tell(event)
            if not self._muted:
                lines = self._dialect.feed(tagged)
                if lines:
                    self._print(lines)
            return uuid

    def _send_delta(self, event: BlockDelta, child: Child | None) -> str:
        """Four of five events are deltas: those that arrived together are one, and their lines are one write."""
        pieces = event.pieces or (event.text,)
        with self._lock:
            uuids = self._ids.uuids(len(pieces)) if event.pieces else [self._ids.uuid()]
            at = self._clock.now()
            for listener in self._listeners:
                for place in range(len(pieces)):
                    listener(_tagged(event, pieces[place], uuids[place], at, child))
            if self._on_delta is not None and child is None:
                self._on_delta(event, at)
            if self._muted:
                return uuids[0]
            lines = self._dialect.delta_lines(event, uuids) if child is None else None
            done = 0 if lines is None else self._write_lines(lines) if lines else len(pieces)
            for place in range(done, len(pieces)):
                rendered = self._dialect.feed(_tagged(event, pieces[place], uuids[place], at, child))
                if rendered:
                    self._print(rendered)
            return uuids[0]

    def _write_lines(self, lines: list[bytes]) -> int:
        """Write as many of these lines as stdout takes; returns their number."""
        done = self._writer.write_lines(lines)
        while 0 < done < len(lines) and (more := self._writer.write_lines(lines[done:])):
            done += more
        return done

    def _print(self, lines: Sequence[Json]) -> None:
        """`{"!text": …}` is text that is printed as it is (the print modes)."""
        if "!text" in lines[0]:
            for line in lines:
                self._writer.write_text(line["!text"])
        else:
            self._writer.write(lines)


def _tagged(event: BlockDelta, piece: str, uuid: str, at: float, child: Child | None) -> Tagged:
    """A piece of a delta as a delta of its own."""
    parent = None if child is None else child.call_id
    return Tagged(BlockDelta(event.index, event.kind, piece), uuid, at, parent, child)
