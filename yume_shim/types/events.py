"""All events, as frozen values. Dialects print them, the store writes them; nothing else is printed.

The engine's events are defined here. A provider's decoder emits those of `model_events.py`; `session_events.py` has
those that happen beside the model's turns, `host_events.py` those that answer the host. All are imported from here, but
for those of `side_events.py`, which a plain turn does not load.
"""

from __future__ import annotations

from yume_shim.types.blocks import AssistantBlock, Message, ToolCall, ToolResult
from yume_shim.types.errors import Failure
from yume_shim.types.host_events import CommandRefused as CommandRefused
from yume_shim.types.host_events import ControlAnswered as ControlAnswered
from yume_shim.types.host_events import EntriesWritten as EntriesWritten
from yume_shim.types.host_events import HostEvent as HostEvent
from yume_shim.types.host_events import InputRejected as InputRejected
from yume_shim.types.host_events import LineEchoed as LineEchoed
from yume_shim.types.host_events import Pong as Pong
from yume_shim.types.host_events import ResumeFailed as ResumeFailed
from yume_shim.types.host_events import StartFailed as StartFailed
from yume_shim.types.live_events import ContextMeasured as ContextMeasured
from yume_shim.types.live_events import ProgressReport as ProgressReport
from yume_shim.types.live_events import TodosChanged as TodosChanged
from yume_shim.types.live_events import ToolOutputAdded as ToolOutputAdded
from yume_shim.types.live_events import ToolProgress as ToolProgress
from yume_shim.types.live_events import ToolQueued as ToolQueued
from yume_shim.types.model_events import BlockDelta as BlockDelta
from yume_shim.types.model_events import BlockEnded as BlockEnded
from yume_shim.types.model_events import BlockStarted as BlockStarted
from yume_shim.types.model_events import LimitsReported as LimitsReported
from yume_shim.types.model_events import ModelEvent as ModelEvent
from yume_shim.types.model_events import Notice as Notice
from yume_shim.types.model_events import ResponseEnded as ResponseEnded
from yume_shim.types.model_events import ResponseFailed as ResponseFailed
from yume_shim.types.model_events import ResponseStarted as ResponseStarted
from yume_shim.types.models import Usage
from yume_shim.types.noted_facts import FactNoted as FactNoted
from yume_shim.types.session_events import CommandsChanged as CommandsChanged
from yume_shim.types.session_events import Compacted as Compacted
from yume_shim.types.session_events import CompactEnded as CompactEnded
from yume_shim.types.session_events import Compacting as Compacting
from yume_shim.types.session_events import LocalCommandDone as LocalCommandDone
from yume_shim.types.session_events import ServersChanged as ServersChanged
from yume_shim.types.session_events import SessionEnding as SessionEnding
from yume_shim.types.session_events import TitleChanged as TitleChanged
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from yume_shim.types.blocks import Json
    from yume_shim.types.child import Child
    from yume_shim.types.file_patch import FilePatch
    from yume_shim.types.model_events import DeltaKind as DeltaKind
    from yume_shim.types.permission_records import PermissionUpdate
    from yume_shim.types.side_events import SideEvent
    from yume_shim.types.tasks import TaskOrigin

    Outcome = Literal[
        "success",
        "cancelled",
        "max_turns",
        "max_budget",
        "provider_error",
        "auth_error",
        "execution_error",
        "structured_output_retries",
        "hook_stopped",
        "stop_prevented",
        "tool_deferred",
        "prompt_blocked",
    ]
    StoppedBy = Literal["", "deadline", "tool_calls"]
    InterruptReason = Literal["user", "signal", "shutdown", "priority", "deadline"]
    Phase = Literal["idle", "streaming", "tools"]


SUCCESSES = ("success", "hook_stopped", "stop_prevented", "tool_deferred", "prompt_blocked")
"""Outcomes that are no errors."""


