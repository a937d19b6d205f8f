"""The messages of the Agent Client Protocol that events become: `session/update` notifications and requests."""

from __future__ import annotations

from yume_shim.types.record import ABSENT, Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from yume_shim.types.blocks import Json


def notification(method: str, params: Json) -> Json:
    """A JSON-RPC message that gets no answer."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def request(id: str, method: str, params: Json) -> Json:
    """A JSON-RPC message that the client answers under this id."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def session_update(session_id: str, update: Json) -> Json:
    """What happened in a session."""
    return notification("session/update", {"sessionId": session_id, "update": update})


def chunk(kind: str, text: str, message_id: str) -> Json:
    """`MessageChunk` without the cost of a record: most messages are pieces of text."""
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}, "messageId": message_id}


@record
class MessageChunk(Record):
    """A piece of a message: of the model's text or reasoning as it streams, or of the user when a session is loaded."""

    sessionUpdate: Literal["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]
    content: Json
    messageId: str | None = ABSENT


@record
class ToolCallStart(Record):
    """A call starts."""

    sessionUpdate: Literal["tool_call"] = "tool_call"
    toolCallId: str
    title: str
    kind: str
    status: Literal["pending", "in_progress", "completed", "failed"]
    content: list[Json] | None = ABSENT
    locations: list[Json] | None = ABSENT
    rawInput: Any = ABSENT
    _meta: Json | None = ABSENT


@record
class ToolCallUpdate(Record):
    """Something about a call changed; fields that are left out stay as they were."""

    sessionUpdate: Literal["tool_call_update"] = "tool_call_update"
    toolCallId: str
    status: Literal["pending", "in_progress", "completed", "failed"] | None = ABSENT
    content: list[Json] | None = ABSENT
    _meta: Json | None = ABSENT


@record
class AskedCall(Record):
    """The call that a permission request is about."""

    toolCallId: str
    title: str
    kind: str
    status: Literal["pending"] = "pending"
    content: list[Json] | None = ABSENT
    locations: list[Json] | None = ABSENT
    rawInput: Any = ABSENT


@record
class PlanUpdate(Record):
    """The list of tasks, as a whole."""

    sessionUpdate: Literal["plan"] = "plan"
    entries: list[Json]


@record
class CommandsUpdate(Record):
    """The slash commands, as a whole."""

    sessionUpdate: Literal["available_commands_update"] = "available_commands_update"
    availableCommands: list[Json]


@record
class ModeUpdate(Record):
    """The permission mode changed."""

    sessionUpdate: Literal["current_mode_update"] = "current_mode_update"
    currentModeId: str


@record
class ConfigUpdate(Record):
    """Mode or model changed."""

    sessionUpdate: Literal["config_option_update"] = "config_option_update"
    configOptions: list[Json]


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
    cost: Json | None = ABSENT
