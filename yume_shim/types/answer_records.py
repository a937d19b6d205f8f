"""Records of our answers to control requests: what `response` of a successful `control_response` holds."""

from __future__ import annotations

from yume_shim.types.record import ABSENT, Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.types.blocks import Json
    from yume_shim.types.message_records import (
        DocumentBlock,
        ImageBlock,
        RedactedThinkingBlock,
        TextBlock,
        ThinkingBlock,
        ToolResultBlock,
        ToolUseBlock,
    )


# ---------------------------------------------------------------- initialize


@record
class InitializeAnswer(Record):
    """What the Agent SDKs read at the start. `claude_code_version` is the version whose protocol is spoken;
    `capabilities` names optional protocol features."""

    commands: list[CommandInfo]
    agents: list[AgentInfo]
    output_style: str
    available_output_styles: list[str]
    models: list[ModelInfo]
    account: AccountInfo
    pid: int
    claude_code_version: str
    current_permission_mode: str
    hook_on_failure_supported: bool
    capabilities: list[str]


@record
class CommandInfo(Record):
    """A slash command."""

    name: str
    description: str
    argumentHint: str
    aliases: list[str] | None = ABSENT
    builtin: Literal[True] | None = ABSENT


@record
class AgentInfo(Record):
    """A subagent that the model can start."""

    name: str
    description: str
    model: str | None = ABSENT


@record
class AccountInfo(Record):
    """Where the key comes from; never the key."""

    tokenSource: str
    apiKeySource: str
    apiProvider: str


# ---------------------------------------------------------------- models, tools, commands


@record
class ModelInfo(Record):
    """A model that can be chosen: `value` is what `set_model` takes. `resolvedModel` is what an alias means. Prices are
    left out where they are not known; `known` false: the figures are those of its family, or defaults."""

    value: str
    resolvedModel: str
    displayName: str
    description: str
    supportsEffort: bool | None = ABSENT
    supportedEffortLevels: list[str] | None = ABSENT
    provider: str | None = ABSENT
    contextWindow: int | None = ABSENT
    maxOutputTokens: int | None = ABSENT
    prices: ModelPrices | None = ABSENT
    inputModalities: list[str] | None = ABSENT
    tools: bool | None = ABSENT
    known: bool | None = ABSENT
    current: Literal[True] | None = ABSENT


@record
class ModelPrices(Record):
    """USD per million tokens."""

    input: float
    output: float
    cacheRead: float
    cacheWrite: float


@record
class ModelsAnswer(Record):
    """The aliases that can be used, then every model. `next_offset` is there when there are more. `refreshed` and
    `errors` are there after `refresh`: the providers that gave their list, and why others did not."""

    models: list[ModelInfo]
    next_offset: int | None = ABSENT
    refreshed: list[str] | None = ABSENT
    errors: dict[str, str] | None = ABSENT


@record
class ProfilesAnswer(Record):
    """The credentials of the config file; never their keys."""

    profiles: list[ProfileInfo]


@record
class ProfileInfo(Record):
    """A named credential."""

    name: str
    provider: str
    chosen: bool


@record
class ToolsAnswer(Record):
    """The tools of the session. `next_offset` is there when there are more."""

    tools: list[ToolInfo]
    next_offset: int | None = ABSENT


@record
class ToolInfo(Record):
    """A tool. `source` is `builtin`, or `mcp` with the name of its `server`. `read_only`: it changes nothing."""

    name: str
    description: str
    source: Literal["builtin", "mcp"]
    server: str | None = ABSENT
    read_only: bool


@record
class CommandsAnswer(Record):
    """The slash commands."""

    commands: list[CommandInfo]


# ---------------------------------------------------------------- stored sessions


@record
class SessionsAnswer(Record):
    """Stored sessions, newest first. `next_offset` is there when there are more."""

    sessions: list[SessionEntry]
    next_offset: int | None = ABSENT


@record
class SessionEntry(Record):
    """A stored session. `title` is the one that it was given, else its first prompt. `created` is ISO 8601, `modified`
    in seconds since 1970, `size` in bytes; `current` marks the running session."""

    session_id: str
    title: str
    first_prompt: str
    last_prompt: str
    cwd: str
    git_branch: str
    created: str
    modified: float
    size: int
    current: Literal[True] | None = ABSENT


@record
class SessionAnswer(Record):
    """A page of a stored conversation. `next_offset` is there when there are more messages. `model` is the model last
    used, as `provider/model`."""

    session: SessionEntry
    model: str
    total_cost_usd: float
    messages: list[StoredMessage]
    next_offset: int | None = ABSENT