class SessionInfo(Value):
    """The current facts of a session, for init lines."""

    session_id: str
    cwd: str
    provider: str
    model: str
    permission_mode: str
    tools: tuple[str, ...]
    api_key_source: str = "none"
    resumed: bool = False
    mcp_servers: tuple[Json, ...] = ()
    left_out: tuple[Json, ...] = ()
    """What is configured and not used, because the folder is not trusted or managed settings forbid it."""
    slash_commands: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    plugins: tuple[Json, ...] = ()
    plugin_errors: tuple[Json, ...] = ()
    additional_directories: tuple[str, ...] = ()
    betas: tuple[str, ...] = ()
    output_style: str = "default"


class SessionReady(Value):
    """The process can take prompts. Emitted once, before any turn."""

    info: SessionInfo


class PromptTaken(Value):
    """A prompt entered the history. `replay` = echo it (`--replay-user-messages`); `content` is in the host's form
    (string or blocks), for echo and store."""

    message: Message
    content: str | tuple[Json, ...]
    uuid: str = ""
    replay: bool = False
    joined: bool = False
    """The host sent it to join the running turn (`steer`)."""
    repeated: bool = False
    """Its uuid was seen before, or it is a local command (`/compact`): it is echoed, but not kept as a prompt."""
    origin: TaskOrigin | None = None
    """Set if nobody typed it: it tells the model how a background task ended."""


class TurnStarted(Value):
    """A turn starts (nested: `system/init`). `user_uuids` are those of its prompts, where the host gave them."""

    info: SessionInfo
    user_uuids: tuple[str, ...] = ()
    origin: TaskOrigin | None = None
    """Set if the turn has no prompt of the host."""


class RequestStarted(Value):
    """A model request is sent (not repeated on retries). `origin` is the "api/model" of the answer. The host may choose
    another model and provider while it runs: they are those of the next request."""

    model: str
    origin: str = ""
    provider: str = ""


class Retrying(Value):
    """A request failed and is sent again after `wait_ms`."""

    failure: Failure
    attempt: int
    max_retries: int
    wait_ms: int


class ResponseDropped(Value):
    """The blocks shown from `from_index` on are void: the stream was cut, or stopped (`interrupted`), and the rest is
    requested again or given up. `open_index` is the block that was open, None if none was."""

    from_index: int
    open_index: int | None
    interrupted: bool
    usage: Usage = Usage()


class PartialKept(Value):
    """Text that was shown before an interrupt or cut stays in the history as an assistant message."""

    block: AssistantBlock
    index: int
    interrupted: bool


class NoteAdded(Value):
    """A note from this program to the model, as a user message. One that `counts` asks the model to go on after a cut,
    to call a tool, …; the others add something to a prompt or a result."""

    text: str
    counts: bool = True
    hidden: bool = False
    """It is stored, but the host does not see it: standing instructions, the text of a command; as in the Claude
    CLI."""


class ToolStarted(Value):
    """A call starts. Its `input` is complete, with schema defaults."""

    call: ToolCall


class CallDenied(Value):
    """A call was refused without asking the host: by a rule, by the mode, or because no host can answer."""

    call: ToolCall
    message: str
    reason_type: str = ""
    reason: str = ""


class ApprovalAsked(Value):
    """A call waits for the host. Flat: `approval_needed`; nested: `control_request can_use_tool`."""

    ask_id: str
    call: ToolCall
    reason: str
    timeout_ms: int
    suggestions: tuple[PermissionUpdate, ...] = ()
    blocked_path: str = ""
    description: str = ""
    patch: FilePatch | None = None
    """What the call would change in a file, as far as that is known."""


class ApprovalWithdrawn(Value):
    """The question no longer needs an answer (interrupt)."""

    ask_id: str


class ToolFinished(Value):
    """The one result of a call. `structured` is the nested dialect's `tool_use_result` (None = left out)."""

    call: ToolCall
    result: ToolResult
    structured: Any = None
    denied: bool = False
    duration_ms: int = 0
    patch: FilePatch | None = None
    """What the call changed in a file."""
    notes: tuple[str, ...] = ()
    """Texts that follow the result as messages of their own."""


