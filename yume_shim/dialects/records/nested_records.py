"""The lines of the nested dialect: messages, stream events and requests to the host. The `system` lines are in
`nested_system_records.py`, the `result` lines in `result_records.py`."""

from __future__ import annotations

from yume_shim.types.record import ABSENT, Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from yume_shim.dialects.records.shared_records import ErrorCategory, LeftOut, Limit
    from yume_shim.dialects.records.stream_records import (
        ContentBlockDelta,
        ContentBlockStart,
        ContentBlockStop,
        MessageDelta,
        MessageStart,
        MessageStop,
    )
    from yume_shim.types.blocks import Json
    from yume_shim.types.message_records import (
        DocumentBlock,
        ImageBlock,
        MessageUsage,
        RedactedThinkingBlock,
        TextBlock,
        ThinkingBlock,
        ToolResultBlock,
        ToolUseBlock,
    )
    from yume_shim.types.permission_records import AddDirectories, AddRules, SetMode


# ---------------------------------------------------------------- messages


@record
class AssistantLine(Record):
    """One complete block of an answer; blocks of one answer share `message.id`. `aborted` marks text that was kept when
    the turn was stopped. The prompts' uuids are on the first line of a turn, when the host gave them."""

    type: Literal["assistant"] = "assistant"
    message: AssistantMessage
    parent_tool_use_id: str | None
    session_id: str
    uuid: str
    timestamp: str
    request_id: str | None = ABSENT
    aborted: Literal[True] | None = ABSENT
    user_message_uuid: str | None = ABSENT
    user_message_uuids: list[str] | None = ABSENT
    agent_id: str | None = ABSENT
    subagent_type: str | None = ABSENT
    task_description: str | None = ABSENT


@record
class AgentFields(Record):
    """The fields of a message line that name its agent."""

    agent_id: str
    subagent_type: str | None = ABSENT
    task_description: str | None = ABSENT


@record
class ApiErrorLine(Record):
    """The turn failed because of the provider: a message that this program wrote, with the cause. `api_error_status` is
    null when no response came."""

    type: Literal["assistant"] = "assistant"
    message: AssistantMessage
    parent_tool_use_id: str | None
    session_id: str
    uuid: str
    timestamp: str
    error: ErrorCategory
    is_api_error_message: Literal[True] = True
    api_error_status: int | None
    api_error_type: str | None = ABSENT
    request_id: str | None = ABSENT


@record
class AssistantMessage(Record):
    """A message in Anthropic's form with one block. `model` is what the provider reported, or `<synthetic>` for a
    message that this program wrote. `usage` is that of the answer's start; the final figures are in `result`. A block
    that only Anthropic's API knows appears as the provider sent it."""

    id: str
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"
    model: str
    content: list[TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock | Json]
    stop_reason: Literal["stop_sequence"] | None
    stop_sequence: Literal[""] | None
    usage: MessageUsage
    context_management: None = None


@record
class UserLine(Record):
    """A message on the user's side: a tool result (`tool_use_result` is its structured form), the interrupt marker,
    a note from this program to the model (`isSynthetic`), the echo of a prompt or the output of a command
    (`isReplay`), or the prompt of a subagent."""

    type: Literal["user"] = "user"
    message: UserMessage
    parent_tool_use_id: str | None
    session_id: str
    uuid: str
    timestamp: str
    isSynthetic: Literal[True] | None = ABSENT
    isReplay: Literal[True] | None = ABSENT
    tool_use_result: Any = ABSENT
    agent_id: str | None = ABSENT
    subagent_type: str | None = ABSENT
    task_description: str | None = ABSENT


@record
class UserMessage(Record):
    """The content of a `user` line. A prompt of the host keeps the form in which the host sent it."""

    role: Literal["user"] = "user"
    content: str | list[TextBlock | ImageBlock | DocumentBlock | ToolResultBlock | Json]


@record
class StreamEventLine(Record):
    """A partial message, sent when the host asked for them; subagents send none. `abandoned_blocks` says which blocks
    are void because the answer was stopped or cut."""

    type: Literal["stream_event"] = "stream_event"
    event: MessageStart | ContentBlockStart | ContentBlockDelta | ContentBlockStop | MessageDelta | MessageStop
    session_id: str
    parent_tool_use_id: None = None
    uuid: str
    api_message_id: str
    abandoned_blocks: AbandonedBlocks | None = ABSENT


@record
class AbandonedBlocks(Record):
    """The blocks of this message from this index on are void."""

    api_message_id: str
    from_block_index: int


def stream_event_line(event: Json, session_id: str, uuid: str, api_message_id: str) -> Json:
    """`StreamEventLine` without the cost of a record: most lines are pieces of text."""
    return {
        "type": "stream_event",
        "event": event,
        "session_id": session_id,
        "parent_tool_use_id": None,
        "uuid": uuid,
        "api_message_id": api_message_id,
    }


