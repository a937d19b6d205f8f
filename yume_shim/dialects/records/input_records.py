"""The lines that a host writes to stdin, and the answers that it gives to our questions.

`host/input_lines.py` reads the lines; these records describe them for generators of schemas, types and documentation.
The program does not load this module.
"""

from __future__ import annotations

from yume_shim.types.record import ABSENT, Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.dialects.records.control_request_records import ControlRequestBody
    from yume_shim.types.blocks import Json
    from yume_shim.types.message_records import DocumentBlock, ImageBlock, TextBlock, ToolResultBlock


# ---------------------------------------------------------------- prompts


class PromptFields(Record):
    """How a prompt is handled. `uuid` names it: a repeated one is not run again. `priority`: `now` stops the running
    turn first, `later` never joins other prompts. `shouldQuery` false adds it to the history only. `client_composed`
    true leaves `@file` in it alone."""

    uuid: str | None = ABSENT
    priority: Literal["now", "next", "later"] | None = ABSENT
    shouldQuery: bool | None = ABSENT
    client_composed: bool | None = ABSENT


@record
class PromptLine(PromptFields):
    """A prompt. During a turn it waits, and then gets a turn and a `result` of its own."""

    type: Literal["user"] = "user"
    content: str | list[TextBlock | ImageBlock | DocumentBlock | ToolResultBlock | Json]


@record
class PromptMessageLine(PromptFields):
    """A prompt in the Claude CLI's form."""

    type: Literal["user"] = "user"
    message: PromptMessage


@record
class PromptMessage(Record):
    """The message of a prompt; `role` may be left out."""

    role: Literal["user"] | None = ABSENT
    content: str | list[TextBlock | ImageBlock | DocumentBlock | ToolResultBlock | Json]


@record
class AssistantInputLine(Record):
    """Adds an answer to the history, without a turn."""

    type: Literal["assistant"] = "assistant"
    message: AssistantInput


@record
class AssistantInput(Record):
    """An earlier answer: text, or blocks in Anthropic's form."""

    content: str | list[Json]


# ---------------------------------------------------------------- commands


@record
class InterruptInputLine(Record):
    """Stop the turn; the process stays."""

    type: Literal["interrupt"] = "interrupt"


@record
class ToolApprovalLine(Record):
    """The answer to `approval_needed`. `input` replaces the call's input; `remember` (`session`, `project`, `user`)
    keeps a yes for what `rules` cover, without `rules` for the same call; `reason` is what the model reads of a
    denial."""

    type: Literal["tool_approval"] = "tool_approval"
    id: str
    approved: bool
    input: Json | None = ABSENT
    reason: str | None = ABSENT
    remember: str | None = ABSENT
    rules: list[str] | None = ABSENT


@record
class SetPermissionModeLine(Record):
    """Change the permission mode: `default`, `acceptEdits`, `plan`, `dontAsk`, `bypassPermissions`, `interactive`
    (every call asks), `auto` (as bypassPermissions), `deny` (no call runs)."""

    type: Literal["set_permission_mode"] = "set_permission_mode"
    mode: str


@record
class SetModelLine(Record):
    """Use another model from the next turn on."""

    type: Literal["set_model"] = "set_model"
    model: str


@record
class CompactLine(Record):
    """Compact the history now."""

    type: Literal["compact"] = "compact"


@record
class ClearLine(Record):
    """Start a new conversation."""

    type: Literal["clear"] = "clear"


@record
class PingLine(Record):
    """Answered with `pong` at once, also during a turn."""

    type: Literal["ping"] = "ping"


@record
class KeepAliveLine(Record):
    """No effect."""

    type: Literal["keep_alive"] = "keep_alive"


@record
class UpdateEnvironmentLine(Record):
    """No effect: the environment is read once, at the start."""

    type: Literal["update_environment_variables"] = "update_environment_variables"


# ---------------------------------------------------------------- the control protocol


@record
class ControlRequestLine(Record):
    """A request of the control protocol; answered with `control_response`, also during a turn. A request without
    `request_id` is answered without one."""

    type: Literal["control_request"] = "control_request"
    request_id: str | int | None = ABSENT
    request: ControlRequestBody


@record
class ControlResponseLine(Record):
    """The answer to a `control_request` of ours."""

    type: Literal["control_response"] = "control_response"
    response: HostSuccess | HostFailure


@record
class HostSuccess(Record):
    """The answer itself: its form depends on the question."""

    subtype: Literal["success"] = "success"
    request_id: str | int
    response: Json | None = ABSENT


@record
class HostFailure(Record):
    """The host cannot answer."""

    subtype: Literal["error"] = "error"
    request_id: str | int
    error: str | None = ABSENT


@record
class ControlCancelLine(Record):
    """Withdraws a `control_request` of the host."""

    type: Literal["control_cancel_request"] = "control_cancel_request"
    request_id: str | int


# ---------------------------------------------------------------- answers to our questions


@record
class AllowCall(Record):
    """The call may run. `updatedInput` replaces its input; `updatedPermissions` are rules, folders or a mode from the
    suggestions."""

    behavior: Literal["allow"] = "allow"
    updatedInput: Json | None = ABSENT
    updatedPermissions: list[Json] | None = ABSENT


@record
class DenyCall(Record):
    """The call does not run; the model reads `message`. `interrupt` true stops the turn."""

    behavior: Literal["deny"] = "deny"
    message: str | None = ABSENT
    interrupt: bool | None = ABSENT


@record
class HookOutput(Record):
    """What a hook of the host decided; {} = no opinion. The fields are those of the Claude CLI's hooks."""


@record
class McpReply(Record):
    """The reply of an MCP server in the host's process."""

    mcp_response: Json


@record
class ElicitationReply(Record):
    """What the user answered; `content` has the fields of `requested_schema`."""

    action: Literal["accept", "decline", "cancel"]
    content: Json | None = ABSENT


@record
class TrustReply(Record):
    """Whether what the question lists may start."""

    trusted: bool


@record
class PermitReply(Record):
    """The request may be sent."""
