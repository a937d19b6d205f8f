"""How a turn ends in the Agent Client Protocol: the answer to `session/prompt`. Pure."""

from __future__ import annotations

from yume_shim.dialects.plain import closing_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import TurnEnded

AUTH_REQUIRED = -32000
FAILED = -32603


def prompt_result(event: TurnEnded) -> Json | None:
    """The result of a turn; None if the answer is an error."""
    match event.outcome:
        case "cancelled":
            reason = "cancelled"
        case "max_turns":
            reason = "max_turn_requests"
        case "success" if event.stop_reason == "max_tokens":
            reason = "max_tokens"
        case "success" if event.stop_reason == "refusal":
            reason = "refusal"
        case "success" | "hook_stopped" | "stop_prevented" | "prompt_blocked":
            reason = "end_turn"
        case _:
            return None
    return {"stopReason": reason}


def prompt_error(event: TurnEnded) -> tuple[int, str, Json]:
    """(code, message, data) of a turn that failed."""
    failure = event.failure
    data: Json = {"outcome": event.outcome}
    if failure is not None:
        data |= {"code": failure.kind, "retryable": failure.retryable}
        if failure.status is not None:
            data["status"] = failure.status
    message = failure.message if failure is not None else closing_text(event)
    return AUTH_REQUIRED if event.outcome == "auth_error" else FAILED, message, data