# ---------------------------------------------------------------- beside the conversation


@record
class ControlRequest(Record):
    """A question to the host, which answers with a `control_response` of the same id."""

    type: Literal["control_request"] = "control_request"
    request_id: str
    request: CanUseTool | HookCallback | McpMessage | Elicitation | TrustFolder | RequestPermit


@record
class CanUseTool(Record):
    """May this call run? Some hosts allow a call unasked when `tool_use_id` is missing, so it is always there."""

    subtype: Literal["can_use_tool"] = "can_use_tool"
    tool_name: str
    display_name: str
    input: Json
    permission_suggestions: list[AddRules | AddDirectories | SetMode]
    tool_use_id: str
    description: str | None = ABSENT
    decision_reason: str | None = ABSENT
    blocked_path: str | None = ABSENT
    agent_id: str | None = ABSENT


@record
class HookCallback(Record):
    """A hook of the host is called; the answer is the hook's output ({} = no opinion)."""

    subtype: Literal["hook_callback"] = "hook_callback"
    callback_id: str
    input: Json
    tool_use_id: str


@record
class McpMessage(Record):
    """A JSON-RPC message for an MCP server in the host's process; the answer holds the reply as `mcp_response`."""

    subtype: Literal["mcp_message"] = "mcp_message"
    server_name: str
    message: Json


@record
class Elicitation(Record):
    """An MCP server asks the user something. The answer is `{action: "accept" | "decline" | "cancel", content?}`."""

    subtype: Literal["elicitation"] = "elicitation"
    mcp_server_name: str
    message: str
    mode: str | None = ABSENT
    url: str | None = ABSENT
    elicitation_id: str | None = ABSENT
    requested_schema: Json | None = ABSENT


@record
class TrustFolder(Record):
    """May what is listed start? It comes from files of this folder. The answer is `{trusted: true | false}`."""

    subtype: Literal["trust_folder"] = "trust_folder"
    cwd: str
    left_out: list[LeftOut]


@record
class RequestPermit(Record):
    """May a request be sent to this model now? Asked in flat with `--request-permits`, for hosts that keep several
    processes to one rate or budget. The request is sent when the answer has come, whatever it says. `spent_usd` is the
    cost of all answers of this process so far, those of agents and cleared conversations too."""

    subtype: Literal["request_permit"] = "request_permit"
    provider: str
    model: str
    spent_usd: float


@record
class ControlCancel(Record):
    """The question of this id no longer needs an answer."""

    type: Literal["control_cancel_request"] = "control_cancel_request"
    request_id: str


@record
class CommandLifecycleLine(Record):
    """A prompt that came with a uuid was queued, started, completed or withdrawn."""

    type: Literal["command_lifecycle"] = "command_lifecycle"
    command_uuid: str
    state: Literal["queued", "started", "completed", "cancelled"]
    session_id: str
    uuid: str


@record
class ConversationResetLine(Record):
    """The conversation was cleared. The line carries the old session id, later lines the new one."""

    type: Literal["conversation_reset"] = "conversation_reset"
    new_conversation_id: str
    trigger: Literal["clear"] = "clear"
    session_id: str
    uuid: str


@record
class ToolProgressLine(Record):
    """A tool is still running; sent at a fixed interval, and with `progress` instead of `heartbeat` when the tool says
    how far it is. `parent_tool_use_id` is the call itself, as in the Claude CLI."""

    type: Literal["tool_progress"] = "tool_progress"
    tool_use_id: str
    tool_name: str
    parent_tool_use_id: str
    elapsed_time_seconds: int
    heartbeat: Literal[True] | None = ABSENT
    progress: float | None = ABSENT
    total: float | None = ABSENT
    message: str | None = ABSENT
    session_id: str
    uuid: str


@record
class TranscriptMirrorLine(Record):
    """Entries that were written to the transcript, for hosts that keep a copy (`--session-mirror`)."""

    type: Literal["transcript_mirror"] = "transcript_mirror"
    filePath: str
    entries: list[Json]


@record
class RateLimitInfo(Record):
    """The limit that is used most, in the Claude CLI's words. `resetsAt` is in seconds since 1970."""

    status: Literal["allowed", "allowed_warning", "rejected"]
    resetsAt: int | None = ABSENT
    rateLimitType: str
    utilization: float | None = ABSENT
    isUsingOverage: bool


@record
class RateLimitLine(Record):
    """Rate limits that the provider reported; sent when they have changed by a good part. `limits` are all of them."""

    type: Literal["rate_limit_event"] = "rate_limit_event"
    rate_limit_info: RateLimitInfo
    limits: list[Limit]
    uuid: str
    session_id: str
