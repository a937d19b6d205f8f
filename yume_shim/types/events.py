"""Everything that can happen, as frozen values. Dialects render them, the store remembers them; nobody else prints.

The provider half comes out of a decoder, the engine half out of a turn, the host half answers what the host asked.
"""

from __future__ import annotations

from yume_shim.types.blocks import AssistantBlock, Message, ToolCall, ToolResult
from yume_shim.types.errors import Failure
from yume_shim.types.model_events import BlockDelta as BlockDelta
from yume_shim.types.model_events import BlockEnded as BlockEnded
from yume_shim.types.model_events import BlockStarted as BlockStarted
from yume_shim.types.model_events import ModelEvent as ModelEvent
from yume_shim.types.model_events import Notice as Notice
from yume_shim.types.model_events import ResponseEnded as ResponseEnded
from yume_shim.types.model_events import ResponseFailed as ResponseFailed
from yume_shim.types.model_events import ResponseStarted as ResponseStarted
from yume_shim.types.models import Usage
from yume_shim.types.side_events import Compacted as Compacted
from yume_shim.types.side_events import CompactEnded as CompactEnded
from yume_shim.types.side_events import Compacting as Compacting
from yume_shim.types.side_events import LocalCommandDone as LocalCommandDone
from yume_shim.types.side_events import TaskEnded as TaskEnded
from yume_shim.types.side_events import TaskStarted as TaskStarted
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from yume_shim.types.blocks import Json
    from yume_shim.types.model_events import DeltaKind as DeltaKind
    from yume_shim.types.permission_records import PermissionUpdate

    Outcome = Literal[
        "success",
        "cancelled",
        "max_turns",
        "max_budget",
        "provider_error",
        "auth_error",
        "execution_error",
        "structured_output_retries",
    ]
    InterruptReason = Literal["user", "signal", "shutdown", "priority"]
    Phase = Literal["idle", "streaming", "tools"]

# ---------------------------------------------------------------- engine half


@value
class SessionInfo:
    """What init lines tell: the session as it stands now."""

    session_id: str
    cwd: str
    provider: str
    model: str
    permission_mode: str
    tools: tuple[str, ...]
    api_key_source: str = "none"
    resumed: bool = False
    mcp_servers: tuple[Json, ...] = ()
    slash_commands: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    additional_directories: tuple[str, ...] = ()
    betas: tuple[str, ...] = ()


@value
class SessionReady:
    """The process can take prompts; once, first of all."""

    info: SessionInfo


@value
class PromptTaken:
    """A prompt entered the history. `replay` = echo it (`--replay-user-messages`); `content` is the host's own shape
    (string or blocks), kept for echo and store."""

    message: Message
    content: str | tuple[Json, ...]
    uuid: str = ""
    replay: bool = False
    repeated: bool = False
    """Its uuid was seen before, or it is a command of ours (`/compact`): only echoed, not remembered as a prompt."""


@value
class TurnStarted:
    """A turn begins (nested: `system/init`)."""

    info: SessionInfo
    user_uuids: tuple[str, ...] = ()


@value
class RequestStarted:
    """A model request goes out (not repeated on retries). `origin` is the "api/model" of what it will bring."""

    model: str
    origin: str = ""


@value
class Retrying:
    """A request failed and is sent again after `wait_ms`."""

    failure: Failure
    attempt: int
    max_retries: int
    wait_ms: int


@value
class ResponseDropped:
    """The blocks shown from `from_index` on are void: the stream was cut or stopped, and the rest is asked again or
    given up. `interrupted` tells a stop from a cut. `open_index` is the block that was open, None if none was."""

    from_index: int
    open_index: int | None
    interrupted: bool
    usage: Usage = Usage()


@value
class PartialKept:
    """Text shown before an interrupt or cut; it stays in the history as an assistant message."""

    block: AssistantBlock
    index: int
    interrupted: bool


@value
class NoteAdded:
    """A note of ours to the model, as a user message (resume after a cut, empty answer, …); not the user's words."""

    text: str
    counts: bool = True


@value
class ToolStarted:
    """A call begins. `input` is complete, with schema defaults."""

    call: ToolCall


@value
class ToolProgress:
    """A call has been running for a while."""

    call: ToolCall
    elapsed_ms: int


@value
class CallDenied:
    """A call was refused without asking anybody (rules, mode, nobody to ask)."""

    call: ToolCall
    message: str
    reason_type: str = ""
    reason: str = ""


@value
class ApprovalAsked:
    """A call waits for the host. Flat: `approval_needed`; nested: `control_request can_use_tool`."""

    ask_id: str
    call: ToolCall
    reason: str
    timeout_ms: int
    suggestions: tuple[PermissionUpdate, ...] = ()
    blocked_path: str = ""
    description: str = ""


