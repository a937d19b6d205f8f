"""The lines of the flat dialect."""

from __future__ import annotations

from yume_shim.types.record import ABSENT, Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal

    from yume_shim.dialects.records.live_records import Patch, ResultImage
    from yume_shim.dialects.records.result_records import AgentFigures, DeferredCall, ModelFigures, PermissionDenial
    from yume_shim.dialects.records.shared_records import FlatSubtype, LeftOut, Limit, Origin
    from yume_shim.types.blocks import Json
    from yume_shim.types.errors import ErrorKind


class FlatLine(Record):
    """The last fields of every line: the call whose agent caused it, and that agent; left out for the main
    conversation."""

    parent_tool_use_id: str | None = ABSENT
    agent_id: str | None = ABSENT


def set_parent(lines: Iterable[Json], parent: str, agent_id: str) -> None:
    """Mark lines as those of an agent."""
    for line in lines:
        line["parent_tool_use_id"] = parent
        if agent_id:
            line["agent_id"] = agent_id


# ---------------------------------------------------------------- the answer


@record
class TextLine(FlatLine):
    """A piece of the model's text, as it streams. `id` is the same for all pieces of one content block."""

    type: Literal["text"] = "text"
    content: str
    id: str


@record
class ThinkingLine(FlatLine):
    """A piece of the model's reasoning, where the provider shows it. `id` is the same for all pieces of one block."""

    type: Literal["thinking"] = "thinking"
    is_thinking: Literal[True] = True
    thought: str
    id: str


@record
class ThinkingEndLine(FlatLine):
    """The reasoning block that was shown has ended."""

    type: Literal["thinking"] = "thinking"
    is_thinking: Literal[False] = False
    id: str


def text_line(content: str, id: str) -> Json:
    """`TextLine` without the cost of a record: most lines are pieces of text."""
    return {"type": "text", "content": content, "id": id}


def thinking_line(thought: str, id: str) -> Json:
    """`ThinkingLine` without the cost of a record."""
    return {"type": "thinking", "is_thinking": True, "thought": thought, "id": id}


class UsageFields(Record):
    """Tokens, as Anthropic counts: `input_tokens` excludes cached ones. `estimated` marks figures that the provider
    did not give."""

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int
    reasoning_tokens: int | None = ABSENT
    estimated: Literal[True] | None = ABSENT


@record
class FlatUsage(UsageFields):
    """Tokens of a turn."""


@record
class UsageLine(UsageFields, FlatLine):
    """Tokens of one model response, sent when it ends."""

    type: Literal["usage"] = "usage"


# ---------------------------------------------------------------- tool calls


@record
class ToolUseLine(FlatLine):
    """A tool call starts. `input` is complete, with schema defaults. Sent once per call, after its response's `usage`.
    `input_truncated`: the call was stopped while the model wrote it; `input` has the fields that were complete."""

    type: Literal["tool_use"] = "tool_use"
    id: str
    name: str
    input: Json
    input_truncated: Literal[True] | None = ABSENT


@record
class ToolResultLine(FlatLine):
    """The result of a tool call: exactly one per `tool_use`. `patch` is what it changed in a file, `images` are those
    that `content` only mentions."""

    type: Literal["tool_result"] = "tool_result"
    tool_use_id: str
    content: str
    is_error: bool
    patch: Patch | None = ABSENT
    images: list[ResultImage] | None = ABSENT


@record
class ProgressLine(FlatLine):
    """A tool is still running, or its call waits for an approval; sent at a fixed interval, and with `progress` when
    the tool says how far it is."""

    type: Literal["system"] = "system"
    subtype: Literal["progress"] = "progress"
    tool_use_id: str
    tool_name: str
    elapsed_ms: int
    waiting_for: Literal["approval"] | None = ABSENT
    progress: float | None = ABSENT
    total: float | None = ABSENT
    message: str | None = ABSENT


@record
class PermissionDeniedLine(FlatLine):
    """A call was refused without asking the host."""

    type: Literal["system"] = "system"
    subtype: Literal["permission_denied"] = "permission_denied"
    tool_use_id: str
    tool_name: str
    reason: str


@record
class ApprovalNeededLine(FlatLine):
    """A call waits for the host's `tool_approval`; sent right after its `tool_use`. After `timeout_ms` it counts as
    denied (0 = it waits). `suggested_rules` are what `rules` of the answer may hold, `scopes` what `remember` may be,
    `patch` is what the call would change."""

    type: Literal["system"] = "system"
    subtype: Literal["approval_needed"] = "approval_needed"
    tool_use_id: str
    tool_name: str
    input: Json
    reason: str
    timeout_ms: int
    suggested_rules: list[str] | None = ABSENT
    scopes: list[Literal["once", "session", "project", "user"]]
    patch: Patch | None = ABSENT


# ---------------------------------------------------------------- the session


@record
class InitLine(FlatLine):
    """The process is ready: the first line, once, before the first model request."""

    type: Literal["system"] = "system"
    subtype: Literal["init"] = "init"
    session_id: str
    provider: str
    model: str
    cwd: str
    permissionMode: str
    tools: list[str]
    mcp_servers: list[Json]
    slash_commands: list[str]
    skills: list[str] | None = ABSENT
    plugins: list[Json] | None = ABSENT
    plugin_errors: list[Json] | None = ABSENT
    left_out: list[LeftOut] | None = ABSENT
    protocol: Literal["flat/1"] = "flat/1"
    version: str
    resumed: bool
    output_style: str | None = ABSENT


@record
class CommandsLine(FlatLine):
    """The slash commands changed, because files of commands or skills did. Each has `name`, `description` and
    `argumentHint`, perhaps `aliases` and `builtin`."""

    type: Literal["system"] = "system"
    subtype: Literal["commands"] = "commands"
    commands: list[Json]