class ModeChanged(Value):
    """The permission mode changed."""

    mode: str


class ModelChanged(Value):
    """The model changed, by the host's request or by failover."""

    provider: str
    model: str
    reason: str


class StateChanged(Value):
    """What the session is doing, for hosts that asked to be notified."""

    state: Literal["running", "idle", "requires_action"]


class PromptWithdrawn(Value):
    """The host withdrew a waiting prompt."""

    uuid: str


class SessionChanged(Value):
    """The session continues under another id (`/clear`, fork)."""

    session_id: str
    previous_session_id: str


class Interrupted(Value):
    """The turn was stopped."""

    reason: InterruptReason
    phase: Phase


class TurnFailed(Value):
    """The provider made the turn fail (nested: synthetic assistant message; flat: `error`)."""

    failure: Failure


class Denial(Value):
    """One refused call, for `permission_denials`."""

    tool_name: str
    tool_use_id: str
    tool_input: Json


class ModelUsage(Value):
    """What one model has used and cost so far."""

    model: str
    usage: Usage
    cost_usd: float
    window: int
    max_output: int
    provider: str = ""
    cost_known: bool = True
    list_price: bool = False
    """Some of it was priced by the vendor's list, although the address was not the vendor's."""


class AgentUsage(Value):
    """What one agent has used of one model so far. Without an id: all agents over a limit together."""

    agent_id: str
    agent_type: str
    model: str
    provider: str
    usage: Usage
    cost_usd: float


class TurnEnded(Value):
    """A turn has ended. Emitted exactly once per turn, whatever happened."""

    outcome: Outcome
    text: str
    num_turns: int
    duration_ms: int
    duration_api_ms: int
    usage: Usage
    total_cost_usd: float
    model_usage: tuple[ModelUsage, ...] = ()
    agent_usage: tuple[AgentUsage, ...] = ()
    denials: tuple[Denial, ...] = ()
    stop_reason: str | None = None
    failure: Failure | None = None
    limit: str = ""
    """The limit that was reached, for the message ("1" turns, "$0.01")."""
    phase: Phase = "idle"
    """What the turn was doing when it was interrupted."""
    structured_output: Any = None
    user_uuids: tuple[str, ...] = ()
    info: SessionInfo | None = None
    parts: tuple[str, ...] = ()
    """The parts of a text that came in several (output limit, pause); `text` is all of them."""
    local_command: str = ""
    """The local command (`compact`, `clear`) that ran in place of a model's turn."""
    deferred: ToolCall | None = None
    """The call that a hook has left to the host."""
    origin: TaskOrigin | None = None
    """Set if the turn had no prompt of the host."""
    stopped_by: StoppedBy = ""
    """The limit of the whole run that ended it."""

    @property
    def failed_command(self) -> bool:
        """A local command failed. The Claude CLI does not count that as an error."""
        return bool(self.local_command) and self.failure is not None


if TYPE_CHECKING:
    EngineEvent = (
        SessionReady
        | PromptTaken
        | TurnStarted
        | RequestStarted
        | Retrying
        | ResponseDropped
        | PartialKept
        | NoteAdded
        | ToolQueued
        | ToolStarted
        | ToolOutputAdded
        | TodosChanged
        | ContextMeasured
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
        | SessionEnding
        | ServersChanged
        | CommandsChanged
        | TitleChanged
    )
    Event = ModelEvent | EngineEvent | HostEvent | FactNoted | SideEvent


class Tagged(Value):
    """An event as dialects and store receive it. Both use the same uuid; `at` is wall-clock seconds. A subagent's
    events carry the call that started it as `parent_call_id`."""

    event: Event
    uuid: str
    at: float
    parent_call_id: str | None = None
    child: Child | None = None
    """That subagent."""
