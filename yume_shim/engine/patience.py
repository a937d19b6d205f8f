"""How long a failed request is waited for: the plan of a retry, and the signs of life of `--retry-forever`."""

from __future__ import annotations

from yume_shim.engine.retry import plan_patient_retry, plan_retry
from yume_shim.types.events import Retrying

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.errors import Failure
    from yume_shim.types.models import Backoff
    from yume_shim.types.ports import Emit

PATIENT_KINDS = ("rate_limit", "overloaded")
"""What `--retry-forever` waits for the end of."""
SIGN_OF_LIFE_S = 30.0
"""Between lines about one long wait of `--retry-forever`."""


class Patience:
    """The wait before one retry. `forever`: the run has `--retry-forever`, and no other model can take over."""

    def __init__(self, failure: Failure, done: int, backoff: Backoff, jitter: float, *, forever: bool) -> None:
        self._failure = failure
        patient = forever and failure.kind in PATIENT_KINDS
        wait = plan_patient_retry(failure, done, backoff, jitter) if patient else None
        self.patient = wait is not None
        self.wait = plan_retry(failure, done, backoff, jitter) if wait is None else wait
        self.most = 0 if self.patient else backoff.retries

    def spend(self, attempt: int, emit: Emit, pause: Callable[[float], None]) -> None:
        """Announce the wait, and wait."""
        left = self.wait or 0.0
        emit(Retrying(self._failure, attempt, self.most, round(left * 1000)))
        while self.patient and left > SIGN_OF_LIFE_S:
            pause(SIGN_OF_LIFE_S)
            left -= SIGN_OF_LIFE_S
            emit(Retrying(self._failure, attempt, self.most, round(left * 1000)))
        if left:
            pause(left)
