"""Reads the times and counts of lines; what is not one is left out."""

from __future__ import annotations

from yume_shim.pages.document import Tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LATEST = 253_402_300_799.0
"""The end of the year 9999."""


def seconds_of(stamp: object) -> float | None:
    """Seconds since the epoch of an ISO time; None if it is none."""
    if not isinstance(stamp, str) or len(stamp) > 40:
        return None
    from datetime import UTC, datetime

    try:
        found = datetime.fromisoformat(stamp)
        at = (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return at if 0 <= at <= LATEST else None


def count(found: Any) -> int:
    """A counter: not negative, 0 for anything else."""
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 1 << 53 else 0


def money(found: Any) -> float | None:
    """An amount in USD; None if it is none."""
    if isinstance(found, (int, float)) and not isinstance(found, bool) and 0 <= found < 1e12:
        return float(found)
    return None


def tokens_of(usage: Any) -> Tokens:
    """The figures of an answer, as the Messages API counts them."""
    if not isinstance(usage, dict):
        return Tokens()
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return Tokens(*(count(usage.get(name)) for name in names))
