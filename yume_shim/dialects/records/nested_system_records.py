"""The `system` lines of the nested dialect: the session's state, and what happens beside the conversation."""

from __future__ import annotations

from yume_shim.types.record import ABSENT, Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.dialects.records.shared_records import ErrorCategory, LeftOut
    from yume_shim.types.blocks import Json


class SystemLine(Record):
    """The last fields of every `system` line."""

    session_id: str
    uuid: str


class ChildSystemLine(Record):
    """The last fields of a `system` line that a subagent can cause; `parent_tool_use_id` is left out for the main
    conversation."""

    parent_tool_use_id: str | None = ABSENT
    session_id: str
    uuid: str


@record
class InitLine(Record):
    """A turn starts. `capabilities` names optional protocol features; none is claimed. The prompts' uuids are there
    when the host gave them."""

    type: Literal["system"] = "system"
    subtype: Literal["init"] = "init"
    cwd: str
    session_id: str
    tools: list[str]
    mcp_servers: list[Json]
    left_out: list[LeftOut] | None = ABSENT
    model: str
    permissionMode: str
    slash_commands: list[str]
    terminal_slash_commands: list[str]
    apiKeySource: str
    claude_code_version: str
    output_style: str
    agents: list[str]
    skills: list[str]
    plugins: list[Json]
    plugin_errors: list[Json] | None = ABSENT
    capabilities: list[str]
    additional_directories: list[str]
    betas: list[str] | None = ABSENT
    user_message_uuid: str | None = ABSENT
    user_message_uuids: list[str] | None = ABSENT
    uuid: str


@record
class StatusLine(SystemLine):
    """What the session is doing: a model request is sent (with partial messages only), the history is being compacted
    or was compacted, or the permission mode changed."""

    type: Literal["system"] = "system"
    subtype: Literal["status"] = "status"
    status: Literal["requesting", "compacting"] | None
    permissionMode: str | None = ABSENT
    compact_result: Literal["success", "failed"] | None = ABSENT
    compact_error: str | None = ABSENT


@record
class ApiRetryLine(ChildSystemLine):
    """A request failed and is sent again; sent before each wait. `error_status` is null when no response came."""

    type: Literal["system"] = "system"
    subtype: Literal["api_retry"] = "api_retry"
    attempt: int
    max_retries: int
    retry_delay_ms: int
    error_status: int | None
    error: ErrorCategory | Literal["overloaded"]


@record
class ModelFallbackLine(ChildSystemLine):
    """Another model took over."""

    type: Literal["system"] = "system"
    subtype: Literal["model_fallback"] = "model_fallback"
    trigger: str
    original_model: str
    fallback_model: str
    content: str


@record
class PermissionDeniedLine(ChildSystemLine):
    """A call was refused without asking the host; sent before its result."""

    type: Literal["system"] = "system"
    subtype: Literal["permission_denied"] = "permission_denied"
    tool_name: str
    tool_use_id: str
    message: str
    decision_reason_type: str | None = ABSENT
    decision_reason: str | None = ABSENT
    agent_id: str | None = ABSENT


@record
class InformationalLine(ChildSystemLine):
    """A message for people: a feature was degraded, or a line of the host was not understood. `tag` is its code."""

    type: Literal["system"] = "system"
    subtype: Literal["informational"] = "informational"
    content: str
    level: Literal["notice", "warning"]
    tag: str | None = ABSENT
    hook_no_verdict: Json | None = ABSENT
    prevent_continuation: Literal[True] | None = ABSENT


@record
class HookStartedLine(SystemLine):
    """A hook's command starts; for SessionStart always, for other events with --include-hook-events."""

    type: Literal["system"] = "system"
    subtype: Literal["hook_started"] = "hook_started"
    hook_id: str
    hook_name: str
    hook_event: str


@record
class HookResponseLine(SystemLine):
    """A hook's command has ended. `exit_code` is null if it was stopped."""

    type: Literal["system"] = "system"
    subtype: Literal["hook_response"] = "hook_response"
    hook_id: str
    hook_name: str
    hook_event: str
    output: str
    stdout: str
    stderr: str
    exit_code: int | None
    outcome: Literal["success", "error", "cancelled"]


@record
class SessionStateLine(SystemLine):
    """The session became busy, idle, or waits for an answer; sent to hosts that asked for it."""

    type: Literal["system"] = "system"
    subtype: Literal["session_state_changed"] = "session_state_changed"
    state: Literal["running", "idle", "requires_action"]
    sdk_host_only: Literal[True] = True


@record
class CommandsChangedLine(SystemLine):
    """The prompts of MCP servers changed after the answer to `initialize`: `commands` are all slash commands now."""

    type: Literal["system"] = "system"
    subtype: Literal["commands_changed"] = "commands_changed"
    commands: list[Json]


@record
class SessionTitleLine(SystemLine):
    """The session has this title now: by `--name`, by the host's `rename_session`, or made by the model."""

    type: Literal["system"] = "system"
    subtype: Literal["session_title_changed"] = "session_title_changed"
    title: str


@record
class CompactBoundaryLine(SystemLine):
    """The history was compacted: the model no longer sees the messages before this line. `logical_parent_uuid` is the
    last of them."""

    type: Literal["system"] = "system"
    subtype: Literal["compact_boundary"] = "compact_boundary"
    compact_metadata: CompactMetadata
    logical_parent_uuid: str | None


@record
class CompactMetadata(Record):
    """Estimated sizes of the history in tokens. `cumulative_dropped_tokens` counts all compactions of the session."""

    trigger: Literal["manual", "auto"]
    pre_tokens: int
    post_tokens: int
    cumulative_dropped_tokens: int
    duration_ms: int
    estimated: Literal[True] = True
