"""Rate limits that a provider tells with its answers."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    LimitStatus = Literal["allowed", "allowed_warning", "rejected"]


class RateLimit(Value):
    """One limit. `kind` says what is counted (`requests`, `tokens`, `five_hour` …). `used` is the used share, 0 to 1;
    None = not reported. The limit starts anew at `resets_at` (seconds since 1970), or `resets_in` seconds from now."""

    kind: str
    status: LimitStatus
    limit: int | None = None
    remaining: int | None = None
    used: float | None = None
    resets_at: float | None = None
    resets_in: float | None = None
    overage: bool = False
    """More than the plan includes is being used."""