@record
class StoredMessage(Record):
    """One message of a stored conversation. Tool results are messages of the role `user`; `patch` shows what the call
    changed in a file. `content_truncated`: texts or images were cut to fit."""

    uuid: str
    role: Literal["user", "assistant"]
    timestamp: str
    content: list[
        TextBlock
        | ThinkingBlock
        | RedactedThinkingBlock
        | ToolUseBlock
        | ToolResultBlock
        | ImageBlock
        | DocumentBlock
        | Json
    ]
    model: str | None = ABSENT
    patch: StoredPatch | None = ABSENT
    content_truncated: Literal[True] | None = ABSENT


@record
class StoredPatch(Record):
    """A change of one file."""

    file_path: str
    hunks: list[Hunk]


@record
class Hunk(Record):
    """One place of a unified diff. `lines` begin with a blank, `-`, `+` or a backslash."""

    oldStart: int
    oldLines: int
    newStart: int
    newLines: int
    lines: list[str]


@record
class RenamedAnswer(Record):
    """The session, and its title as it is stored."""

    session_id: str
    title: str


@record
class TitleAnswer(Record):
    """The title that the model made."""

    title: str


@record
class DeletedAnswer(Record):
    """The session that is gone."""

    session_id: str


@record
class ForkedAnswer(Record):
    """The new session, and the one that it is a copy of."""

    session_id: str
    forked_from: str


# ---------------------------------------------------------------- the session


@record
class InterruptAnswer(Record):
    """The uuids of the prompts that still wait."""

    still_queued: list[str]


@record
class SteerAnswer(Record):
    """The prompt waits for the next request of the running turn."""

    uuid: str


@record
class ModeAnswer(Record):
    """The permission mode in effect."""

    mode: str


@record
class ModelAnswer(Record):
    """The model of the next turn."""

    model: str


@record
class EffortAnswer(Record):
    """The reasoning effort of the next request; null is the model's own."""

    effort: str | None


@record
class ProfileAnswer(Record):
    """The credential in use; null is none."""

    profile: str | None


@record
class CancelledAnswer(Record):
    """Whether the prompt was still waiting."""

    cancelled: bool


@record
class RewindAnswer(Record):
    """Whether files can be put back, which, and how many lines that changes."""

    canRewind: bool
    filesChanged: list[str] | None = ABSENT
    insertions: int | None = ABSENT
    deletions: int | None = ABSENT


@record
class VersionAnswer(Record):
    """The version of the Claude CLI whose protocol is spoken."""

    version: str


@record
class EmptyAnswer(Record):
    """Nothing to report."""


@record
class SettingsAnswer(Record):
    """The settings in effect, the files that were read, and what this moment's requests use."""

    effective: Json
    sources: list[Json]
    applied: AppliedSettings


@record
class AppliedSettings(Record):
    """What the next request uses; `effort` null is the model's own."""

    model: str
    effort: str | None
    provider: str
    permissionMode: str
    cwd: str


@record
class ContextAnswer(Record):
    """Tokens in the model's context. `totalTokens` is what the provider counted last and an estimate of what came
    since; the parts are estimates. `estimated`: nothing was counted yet."""

    categories: list[ContextPart]
    totalTokens: int
    maxTokens: int
    rawMaxTokens: int
    percentage: float
    gridRows: list[list[Json]]
    model: str
    memoryFiles: list[Json]
    mcpTools: list[Json]
    agents: list[Json]
    isAutoCompactEnabled: bool
    autoCompactThreshold: int
    estimated: bool
    apiUsage: None = None


@record
class ContextPart(Record):
    """One part of the context, or what is free."""

    id: str
    name: str
    tokens: int
    color: str
    kind: str


# ---------------------------------------------------------------- MCP servers


@record
class McpStatusAnswer(Record):
    """Every MCP server with its state and tools."""

    mcpServers: list[Json]


@record
class McpServersAnswer(Record):
    """The servers that were added and removed, and why some did not connect."""

    added: list[str]
    removed: list[str]
    errors: dict[str, str]


@record
class McpCallAnswer(Record):
    """The result of the tool, as the server gave it."""


@record
class McpResourceAnswer(Record):
    """The contents of the resource: `uri`, `mimeType`, and `text` or `blob` (base64)."""

    contents: list[Json]


@record
class McpSignInAnswer(Record):
    """With `requiresUserAction`: the host shows `authUrl` to its user; the server is connected when that is done."""

    authUrl: str | None = ABSENT
    requiresUserAction: bool


@record
class SkillsAnswer(Record):
    """The names of the skills that a user may run."""

    skills: list[str]
