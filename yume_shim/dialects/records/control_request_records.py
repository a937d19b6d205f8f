"""The control requests that a host may send: what `request` of a `control_request` line holds, by `subtype`.

The program does not load this module.
"""

from __future__ import annotations

from yume_shim.types.record import ABSENT, Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.types.blocks import Json
    from yume_shim.types.message_records import DocumentBlock, ImageBlock, TextBlock


# ---------------------------------------------------------------- the session


@record
class Initialize(Record):
    """The Agent SDKs' first request: what they do not say by flags. Every field may be left out, and further ones are
    accepted."""

    subtype: Literal["initialize"] = "initialize"
    hooks: Json | None = ABSENT
    systemPrompt: str | list[str] | None = ABSENT
    appendSystemPrompt: str | None = ABSENT
    jsonSchema: Json | None = ABSENT
    sdkMcpServers: list[str] | None = ABSENT


@record
class Interrupt(Record):
    """Stop the turn; the process stays."""

    subtype: Literal["interrupt"] = "interrupt"


@record
class Steer(Record):
    """A prompt that joins the running turn: the model reads it with its next request. Refused when no turn runs
    (`not_running`). If the turn ends first, it gets a turn of its own."""

    subtype: Literal["steer"] = "steer"
    content: str | list[TextBlock | ImageBlock | DocumentBlock | Json]
    uuid: str | None = ABSENT


@record
class CancelAsyncMessage(Record):
    """Withdraw a prompt that waits."""

    subtype: Literal["cancel_async_message"] = "cancel_async_message"
    message_uuid: str


@record
class EndSession(Record):
    """Stop the turn and end the process."""

    subtype: Literal["end_session"] = "end_session"


@record
class RewindFiles(Record):
    """Put files back to what they were before a prompt. `dry_run` only says what would change."""

    subtype: Literal["rewind_files"] = "rewind_files"
    user_message_id: str
    dry_run: bool | None = ABSENT


@record
class StopTask(Record):
    """End a background task."""

    subtype: Literal["stop_task"] = "stop_task"
    task_id: str


@record
class ReloadSkills(Record):
    """Read commands and skills again."""

    subtype: Literal["reload_skills"] = "reload_skills"


# ---------------------------------------------------------------- what is in effect


@record
class SetPermissionMode(Record):
    """Change the permission mode."""

    subtype: Literal["set_permission_mode"] = "set_permission_mode"
    mode: str


@record
class SetModel(Record):
    """Use another model from the next turn on: an alias, an id, or `provider/model`; null or `default` is the
    configured one."""

    subtype: Literal["set_model"] = "set_model"
    model: str | None = ABSENT


@record
class SetEffort(Record):
    """Set the reasoning effort from the next request on; null is the model's own."""

    subtype: Literal["set_effort"] = "set_effort"
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = ABSENT


@record
class SetMaxThinkingTokens(Record):
    """Set the reasoning budget from the next request on; null is the model's own."""

    subtype: Literal["set_max_thinking_tokens"] = "set_max_thinking_tokens"
    max_thinking_tokens: int | None = ABSENT


@record
class SetProfile(Record):
    """Use a credential of the config file by its name; null uses none."""

    subtype: Literal["set_profile"] = "set_profile"
    profile: str | None = ABSENT


@record
class SetCwd(Record):
    """Always refused (`unsupported`): the working folder is fixed when the process starts, because permissions,
    settings and trust depend on it. Start another process in the other folder."""

    subtype: Literal["set_cwd"] = "set_cwd"
    path: str | None = ABSENT


# ---------------------------------------------------------------- questions


@record
class ListModels(Record):
    """The models that can be used: those of every provider that has a key, from the catalogue and from the lists that
    endpoints gave earlier. `provider` lists those of one provider. `refresh` asks the endpoints for their lists first,
    within ten seconds."""

    subtype: Literal["list_models"] = "list_models"
    provider: str | None = ABSENT
    refresh: bool | None = ABSENT
    offset: int | None = ABSENT


@record
class ListProfiles(Record):
    """The credentials of the config file, by name."""

    subtype: Literal["list_profiles"] = "list_profiles"


@record
class ListTools(Record):
    """The tools of the session, in the order in which the model is offered them."""

    subtype: Literal["list_tools"] = "list_tools"
    offset: int | None = ABSENT


@record
class ListCommands(Record):
    """The slash commands: a prompt `/NAME words` runs one."""

    subtype: Literal["list_commands"] = "list_commands"


@record
class ListSessions(Record):
    """The stored sessions of this folder, newest first."""

    subtype: Literal["list_sessions"] = "list_sessions"
    limit: int | None = ABSENT
    offset: int | None = ABSENT


