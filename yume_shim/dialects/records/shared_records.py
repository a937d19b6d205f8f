"""Records that both JSON dialects use."""

from __future__ import annotations

from yume_shim.types.record import ABSENT, Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.types.blocks import Json

    ErrorCategory = Literal[
        "authentication_failed",
        "billing_error",
        "rate_limit",
        "invalid_request",
        "model_not_found",
        "server_error",
        "unknown",
    ]
    """The Claude CLI's names for failures of a provider."""
    FailureSubtype = Literal[
        "error_during_execution", "error_max_turns", "error_max_budget_usd", "error_max_structured_output_retries"
    ]
    """`subtype` of a Claude `result` that has no text."""
    FlatSubtype = Literal[
        "success",
        "cancelled",
        "error_max_turns",
        "error_max_budget_usd",
        "error_provider",
        "error_auth",
        "error_during_execution",
        "error_max_structured_output_retries",
    ]
    """`subtype` of a flat `result`."""


@record
class Pong(Record):
    """Answers a `ping` of the host."""

    type: Literal["pong"] = "pong"


@record
class Limit(Record):
    """One rate limit. `kind`: what is counted (`requests`, `tokens`, `five_hour` …). `utilization` is the used share, 0
    to 1; `resets_at` in seconds since 1970."""

    kind: str
    status: Literal["allowed", "allowed_warning", "rejected"]
    limit: int | None = ABSENT
    remaining: int | None = ABSENT
    utilization: float | None = ABSENT
    resets_at: int | None = ABSENT


@record
class Origin(Record):
    """Why a turn began without a prompt of the host: the task `task_id` has ended."""

    kind: Literal["task-notification"] = "task-notification"
    producer: Literal["session-task"] = "session-task"
    runId: str
    task_id: str


@record
class LeftOut(Record):
    """Something that is configured and not used: hooks of an event, an MCP server, a key of a settings file. `source`
    is the settings layer. Reasons: the folder is not trusted; the host is being asked; managed settings forbid it."""

    kind: Literal["hooks", "mcp_server", "setting"]
    name: str
    source: str
    reason: Literal["untrusted", "asking", "managed"]


@record
class ControlResponse(Record):
    """Answers a control request of the host."""

    type: Literal["control_response"] = "control_response"
    response: ControlSuccess | ControlFailure


@record
class ControlSuccess(Record):
    """The request was carried out. `request_id` is left out when the request had none, `response` when there is
    nothing to report."""

    subtype: Literal["success"] = "success"
    request_id: str | None = ABSENT
    response: Json | None = ABSENT


@record
class ControlFailure(Record):
    """The request was refused, or failed."""

    subtype: Literal["error"] = "error"
    request_id: str | None = ABSENT
    error: str
    error_code: str | None = ABSENT


def echo(line: Json) -> Json:
    """A line of the host, printed back with `type` as its first key."""
    return {"type": line.get("type"), **{key: item for key, item in line.items() if key != "type"}}