@value
class ApprovalWithdrawn:
    """The question is void (interrupt)."""

    ask_id: str


@value
class ToolFinished:
    """The one result of a call. `structured` is the nested dialect's `tool_use_result` (None = leave out)."""

    call: ToolCall
    result: ToolResult
    structured: Any = None
    denied: bool = False
    duration_ms: int = 0


@value
class ModeChanged:
    """The permission mode changed."""

    mode: str


@value
class ModelChanged:
    """The model changed: by the host, or by failover."""

    provider: str
    model: str
    reason: str


@value
class StateChanged:
    """For hosts that asked for it: what the session is doing."""

    state: Literal["running", "idle", "requires_action"]


@value
class PromptWithdrawn:
    """A waiting prompt was dropped by the host."""

    uuid: str


@value
class SessionChanged:
    """The session goes on under another id (`/clear`, fork)."""

    session_id: str
    previous_session_id: str


@value
class Interrupted:
    """The turn was stopped."""

    reason: InterruptReason
    phase: Phase


@value
class TurnFailed:
    """The turn gives up because of the provider (nested: synthetic assistant; flat: `error`)."""

    failure: Failure


@value
class Denial:
    """One refused call, for `permission_denials`."""

    tool_name: str
    tool_use_id: str
    tool_input: Json


@value
class ModelUsage:
    """What one model cost so far in this process."""

    model: str
    usage: Usage
    cost_usd: float
    window: int
    max_output: int
    provider: str = ""
    cost_known: bool = True


@value
class TurnEnded:
    """The one end of a turn, whatever happened."""

    outcome: Outcome
    text: str
    num_turns: int
    duration_ms: int
    duration_api_ms: int
    usage: Usage
    total_cost_usd: float
    model_usage: tuple[ModelUsage, ...] = ()
    denials: tuple[Denial, ...] = ()
    stop_reason: str | None = None
    failure: Failure | None = None
    limit: str = ""
    """The limit that was hit, for the wording ("1" turns, "$0.01")."""
    phase: Phase = "idle"
    """Where an interrupt struck."""
    structured_output: Any = None
    user_uuids: tuple[str, ...] = ()
    info: SessionInfo | None = None
    local_command: str = ""
    """The command of ours that this was (`compact`, `clear`), in place of a turn of the model."""


# ---------------------------------------------------------------- host half


@value
class InputRejected:
    """A stdin line was not understood."""

    message: str
    quote: str


@value
class CommandRefused:
    """A well-formed flat command that cannot be done now (`error` line)."""

    message: str
    code: str = "bad_input"


@value
class ControlAnswered:
    """The answer to a control request of the host."""

    request_id: str | None
    body: Json | None = None
    error: str = ""
    error_code: str = ""


@value
class Pong:
    """Answer to a ping."""


@value
class LineEchoed:
    """A stdin line printed back unchanged (`--replay-user-messages`: the host's own control responses)."""

    line: Json


@value
class StartFailed:
    """The program cannot start: in place of init (`system/error`)."""

    message: str
    code: str


@value
class ResumeFailed:
    """The session to be continued cannot be: a Claude form says so with a `result` and ends."""

    message: str
    session_id: str


@value
class EntriesWritten:
    """Transcript entries as they are on disk, for hosts that keep them elsewhere too (`--session-mirror`)."""

    path: str
    entries: tuple[Json, ...]


EngineEvent = (
    SessionReady
    | PromptTaken
    | TurnStarted
    | RequestStarted
    | Retrying
    | ResponseDropped
    | PartialKept
    | NoteAdded
    | ToolStarted
    | ToolProgress
    | CallDenied
    | ApprovalAsked
    | ApprovalWithdrawn
    | ToolFinished
    | ModeChanged
    | ModelChanged
    | SessionChanged
    | StateChanged
    | PromptWithdrawn
    | Interrupted
    | TurnFailed
    | TurnEnded
    | Compacting
    | CompactEnded
    | Compacted
    | LocalCommandDone
    | TaskStarted
    | TaskEnded
)
HostEvent = (
    InputRejected | CommandRefused | ControlAnswered | Pong | LineEchoed | StartFailed | ResumeFailed | EntriesWritten
)
Event = ModelEvent | EngineEvent | HostEvent


@value
class Tagged:
    """An event on its way out: the uuid printed is the uuid stored; `at` is wall-clock seconds; a subagent's events
    wear their parent's call id."""

    event: Event
    uuid: str
    at: float
    parent_call_id: str | None = None