@record
class McpLine(FlatLine):
    """The MCP servers changed: one connected, failed, or changed its tools. `servers` are
    `{name, status, source, error?}`, `tools` all tools of the session, `commands` the prompts of servers: a prompt
    `/NAME words` runs one."""

    type: Literal["system"] = "system"
    subtype: Literal["mcp"] = "mcp"
    servers: list[Json]
    tools: list[str]
    commands: list[str] | None = ABSENT


@record
class HookLine(FlatLine):
    """A hook's command starts or has ended."""

    type: Literal["system"] = "system"
    subtype: Literal["hook"] = "hook"
    hook_id: str
    hook_name: str
    hook_event: str
    state: Literal["started", "ended"]
    outcome: Literal["success", "error", "cancelled"] | None = ABSENT
    exit_code: int | None = ABSENT


@record
class StartErrorLine(FlatLine):
    """The process cannot start; sent in place of `init`."""

    type: Literal["system"] = "system"
    subtype: Literal["error"] = "error"
    message: str
    code: str


@record
class TurnStartedLine(FlatLine):
    """A turn begins. `prompt_id` is the `uuid` of the prompt, or one that it was given; its `result` has it, too.
    `origin` says why a turn begins that no prompt of the host asked for."""

    type: Literal["system"] = "system"
    subtype: Literal["turn_started"] = "turn_started"
    prompt_id: str
    origin: Origin | None = ABSENT


@record
class SessionIdLine(FlatLine):
    """The session continues under another id."""

    type: Literal["system"] = "system"
    subtype: Literal["session_id"] = "session_id"
    session_id: str
    previous_session_id: str


@record
class SessionTitleLine(FlatLine):
    """The session has this title now: by `--name`, by the host's `rename_session`, or made by the model."""

    type: Literal["system"] = "system"
    subtype: Literal["session_title"] = "session_title"
    title: str


@record
class PromptJoinedLine(FlatLine):
    """A prompt of `steer` joined the running turn: the model reads it with the next request. `uuid` is the one in the
    answer to `steer`."""

    type: Literal["system"] = "system"
    subtype: Literal["prompt_joined"] = "prompt_joined"
    uuid: str


@record
class PermissionModeLine(FlatLine):
    """The permission mode is now this one: the host set it, its answer to a question did, or a tool."""

    type: Literal["system"] = "system"
    subtype: Literal["permission_mode"] = "permission_mode"
    permissionMode: str


@record
class ModelLine(FlatLine):
    """The model changed, by the host's request or by failover."""

    type: Literal["system"] = "system"
    subtype: Literal["model"] = "model"
    provider: str
    model: str
    reason: str


@record
class CompactBoundaryLine(FlatLine):
    """The history was compacted. The token counts are estimates."""

    type: Literal["system"] = "system"
    subtype: Literal["compact_boundary"] = "compact_boundary"
    trigger: Literal["manual", "auto"]
    pre_tokens: int
    post_tokens: int
    estimated: Literal[True] = True


@record
class WarningLine(FlatLine):
    """A feature was degraded."""

    type: Literal["system"] = "system"
    subtype: Literal["warning"] = "warning"
    message: str
    code: str


@record
class RetryLine(FlatLine):
    """A request failed and is sent again after `delay_ms`. `message` says why; `status` is left out when no response
    came."""

    type: Literal["system"] = "system"
    subtype: Literal["retry"] = "retry"
    attempt: int
    max_retries: int
    delay_ms: int
    code: ErrorKind
    status: int | None = ABSENT
    message: str


# ---------------------------------------------------------------- the end of a turn


@record
class ErrorLine(FlatLine):
    """An error that the user should see: the provider gave up, or the host's input was refused. `request_id` is the
    provider's own id of the failed request."""

    type: Literal["error"] = "error"
    message: str
    code: str
    provider: str
    retryable: bool
    status: int | None = ABSENT
    retry_after_ms: int | None = ABSENT
    provider_code: str | None = ABSENT
    request_id: str | None = ABSENT


@record
class InterruptLine(FlatLine):
    """The turn was stopped."""

    type: Literal["interrupt"] = "interrupt"
    reason: Literal["user", "signal", "shutdown", "deadline"]


@record
class RateLimitsLine(FlatLine):
    """Rate limits that the provider reported, the most used one first; sent when they have changed by a good part."""

    type: Literal["system"] = "system"
    subtype: Literal["rate_limits"] = "rate_limits"
    limits: list[Limit]


@record
class ResultLine(FlatLine):
    """The turn has ended: exactly one per turn, whatever happened. `cost_estimated` marks a cost that rests on
    estimated tokens or lacks a price, `cost_unknown` one that lacks a price; `request_id` is the provider's id of the
    request that failed; `origin` says why a turn began without a prompt of the host."""

    type: Literal["result"] = "result"
    subtype: FlatSubtype
    is_error: bool
    result: str
    session_id: str
    usage: FlatUsage
    total_cost_usd: float
    duration_ms: int
    duration_api_ms: int
    num_turns: int
    errors: list[str]
    permission_denials: list[PermissionDenial]
    stop_reason: str | None
    modelUsage: dict[str, ModelFigures]
    agentUsage: list[AgentFigures] | None = ABSENT
    cost_unknown: Literal[True] | None = ABSENT
    cost_estimated: Literal[True] | None = ABSENT
    deferred_tool_use: DeferredCall | None = ABSENT
    structured_output: Any = ABSENT
    request_id: str | None = ABSENT
    prompt_id: str | None = ABSENT
    origin: Origin | None = ABSENT


@record
class MessageStopLine(FlatLine):
    """Nothing more of this turn follows; sent right after `result`."""

    type: Literal["message_stop"] = "message_stop"
