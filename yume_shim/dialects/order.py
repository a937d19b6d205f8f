"""Checks a stream of events against the rules of `order_table.py`. Only tests use it."""

from __future__ import annotations

from yume_shim.dialects.order_table import ANY_TIME, CHILD_TABLE, OPEN_STATES, TABLE
from yume_shim.types.blocks import ToolCall
from yume_shim.types.children import FORKED_COMMAND
from yume_shim.types.events import (
    ApprovalAsked,
    ApprovalWithdrawn,
    BlockDelta,
    BlockEnded,
    BlockStarted,
    CallDenied,
    Interrupted,
    ResponseDropped,
    ResponseEnded,
    ResponseStarted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from yume_shim.types.side_events import TaskNotification, TaskStarted, TaskUpdated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.dialects.order_table import State
    from yume_shim.types.events import Event, Tagged

    CallEvent = ToolStarted | ToolFinished | ToolProgress | CallDenied | ApprovalAsked | ApprovalWithdrawn


class OrderBroken(AssertionError):
    """An event came in a state in which it is not legal."""


class OrderCheck:
    """Checks events one by one; `feed` raises OrderBroken at the first that breaks a rule."""

    def __init__(self, concurrency: int = 1) -> None:
        self._main = _Lane("new", TABLE, concurrency)
        self._children: dict[str, _Lane] = {}
        self._behind: set[str] = set()
        """The calls whose agents run in the background."""
        self._concurrency = concurrency

    def feed(self, tagged: Tagged) -> None:
        """Check the next event."""
        event = tagged.event
        if type(event) in ANY_TIME:
            self._note_task(event)
            return
        self._lane(tagged).step(event)
        if isinstance(event, ToolFinished) and event.call.id not in self._behind:
            self._end_child(event.call.id)
        elif isinstance(event, TurnEnded):
            for parent in [parent for parent in self._children if parent.startswith(FORKED_COMMAND)]:
                self._end_child(parent)

    def _note_task(self, event: Event) -> None:
        """An agent in the background outlives its call."""
        if isinstance(event, (TaskStarted, TaskUpdated, TaskNotification)) and event.facts.kind == "local_agent":
            call_id = event.facts.call_id
            if isinstance(event, TaskNotification):
                if call_id in self._behind:
                    self._behind.remove(call_id)
                    self._end_child(call_id)
            elif (isinstance(event, TaskStarted) and event.backgrounded) or (
                isinstance(event, TaskUpdated) and event.status is None
            ):
                self._behind.add(call_id)

    def _lane(self, tagged: Tagged) -> _Lane:
        parent = tagged.parent_call_id
        if parent is None:
            return self._main
        lane = self._children.get(parent)
        if lane is None:
            forked = parent.startswith(FORKED_COMMAND) and self._main.state == "turn"
            running = any(parent in each.running for each in (self._main, *self._children.values()))
            if not forked and not running and parent not in self._behind:
                name = type(tagged.event).__name__
                raise OrderBroken(f"{name} of a subagent whose call {parent} is not running")
            lane = self._children[parent] = _Lane("turn", CHILD_TABLE, self._concurrency)
        return lane

    def _end_child(self, call_id: str) -> None:
        lane = self._children.pop(call_id, None)
        if lane is None:
            return
        if lane.running:
            raise OrderBroken(f"{call_id} finished while calls of its subagent run: {sorted(lane.running)}")
        if lane.state in OPEN_STATES:
            raise OrderBroken(f"{call_id} finished while its subagent is in state '{lane.state}'")


class _Lane:
    """One conversation: the main one, or a subagent's."""

    def __init__(self, state: State, table: Mapping[State, Mapping[type, State]], concurrency: int) -> None:
        self.state: State = state
        self.running: set[str] = set()
        self._table = table
        self._concurrency = concurrency
        self._offered: set[str] = set()
        self._asks: set[str] = set()
        self._shown: list[tuple[int, str | None]] = []
        self._last_index = -1
        self._open: int | None = None

    def step(self, event: Event) -> None:
        after = self._table[self.state].get(type(event))
        if after is None:
            raise OrderBroken(f"{type(event).__name__} is not legal in state '{self.state}'")
        match event:
            case ResponseStarted():
                self._last_index, self._open = -1, None
                self._shown.clear()
            case BlockStarted():
                if event.index <= self._last_index:
                    raise OrderBroken(f"block {event.index} after block {self._last_index}")
                self._last_index = self._open = event.index
            case BlockDelta() | BlockEnded():
                self._block(event)
            case ResponseEnded():
                self._offer(len(self._shown))
            case ToolStarted() if after == "stopping":
                self._offer(len(self._shown))
                self._call(event)
            case ResponseDropped():
                if event.open_index != self._open:
                    raise OrderBroken(f"dropped with block {event.open_index} open, but it is {self._open}")
                self._open = None
                self._offer(sum(index < event.from_index for index, _ in self._shown))
            case TurnStarted():
                self._offered.clear()
            case TurnEnded() | Interrupted():
                if self.running:
                    raise OrderBroken(f"{type(event).__name__} while calls run: {sorted(self.running)}")
            case ToolStarted() | ToolFinished() | ToolProgress() | CallDenied() | ApprovalAsked() | ApprovalWithdrawn():
                self._call(event)
            case _:
                pass
        self.state = after

    def _block(self, event: BlockDelta | BlockEnded) -> None:
        if event.index != self._open:
            raise OrderBroken(f"{type(event).__name__} for block {event.index} while {self._open} is open")
        if isinstance(event, BlockEnded):
            self._open = None
            self._shown.append((event.index, event.block.id if isinstance(event.block, ToolCall) else None))

    def _offer(self, count: int) -> None:
        """The calls among the first `count` blocks may start now."""
        self._offered.update(call for _, call in self._shown[:count] if call is not None)
        self._shown.clear()

    def _call(self, event: CallEvent) -> None:
        if isinstance(event, ApprovalWithdrawn):
            if event.ask_id not in self._asks:
                raise OrderBroken(f"question {event.ask_id} was never asked, or has been withdrawn")
            self._asks.remove(event.ask_id)
            return
        call_id = event.call.id
        if isinstance(event, ToolStarted):
            if call_id not in self._offered:
                raise OrderBroken(f"call {call_id} is in no finished response, or starts twice")
            if len(self.running) >= self._concurrency:
                raise OrderBroken(f"call {call_id} starts while {sorted(self.running)} run")
            self._offered.remove(call_id)
            self.running.add(call_id)
            return
        if call_id not in self.running:
            raise OrderBroken(f"{type(event).__name__} for call {call_id}, which is not running")
        if isinstance(event, ApprovalAsked):
            self._asks.add(event.ask_id)
        elif isinstance(event, ToolFinished):
            self.running.remove(call_id)
