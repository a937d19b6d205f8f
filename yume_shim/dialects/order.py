"""The legal order of events, as a table, and a check that holds a stream of events against it.

Rules
-----
R1  `SessionReady` comes once, before any turn. `StartFailed` or `ResumeFailed` come instead of it.
R2  Everything of a turn lies between its `TurnStarted` and its one `TurnEnded`; turns do not overlap.
R3  A model answers only when asked: `RequestStarted` (once, however often it is retried), then `ResponseStarted`.
R4  One block is open at a time, deltas and the end belong to the open one, indexes rise within a response.
R5  A response ends once: `ResponseEnded` with no block open, or `ResponseDropped` (after `ResponseFailed` or without
    it), which names the block that was open. A failure before anything was shown needs no drop.
R6  A call starts after the end of the response that asked for it, once, and no more than `concurrency` at a time. In a
    response that is being stopped, the finished calls are started and closed before the drop is told.
R7  Every `ToolStarted` has exactly one `ToolFinished` before `TurnEnded`; progress, denial and questions about a call
    lie between the two, and a question is withdrawn only while it is open.
R8  After `Interrupted` or `TurnFailed` nothing of the turn follows but the drop of an open response and `TurnEnded`.
R9  `PartialKept` follows the stop or cut of its response and comes before the next one begins.
R10 The session changes its id between turns only.
R11 A summary is asked for between turns or between the requests of one: `Compacting`, at most retries, `CompactEnded`;
    `Compacted` follows it, in the turn that it was made for. A command of ours says what it has to say in its turn.
R12 Prompts, notices, changes of mode or model and the answers to the host may come at any time.

A subagent's events (those with a parent call) keep R3 to R7 among themselves; they need no turn of their own, and lie
between the start and the finish of their parent call.

The table gives, for each state, the events it takes and the state that follows. What the table cannot say (indexes,
call ids) is counted beside it.
"""

from __future__ import annotations

