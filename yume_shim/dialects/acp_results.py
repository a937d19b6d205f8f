"""How a turn ends in the Agent Client Protocol: the answer to `session/prompt`. Pure."""

from __future__ import annotations

from yume_shim.dialects.plain import closing_text
from yume_shim.dialects.records.acp_records import PromptAnswer, PromptFailure

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
            return cancelled()
        case "max_turns":
            return PromptAnswer(stopReason="max_turn_requests")
        case "success" if event.stop_reason == "max_tokens":
            return PromptAnswer(stopReason="max_tokens")
        case "success" if event.stop_reason == "refusal":
            return PromptAnswer(stopReason="refusal")
        case "success" | "hook_stopped" | "stop_prevented" | "prompt_blocked":
            return PromptAnswer(stopReason="end_turn")
        case _:
            return None


def cancelled() -> Json:
    """The result of a prompt that was stopped, also of one that never started."""
    return PromptAnswer(stopReason="cancelled")


def prompt_error(event: TurnEnded) -> tuple[int, str, Json]:
    """(code, message, data) of a turn that failed."""
    failure = event.failure
    code = AUTH_REQUIRED if event.outcome == "auth_error" else FAILED
    if failure is None:
        return code, closing_text(event), PromptFailure(outcome=event.outcome)
    data = PromptFailure(outcome=event.outcome, code=failure.kind, retryable=failure.retryable, status=failure.status)
    return code, failure.message, data