@record
class GetSession(Record):
    """The conversation of a stored session of this folder, to show it again. Without `session_id`: the running one, as
    far as it is stored. Long sessions come in pages."""

    subtype: Literal["get_session"] = "get_session"
    session_id: str | None = ABSENT
    offset: int | None = ABSENT


@record
class RenameSession(Record):
    """Give a session of this folder a title. Without `session_id`: the running one."""

    subtype: Literal["rename_session"] = "rename_session"
    title: str
    session_id: str | None = ABSENT


@record
class GenerateSessionTitle(Record):
    """Have the model make a short title from `description`, or from the first prompt of the running session. `persist`
    gives it to that session."""

    subtype: Literal["generate_session_title"] = "generate_session_title"
    description: str | None = ABSENT
    persist: bool | None = ABSENT


@record
class DeleteSession(Record):
    """Delete a stored session of this folder and its other files. The running session is refused (`running`)."""

    subtype: Literal["delete_session"] = "delete_session"
    session_id: str


@record
class ForkSession(Record):
    """Copy a stored session of this folder under a new id. Without `session_id`: the running one, as far as it is
    stored. The process stays in its session: `--resume` with the new id continues the copy."""

    subtype: Literal["fork_session"] = "fork_session"
    session_id: str | None = ABSENT
    title: str | None = ABSENT


@record
class GetContextUsage(Record):
    """How full the model's context is, by part."""

    subtype: Literal["get_context_usage"] = "get_context_usage"


@record
class GetSettings(Record):
    """The settings in effect. No answer holds a key."""

    subtype: Literal["get_settings"] = "get_settings"


@record
class GetBinaryVersion(Record):
    """The version of the Claude CLI whose protocol is spoken."""

    subtype: Literal["get_binary_version"] = "get_binary_version"


# ---------------------------------------------------------------- MCP servers


@record
class McpStatus(Record):
    """The MCP servers and their tools."""

    subtype: Literal["mcp_status"] = "mcp_status"


@record
class McpReconnect(Record):
    """Connect to a server again."""

    subtype: Literal["mcp_reconnect"] = "mcp_reconnect"
    serverName: str


@record
class McpToggle(Record):
    """Switch a server off or on."""

    subtype: Literal["mcp_toggle"] = "mcp_toggle"
    serverName: str
    enabled: bool | None = ABSENT


@record
class McpSetServers(Record):
    """Replace the servers that the host set before, by name; those of flags and files stay."""

    subtype: Literal["mcp_set_servers"] = "mcp_set_servers"
    servers: dict[str, Json]


@record
class McpMessageIn(Record):
    """A JSON-RPC message of a server in the host's process."""

    subtype: Literal["mcp_message"] = "mcp_message"
    server_name: str
    message: Json


@record
class McpCall(Record):
    """Call a tool of a server for the host itself; nothing is asked. `tool` is a full name (`mcp__server__tool`), or
    with `serverName` the server's own. `result_not_for_model` answers with the result as the server gave it."""

    subtype: Literal["mcp_call"] = "mcp_call"
    tool: str
    serverName: str | None = ABSENT
    arguments: Json | None = ABSENT
    result_not_for_model: bool | None = ABSENT


@record
class McpReadResource(Record):
    """Read a resource of a server that the host shows to its user; `uri` begins with `ui://`."""

    subtype: Literal["mcp_read_resource"] = "mcp_read_resource"
    serverName: str
    uri: str


@record
class McpAuthenticate(Record):
    """Sign in at a server over HTTP or SSE."""

    subtype: Literal["mcp_authenticate"] = "mcp_authenticate"
    serverName: str


@record
class McpClearAuth(Record):
    """Forget the token of a server over HTTP or SSE, and connect again."""

    subtype: Literal["mcp_clear_auth"] = "mcp_clear_auth"
    serverName: str


if TYPE_CHECKING:
    from typing import TypeAlias

    ControlRequestBody: TypeAlias = (
        Initialize
        | Interrupt
        | Steer
        | CancelAsyncMessage
        | EndSession
        | RewindFiles
        | StopTask
        | ReloadSkills
        | SetPermissionMode
        | SetModel
        | SetEffort
        | SetMaxThinkingTokens
        | SetProfile
        | SetCwd
        | ListModels
        | ListProfiles
        | ListTools
        | ListCommands
        | ListSessions
        | GetSession
        | RenameSession
        | GenerateSessionTitle
        | DeleteSession
        | ForkSession
        | GetContextUsage
        | GetSettings
        | GetBinaryVersion
        | McpStatus
        | McpReconnect
        | McpToggle
        | McpSetServers
        | McpMessageIn
        | McpCall
        | McpReadResource
        | McpAuthenticate
        | McpClearAuth
    )
