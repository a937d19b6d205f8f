"""Whether a failed request is sent again, and after how long. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.errors import Failure
    from yume_shim.types.models import Backoff


def plan_retry(failure: Failure, done: int, backoff: Backoff, jitter: float) -> float | None:
    """Seconds to wait before retry number `done` + 1, or None to give up. `jitter` is a number in [-1, 1].

    A server's own retry-after wins and is never shortened; if it is above the cap, the request is not retried.
    """
    if not failure.retryable or done >= backoff.retries:
        return None
    if failure.retry_after_ms is not None:
        asked = failure.retry_after_ms / 1000
        return None if asked > backoff.cap else asked
    # the exponent is bounded: beyond 2**32 every wait is over every cap, and a float would overflow
    wait = min(backoff.initial * backoff.multiplier ** min(done, 32), backoff.cap)
    return max(0.0, wait * (1 + jitter * backoff.jitter))


def plan_patient_retry(failure: Failure, done: int, backoff: Backoff, jitter: float) -> float | None:
    """The same without a last retry (`--retry-forever`): also a server's longer wait is obeyed."""
    if failure.retry_after_ms is not None:
        return failure.retry_after_ms / 1000
    return plan_retry(failure, min(done, backoff.retries - 1), backoff, jitter) if backoff.retries else backoff.cap
