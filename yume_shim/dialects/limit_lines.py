"""The lines about rate limits, in both dialects. Loaded with the first report."""

from __future__ import annotations

from yume_shim.dialects.records.flat_records import RateLimitsLine
from yume_shim.dialects.records.nested_records import RateLimitInfo, RateLimitLine
from yume_shim.dialects.records.shared_records import Limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import LimitsReported
    from yume_shim.types.rate_limits import RateLimit


def flat_limits_line(event: LimitsReported, at: float) -> Json:
    """`system/rate_limits`; `at` is the time of the report in seconds."""
    return RateLimitsLine(limits=[_limit(each, at) for each in event.limits])


def nested_limits_line(event: LimitsReported, at: float, session: str, uuid: str) -> Json:
    """`rate_limit_event`."""
    first = event.limits[0]
    info = RateLimitInfo(
        status=first.status,
        resetsAt=_resets_at(first, at),
        rateLimitType=first.kind,
        utilization=first.used,
        isUsingOverage=first.overage,
    )
    limits = [_limit(each, at) for each in event.limits]
    return RateLimitLine(rate_limit_info=info, limits=limits, uuid=uuid, session_id=session)


def _limit(each: RateLimit, at: float) -> Limit:
    return Limit(
        kind=each.kind,
        status=each.status,
        limit=each.limit,
        remaining=each.remaining,
        utilization=each.used,
        resets_at=_resets_at(each, at),
    )


def _resets_at(each: RateLimit, at: float) -> int | None:
    if each.resets_at is not None:
        return round(each.resets_at)
    return None if each.resets_in is None else round(at + each.resets_in)
