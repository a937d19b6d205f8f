"""The legal order of events: the rules, and the table that holds most of them.

Rules
-----
R1  `SessionReady` comes once, before any turn. `StartFailed` or `ResumeFailed` come instead of it.
R2  All events of a turn lie between its `TurnStarted` and its one `TurnEnded`; turns do not overlap.
R3  Every answer follows a request: `RequestStarted` (once, however often it is retried), then `ResponseStarted`.
R4  One block is open at a time, deltas and the end belong to the open one, indexes rise within a response.
R5  A response ends once: `ResponseEnded` with no block open, or `ResponseDropped` (after `ResponseFailed` or without
    it), which names the block that was open. A failure before `ResponseStarted` needs no drop.
R6  A call starts after the end of the response that contains it, once, and at most `concurrency` calls run at a time.
    In a response that is being stopped, the finished calls are started and closed before the drop.
R7  Every `ToolStarted` has exactly one `ToolFinished` before `TurnEnded`; progress, denial and questions about a call
    lie between the two, and a question is withdrawn only while it is open.
R8  After `Interrupted` or `TurnFailed` only the drop of an open response and `TurnEnded` follow in the turn.
R9  `PartialKept` follows the stop or cut of its response and comes before the next one begins.
R10 The session changes its id between turns only.
R11 The history is compacted between turns or between the requests of one: `Compacting`, possibly retries,
    `CompactEnded`; `Compacted` follows it, in the turn that it was made for. A local command reports in its turn.
R12 Prompts, notices, changes of mode or model and the answers to the host may come at any time.
R13 A subagent's events carry its call as their parent and lie between the start and the finish of that call; those
    of one in the background between its `TaskStarted` and its `TaskNotification`; those of one that a slash command
    started carry the command, and lie in its turn. They follow R3 to R7, R9 and R11 among themselves, for each
    subagent alone. A subagent has no turn: it emits no `TurnStarted`, `Interrupted`, `TurnFailed` or `TurnEnded`, and
    no response is open when its call, or its task, ends.

For each state, the table gives the events that are legal and the state that follows. `order.py` counts what the table
cannot express: indexes and call ids.
"""

from __future__ import annotations

from yume_shim.types.events import (
    ApprovalAsked,
    ApprovalWithdrawn,
    BlockDelta,
    BlockEnded,
    BlockStarted,
    CallDenied,
    CommandRefused,
    CommandsChanged,
    Compacted,
    CompactEnded,
    Compacting,
    ContextMeasured,
    ControlAnswered,
    EntriesWritten,
    FactNoted,
    InputRejected,
    Interrupted,
    LimitsReported,
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
    ServersChanged,
    SessionChanged,
    SessionEnding,
    SessionReady,
    StartFailed,
    StateChanged,
    TitleChanged,
    TodosChanged,
    ToolFinished,
    ToolOutputAdded,
    ToolProgress,
    ToolQueued,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from yume_shim.types.side_events import (
    ElicitationAsked,
    FileAsked,
    HookAsked,
    HookEnded,
    HookNotice,
    HookStarted,
    PermitAsked,
    QuestionWithdrawn,
    ServerMessage,
    TaskNotification,
    TaskProgress,
    TasksChanged,
    TaskStarted,
    TaskUpdated,
    TrustAsked,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

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
        "compacting",
        "compacting in a turn",
    ]

ANY_TIME: frozenset[type] = frozenset(
    (
        PromptTaken,
        PromptWithdrawn,
        StateChanged,
        SessionEnding,
        TaskStarted,
        TaskUpdated,
        TaskProgress,
        TaskNotification,
        TasksChanged,
        Notice,
        LimitsReported,
        ModeChanged,
        ModelChanged,
        InputRejected,
        CommandRefused,
        ControlAnswered,
        Pong,
        LineEchoed,
        EntriesWritten,
        ServerMessage,
        ElicitationAsked,
        TrustAsked,
        PermitAsked,
        FileAsked,
        ServersChanged,
        CommandsChanged,
        TitleChanged,
        HookAsked,
        QuestionWithdrawn,
        HookStarted,
        HookEnded,
        HookNotice,
        FactNoted,
    )
)

#  new     no event yet                         asked   a request is out, or may be sent again after a drop
#  idle    between turns                        answer  a response is open, no block is
#  turn    in a turn, no request is out         block   a block is open
#  broken  the response failed, not yet dropped over    the turn was stopped or has failed
#  compacting, compacting in a turn             a summary of the history is being made
#  stopping, dropping                           a response is being stopped: before and after `Interrupted`
_AROUND: Mapping[type, State] = {Interrupted: "over", TurnFailed: "over", TurnEnded: "idle"}

TABLE: Mapping[State, Mapping[type, State]] = {
    "new": {SessionReady: "idle", StartFailed: "new", ResumeFailed: "new"},
    "idle": {TurnStarted: "turn", SessionChanged: "idle", Compacting: "compacting", Compacted: "idle"},
    "compacting": {Retrying: "compacting", CompactEnded: "idle"},
    "compacting in a turn": {Retrying: "compacting in a turn", CompactEnded: "turn"},
    "turn": {
        **_AROUND,
        RequestStarted: "asked",
        Compacting: "compacting in a turn",
        Compacted: "turn",
        LocalCommandDone: "turn",
        NoteAdded: "turn",
        ToolQueued: "turn",
        ToolStarted: "turn",
        ToolOutputAdded: "turn",
        TodosChanged: "turn",
        ContextMeasured: "turn",
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
        Compacting: "compacting in a turn",
        NoteAdded: "turn",
        ContextMeasured: "asked",
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

TURN_EVENTS: frozenset[type] = frozenset((SessionReady, TurnStarted, Interrupted, TurnFailed, TurnEnded))
"""Events that a subagent does not have."""

_STOPPED_CHILD: Mapping[type, State] = {ToolStarted: "stopping", ToolFinished: "stopping", ResponseDropped: "over"}

CHILD_TABLE: Mapping[State, Mapping[type, State]] = {
    state: _STOPPED_CHILD
    if state == "stopping"
    else {event: after for event, after in row.items() if event not in TURN_EVENTS}
    for state, row in TABLE.items()
}
"""The same for a subagent. It is stopped without `Interrupted`."""
OPEN_STATES: frozenset[State] = frozenset(("answer", "block", "broken", "stopping", "dropping"))
"""A response is open."""
