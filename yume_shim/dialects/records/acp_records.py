"""The messages of the Agent Client Protocol that events become: `session/update` notifications and requests, and the
objects in them and in answers."""

from __future__ import annotations

from yume_shim.types.record import ABSENT, Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypeAlias

    from yume_shim.types.blocks import Json

    Status: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]
    CallContent: TypeAlias = "ContentItem | DiffItem"
    Update: TypeAlias = "MessageChunk | ToolCallStart | ToolCallUpdate | PlanUpdate | CommandsUpdate | ModeUpdate | ConfigUpdate | InfoUpdate | UsageUpdate"  # noqa: E501  # the readers of annotations take one string


# ---------------------------------------------------------------- messages


@record
class SessionUpdate(Record):
    """What happened in a session."""

    jsonrpc: Literal["2.0"] = "2.0"
    method: Literal["session/update"] = "session/update"
    params: UpdateParams


@record
class UpdateParams(Record):
    """A session and what changed in it."""

    sessionId: str
    update: Update  # type: ignore[assignment]  # a field of the protocol, not the method of dict


@record
class CancelRequest(Record):
    """One of our requests no longer needs an answer."""

    jsonrpc: Literal["2.0"] = "2.0"
    method: Literal["$/cancel_request"] = "$/cancel_request"
    params: CancelParams


@record
class CancelParams(Record):
    """The request that is withdrawn."""

    requestId: str


@record
class PermissionRequest(Record):
    """The question whether a call may run."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: str
    method: Literal["session/request_permission"] = "session/request_permission"
    params: PermissionParams


@record
class PermissionParams(Record):
    """The call, and the answers that the client offers."""

    sessionId: str
    toolCall: AskedCall
    options: list[PermissionOption]


@record
class AskedCall(Record):
    """The call that a permission request is about."""

    toolCallId: str
    title: str
    kind: str
    status: Literal["pending"] = "pending"
    content: list[CallContent] | None = ABSENT
    locations: list[Location] | None = ABSENT
    rawInput: Any = ABSENT


@record
class PermissionOption(Record):
    """One answer to a permission request."""

    optionId: str
    name: str
    kind: Literal["allow_once", "allow_always", "reject_once", "reject_always"]


@record
class ReadFileRequest(Record):
    """The client reads a file."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: str
    method: Literal["fs/read_text_file"] = "fs/read_text_file"
    params: ReadFileParams


@record
class ReadFileParams(Record):
    """The whole file at a path."""

    sessionId: str
    path: str


@record
class WriteFileRequest(Record):
    """The client writes a file."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: str
    method: Literal["fs/write_text_file"] = "fs/write_text_file"
    params: WriteFileParams


@record
class WriteFileParams(Record):
    """A path and its new content."""

    sessionId: str
    path: str
    content: str


@record
class ElicitationRequest(Record):
    """An MCP server asks the user something."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: str
    method: Literal["elicitation/create"] = "elicitation/create"
    params: ElicitationParams


@record
class ElicitationParams(Record):
    """The form to show."""

    sessionId: str
    mode: Literal["form"] = "form"
    message: str
    requestedSchema: Json


# ---------------------------------------------------------------- content


@record
class TextContent(Record):
    """Text."""

    type: Literal["text"] = "text"
    text: str


@record
class ImageContent(Record):
    """An image, in base64."""

    type: Literal["image"] = "image"
    data: str
    mimeType: str


@record
class ContentItem(Record):
    """Text or an image in a tool call."""

    type: Literal["content"] = "content"
    content: TextContent | ImageContent


@record
class DiffItem(Record):
    """A change of a file in a tool call; `oldText` is null for a new file."""

    type: Literal["diff"] = "diff"
    path: str
    oldText: str | None
    newText: str


@record
class Location(Record):
    """A file that a call touches."""

    path: str
    line: int | None = ABSENT


# ---------------------------------------------------------------- updates