from yume_shim.types.blocks import ToolCall
from yume_shim.types.events import (
    ApprovalAsked,
    ApprovalWithdrawn,
    BlockDelta,
    BlockEnded,
    BlockStarted,
    CallDenied,
    CommandRefused,
    Compacted,
    CompactEnded,
    Compacting,
    ControlAnswered,
    EntriesWritten,
    InputRejected,
    Interrupted,
    LineEchoed,
    LocalCommandDone,
    ModeChanged,
    ModelChanged,
    NoteAdded,
    Notice,
    PartialKept,
    Pong,
    PromptTaken,
    PromptWithdrawn,
    RequestStarted,
    ResponseDropped,
    ResponseEnded,
    ResponseFailed,
    ResponseStarted,
    ResumeFailed,
    Retrying,
    SessionChanged,
    SessionReady,
    StartFailed,
    StateChanged,
    TaskEnded,
    TaskStarted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from yume_shim.types.events import Event, Tagged

    State = Literal[
        "new",
        "idle",
        "turn",
        "asked",
        "answer",
        "block",
        "broken",
        "stopping",
        "dropping",
        "over",
        "summing",
        "summing in a turn",
    ]
    CallEvent = ToolStarted | ToolFinished | ToolProgress | CallDenied | ApprovalAsked | ApprovalWithdrawn

ANY_TIME: frozenset[type] = frozenset(
    (
        PromptTaken,
        PromptWithdrawn,
        StateChanged,
        TaskStarted,
        TaskEnded,
        Notice,
        ModeChanged,
        ModelChanged,
        InputRejected,
        CommandRefused,
        ControlAnswered,
        Pong,
        LineEchoed,
        EntriesWritten,
    )
)

#  new     nothing was said yet                 asked   a request is out, or may be sent again after a drop
#  idle    between turns                        answer  a response is open, no block is
#  turn    in a turn, nothing is asked          block   a block is open
#  broken  the response failed, not yet dropped over    the turn was stopped or given up
#  summing, summing in a turn                   a summary of the history is being made
#  stopping, dropping  the same with a response still open: before and after `Interrupted` was told
_AROUND: Mapping[type, State] = {Interrupted: "over", TurnFailed: "over", TurnEnded: "idle"}

TABLE: Mapping[State, Mapping[type, State]] = {
    "new": {SessionReady: "idle", StartFailed: "new", ResumeFailed: "new"},
    "idle": {TurnStarted: "turn", SessionChanged: "idle", Compacting: "summing", Compacted: "idle"},
    "summing": {Retrying: "summing", CompactEnded: "idle"},
    "summing in a turn": {Retrying: "summing in a turn", CompactEnded: "turn"},
    "turn": {
        **_AROUND,
        RequestStarted: "asked",
        Compacting: "summing in a turn",
        Compacted: "turn",
        LocalCommandDone: "turn",
        NoteAdded: "turn",
        ToolStarted: "turn",
        ToolProgress: "turn",
        CallDenied: "turn",
        ApprovalAsked: "turn",
        ApprovalWithdrawn: "turn",
        ToolFinished: "turn",
    },
    "asked": {
        **_AROUND,
        ResponseStarted: "answer",
        ResponseFailed: "asked",
        ResponseDropped: "asked",
        PartialKept: "asked",
        Retrying: "asked",
        RequestStarted: "asked",
        Compacting: "summing in a turn",
        NoteAdded: "turn",
        ToolStarted: "turn",
    },
    "answer": {
        BlockStarted: "block",
        ResponseEnded: "turn",
        ResponseFailed: "broken",
        ResponseDropped: "asked",
        PartialKept: "answer",
        ToolStarted: "stopping",
        Interrupted: "dropping",
    },
    "block": {
        BlockDelta: "block",
        BlockEnded: "answer",
        ResponseFailed: "broken",
        ResponseDropped: "asked",
        PartialKept: "block",
        ToolStarted: "stopping",
        Interrupted: "dropping",
    },
    "broken": {
        ResponseDropped: "asked",
        PartialKept: "broken",
        ToolStarted: "stopping",
        Interrupted: "dropping",
    },
    "stopping": {ToolStarted: "stopping", ToolFinished: "stopping", Interrupted: "dropping"},
    "dropping": {ResponseDropped: "over"},
    "over": {TurnEnded: "idle"},
}


class OrderBroken(AssertionError):
    """An event came where the table has no place for it."""


class OrderCheck:
    """Holds events against the rules; `feed` raises OrderBroken at the first that breaks one."""

    def __init__(self, concurrency: int = 1) -> None:
        self._main = _Lane("new", concurrency)
        self._children: dict[str, _Lane] = {}
        self._concurrency = concurrency

    def feed(self, tagged: Tagged) -> None:
        """Take the next event."""
        event, parent = tagged.event, tagged.parent_call_id
        if type(event) in ANY_TIME:
            return
        if parent is None:
            self._main.step(event)
            if isinstance(event, ToolFinished):
                self._end_child(event)
            return
        if parent not in self._children:
            if parent not in self._main.running and not any(parent in lane.running for lane in self._children.values()):
                raise OrderBroken(f"{type(event).__name__} of a subagent whose call {parent} does not run")
            self._children[parent] = _Lane("turn", self._concurrency)
        self._children[parent].step(event)

    def _end_child(self, event: ToolFinished) -> None:
        lane = self._children.pop(event.call.id, None)
        if lane is not None and lane.running:
            raise OrderBroken(f"{event.call.id} finished while calls of its subagent run: {sorted(lane.running)}")


class _Lane:
    """One conversation: the main one, or a subagent's."""

    def __init__(self, state: State, concurrency: int) -> None:
        self.state: State = state
        self.running: set[str] = set()
        self._concurrency = concurrency
        self._offered: set[str] = set()
        self._asks: set[str] = set()
        self._shown: list[tuple[int, str | None]] = []
        self._last_index = -1
        self._open: int | None = None

    def step(self, event: Event) -> None:
        after = TABLE[self.state].get(type(event))
        if after is None:
            raise OrderBroken(f"{type(event).__name__} has no place in state '{self.state}'")
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
                raise OrderBroken(f"question {event.ask_id} was never asked, or is answered")
            self._asks.remove(event.ask_id)
            return
        call_id = event.call.id
        if isinstance(event, ToolStarted):
            if call_id not in self._offered:
                raise OrderBroken(f"call {call_id} was not asked for, or starts twice")
            if len(self.running) >= self._concurrency:
                raise OrderBroken(f"call {call_id} starts while {sorted(self.running)} run")
            self._offered.remove(call_id)
            self.running.add(call_id)
            return
        if call_id not in self.running:
            raise OrderBroken(f"{type(event).__name__} for call {call_id}, which does not run")
        if isinstance(event, ApprovalAsked):
            self._asks.add(event.ask_id)
        elif isinstance(event, ToolFinished):
            self.running.remove(call_id)
