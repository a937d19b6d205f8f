"""The transcript line of a failed request that is sent again, as the Claude CLI writes it. It is not part of the
conversation: nothing follows it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import Retrying

MAX_MESSAGE = 2_000


def retry_line(event: Retrying, line: Json) -> Json:
    """Complete the common part of a line."""
    failure = event.failure
    error: Json = {"type": failure.provider_code or str(failure.kind), "message": failure.message[:MAX_MESSAGE]}
    return line | {
        "subtype": "api_error",
        "level": "error",
        "error": {"status": failure.status, "error": {"type": "error", "error": error}},
        "retryInMs": event.wait_ms,
        "retryAttempt": event.attempt,
        "maxRetries": event.max_retries,
    }
