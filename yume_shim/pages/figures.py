"""Numbers, times and amounts as people read them."""

from __future__ import annotations

import time

MINUTE, HOUR, DAY = 60, 3600, 86_400


def duration(milliseconds: float) -> str:
    """`340 ms`, `1.2 s`, `3 min 5 s`, `2 h 4 min`."""
    seconds = milliseconds / 1000
    if seconds < 1:
        return f"{round(milliseconds)} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s" if whole % MINUTE else f"{whole // MINUTE} min"
    if whole < 2 * DAY:
        return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"
    return f"{whole // DAY} days"


def amount(usd: float) -> str:
    """An amount in USD, with as many digits as it needs."""
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.3f}" if usd >= 0.01 else "$0" if usd == 0 else f"${usd:.5f}"


def short(number: int) -> str:
    """`950`, `12.3k`, `4.5M`."""
    if number < 1000:
        return str(number)
    if number < 1_000_000:
        return f"{number / 1000:.1f}k" if number < 100_000 else f"{number // 1000}k"
    return f"{number / 1_000_000:.1f}M"


def plural(number: int, word: str) -> str:
    """`1 line`, `14 lines`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def stamp(at: float) -> str:
    """An ISO time in UTC, which scripts and machines read."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def day_and_time(at: float) -> str:
    """`2026-01-02 03:04`."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(at))


def clock(at: float) -> str:
    """`03:04:05`."""
    return time.strftime("%H:%M:%S", time.gmtime(at))
