"""Reads rate limits from the headers of a response, and says when they have changed enough to be reported. Pure.

Header families are data: three headers per limit (limit, remaining, reset) under a pattern; besides, the shares of
Anthropic's subscriptions. A family is recognised by its headers alone: no vendor is named anywhere else.
"""

from __future__ import annotations

from yume_shim.text.late_pattern import late_pattern
from yume_shim.types.rate_limits import RateLimit
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from re import Pattern

    from yume_shim.types.rate_limits import LimitStatus

MARK = "ratelimit"
"""Part of the name of every header that is read here."""
WARNING_SHARE = 0.8
"""From this share on a limit is `allowed_warning`."""
WORTH_A_LINE = 0.05
"""A limit is reported again when its used share has changed by so much."""
MAX_LIMITS = 16
"""Limits of one response that are read."""
MAX_FIGURE = 10**12
"""A larger limit means that there is none."""
MILLISECONDS_FROM = 10**11
"""A larger time since 1970 is in milliseconds."""

_DURATION = late_pattern(r"(\d{1,18}(?:\.\d{1,18})?)(ms|s|m|h|d)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_CLAIMS = {"5h": "five_hour", "7d": "seven_day", "7d_opus": "seven_day_opus", "7d_sonnet": "seven_day_sonnet"}
"""Windows of Anthropic's subscriptions: name in headers -> name in lines."""


class Family(Value):
    """One way to name the three headers of a limit; `pattern` has the groups `part` and `kind` (may be missing)."""

    pattern: Pattern[str]
    reset: Callable[[str], tuple[float | None, float | None]]
    """The text of a reset -> (seconds since 1970, seconds from now)."""


def _date(text: str) -> tuple[float | None, float | None]:
    """`2026-11-18T09:00:00Z`."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(text).timestamp(), None
    except (ValueError, OverflowError):
        return None, None


def _duration(text: str) -> tuple[float | None, float | None]:
    """`12ms`, `6m0s`, a number of seconds, or a time since 1970 in seconds or milliseconds."""
    number = _number(text)
    if number is None:
        found = _DURATION.findall(text)
        whole = "".join(size + unit for size, unit in found) == text
        return None, sum(float(size) * _UNITS[unit] for size, unit in found) if found and whole else None
    if number > MILLISECONDS_FROM:
        return number / 1_000, None
    return (number, None) if number > MAX_FIGURE / 1_000 else (None, number)


FAMILIES = (
    Family(
        late_pattern(
            r"anthropic-ratelimit-(?P<kind>requests|tokens|input-tokens|output-tokens)-(?P<part>limit|remaining|reset)"
        ),
        _date,
    ),
    Family(late_pattern(r"x-ratelimit-(?P<part>limit|remaining|reset)(?:-(?P<kind>[a-z-]{1,40}))?"), _duration),
)
"""Anthropic; OpenAI, Groq and others (`x-ratelimit-remaining-tokens`), OpenRouter (`x-ratelimit-remaining`)."""


def read_limits(headers: Mapping[str, str], *, refused: bool = False) -> tuple[RateLimit, ...]:
    """The limits in these headers (names in lower case), the most used one first. `refused`: the response is a 429."""
    found: dict[str, dict[str, str]] = {}
    resets: dict[str, Family] = {}
    shares: dict[str, str] = {}
    for name, text in headers.items():
        if MARK not in name:
            continue
        if name.startswith("anthropic-ratelimit-unified-"):
            shares[name.removeprefix("anthropic-ratelimit-unified-")] = text.strip()
            continue
        for family in FAMILIES:
            match = family.pattern.fullmatch(name)
            if match is not None:
                kind = (match["kind"] or "requests").replace("-", "_")
                found.setdefault(kind, {})[match["part"]] = text.strip()
                resets[kind] = family
    limits = [_counted(kind, parts, resets[kind], refused) for kind, parts in found.items()]
    told = [each for each in (*_shared(shares), *limits) if each is not None]
    return tuple(sorted(told, key=lambda each: -(each.used or 0.0))[:MAX_LIMITS])


def _counted(kind: str, parts: Mapping[str, str], family: Family, refused: bool) -> RateLimit | None:
    limit, remaining = _number(parts.get("limit", "")), _number(parts.get("remaining", ""))
    if limit is None or remaining is None or not 0 < limit < MAX_FIGURE:
        return None
    remaining = max(0.0, min(remaining, limit))
    used = round(1 - remaining / limit, 4)
    status: LimitStatus = "allowed_warning" if used >= WARNING_SHARE else "allowed"
    if refused and not remaining:
        status = "rejected"
    at, seconds = family.reset(parts.get("reset", ""))
    return RateLimit(kind, status, int(limit), int(remaining), used, at, seconds)


def _shared(shares: Mapping[str, str]) -> Iterable[RateLimit]:
    """The windows of a subscription. The overall status belongs to the window that the provider names."""
    claim, overall = shares.get("representative-claim", ""), shares.get("status", "")
    overage = shares.get("overage-in-use") == "true"
    seen = False
    for short, kind in _CLAIMS.items():
        used = _number(shares.get(f"{short}-utilization", ""))
        told = shares.get(f"{short}-status", "") or (overall if kind == claim else "")
        if used is None and not told:
            continue
        seen = seen or kind == claim
        reset = _number(shares.get(f"{short}-reset", ""))
        yield RateLimit(kind, _status(told, used), None, None, used, reset, None, overage)
    if overall and not seen:
        reset = _number(shares.get("reset", ""))
        yield RateLimit(claim or "unified", _status(overall, None), None, None, None, reset, None, overage)


def _status(told: str, used: float | None) -> LimitStatus:
    if told == "rejected":
        return "rejected"
    return "allowed_warning" if told == "allowed_warning" or (used or 0.0) >= WARNING_SHARE else "allowed"


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


class LimitMeter:
    """Remembers what was reported of each limit. One per provider; used by the thread of a request."""

    def __init__(self) -> None:
        self._reported: dict[str, tuple[str, float]] = {}

    def worth_a_line(self, limits: tuple[RateLimit, ...]) -> bool:
        """Has a limit appeared, changed its status, or been used by a good part more or less?"""
        changed = False
        for each in limits:
            now = (each.status, each.used or 0.0)
            before = self._reported.get(each.kind)
            if before is None or before[0] != now[0] or round(abs(before[1] - now[1]), 4) >= WORTH_A_LINE:
                changed = True
        if changed:
            self._reported = {each.kind: (each.status, each.used or 0.0) for each in limits}
        return changed