@record
class MessageChunk(Record):
    """A piece of a message: of the model's text or reasoning as it streams, or of the user when a session is loaded."""

    sessionUpdate: Literal["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]
    content: TextContent | ImageContent
    messageId: str


def text_update(session_id: str, kind: str, text: str, message_id: str) -> Json:
    """`SessionUpdate` of a `MessageChunk` without the cost of records: most messages are pieces of text."""
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": kind, "content": content, "messageId": message_id}
    params = {"sessionId": session_id, "update": update}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


@record
class ToolCallStart(Record):
    """A call starts."""

    sessionUpdate: Literal["tool_call"] = "tool_call"
    toolCallId: str
    title: str
    kind: str
    status: Status
    content: list[CallContent] | None = ABSENT
    locations: list[Location] | None = ABSENT
    rawInput: Any = ABSENT
    _meta: CallMeta


@record
class ToolCallUpdate(Record):
    """A call has ended; fields that are left out stay as they were."""

    sessionUpdate: Literal["tool_call_update"] = "tool_call_update"
    toolCallId: str
    status: Status
    content: list[CallContent] | None = ABSENT
    _meta: CallMeta


@record
class CallMeta(Record):
    """Our own facts about a call."""

    yume: CallFacts


@record
class CallFacts(Record):
    """What the protocol has no field for: the tool's name, and the call whose subagent caused this one."""

    toolName: str
    parentToolCallId: str | None = ABSENT


@record
class PlanUpdate(Record):
    """The list of tasks, as a whole."""

    sessionUpdate: Literal["plan"] = "plan"
    entries: list[PlanEntry]


@record
class PlanEntry(Record):
    """One task."""

    content: str
    priority: Literal["medium"] = "medium"
    status: Literal["pending", "in_progress", "completed"]


@record
class CommandsUpdate(Record):
    """The slash commands, as a whole."""

    sessionUpdate: Literal["available_commands_update"] = "available_commands_update"
    availableCommands: list[CommandEntry]


@record
class CommandEntry(Record):
    """One slash command."""

    name: str
    description: str
    input: CommandInput | None = ABSENT


@record
class CommandInput(Record):
    """What to write after a command."""

    hint: str


@record
class ModeUpdate(Record):
    """The permission mode changed."""

    sessionUpdate: Literal["current_mode_update"] = "current_mode_update"
    currentModeId: str


@record
class ConfigUpdate(Record):
    """Mode, model or effort changed."""

    sessionUpdate: Literal["config_option_update"] = "config_option_update"
    configOptions: list[ConfigOption]


@record
class InfoUpdate(Record):
    """The title of the session."""

    sessionUpdate: Literal["session_info_update"] = "session_info_update"
    title: str
    updatedAt: str


@record
class UsageUpdate(Record):
    """How full the context is, and what the session has cost."""

    sessionUpdate: Literal["usage_update"] = "usage_update"
    used: int
    size: int
    cost: Cost


@record
class Cost(Record):
    """An amount of money."""

    amount: float
    currency: Literal["USD"] = "USD"


# ---------------------------------------------------------------- parts of answers


@record
class SessionState(Record):
    """What answers about a session hold: modes and options."""

    modes: ModeState
    configOptions: list[ConfigOption]


@record
class ModeState(Record):
    """The permission modes, and the one that holds."""

    currentModeId: str
    availableModes: list[ModeEntry]


@record
class ModeEntry(Record):
    """One permission mode."""

    id: str
    name: str
    description: str | None = ABSENT


@record
class ConfigOption(Record):
    """A menu of the client: the mode, the model, or the effort."""

    id: str
    name: str
    category: Literal["mode", "model", "thought_level"]
    type: Literal["select"] = "select"
    currentValue: str
    options: list[OptionValue]


@record
class OptionValue(Record):
    """One entry of a menu."""

    value: str
    name: str
    description: str | None = ABSENT


@record
class PromptAnswer(Record):
    """How a turn ended."""

    stopReason: Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


@record
class PromptFailure(Record):
    """The data of the error that answers a prompt."""

    outcome: str
    code: str | None = ABSENT
    retryable: bool | None = ABSENT
    status: int | None = ABSENT
