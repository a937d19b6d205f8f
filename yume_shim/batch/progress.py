"""What stderr shows while a batch runs: a line that is redrawn on a terminal, plain lines otherwise; then a summary."""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.batch.coordinator import Counts

LINE_S = 10.0
"""Seconds between two plain lines."""
DRAW_S = 0.2
SHOWN_PAUSE_S = 2.0
"""Shorter waits that a provider asks for are not worth a mention."""
BAR = 24
COLUMNS = 80
STOPPED = {
    "interrupted": "stopped by a signal",
    "budget": "the budget is used up",
    "deadline": "the deadline has passed",
    "out": "OUT cannot be written",
}


class Progress:
    """Shows counts. `write` gets text for stderr, `width` are the columns of a terminal."""

    def __init__(self, write: Callable[[str], None], *, terminal: bool, width: Callable[[], int] | None = None) -> None:
        self._write, self._terminal, self._width = write, terminal, width or columns
        self._next = 0.0

    def show(self, counts: Counts) -> None:
        """Called often; shows something when it is time."""
        now = time.monotonic()
        if now < self._next:
            return
        first, self._next = not self._next, now + (DRAW_S if self._terminal else LINE_S)
        if self._terminal:
            self._write(f"\r\x1b[K{drawn(counts, self._width())}")
        elif not first:
            self._write(line(counts) + "\n")

    def finish(self, counts: Counts) -> None:
        """The summary."""
        self._write(("\r\x1b[K" if self._terminal else "") + summary(counts))


def line(counts: Counts) -> str:
    """The progress of the run, in one line."""
    parts = [f"{counts.done + counts.resumed} of {counts.total}"]
    failed = sum(counts.failed.values())
    if failed:
        parts.append(f"{failed} failed ({causes(counts.failed)})")
    parts += [f"{counts.running} running", f"{tokens(counts.tokens)} tokens", money(counts)]
    parts += [
        f"{name} wants a wait of {duration(seconds)}" for name, seconds in counts.pauses if seconds >= SHOWN_PAUSE_S
    ]
    left = counts.total - counts.resumed - counts.done
    if counts.done and left:
        parts.append(f"{duration(counts.seconds / counts.done * left)} left")
    return ", ".join(parts)


def drawn(counts: Counts, width: int) -> str:
    """The bar and the line, without the bar where both do not fit; a line that wraps could not be drawn again."""
    text = line(counts)
    if len(text) + BAR + 1 < width:
        return f"{bar(counts)} {text}"
    return text[: max(0, width - 1)]


def columns() -> int:
    """The width of the terminal."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or COLUMNS
    except OSError:
        return COLUMNS


def bar(counts: Counts) -> str:
    """A bar of fixed width."""
    full = BAR * (counts.done + counts.resumed) // max(1, counts.total)
    return "█" * full + "░" * (BAR - full)


def summary(counts: Counts) -> str:
    """The table at the end."""
    failed = sum(counts.failed.values())
    left = counts.total - counts.resumed - counts.done
    rows = [("tasks", str(counts.total))]
    if counts.resumed:
        rows.append(("finished earlier", str(counts.resumed)))
    rows.append(("succeeded", str(counts.done - failed)))
    if failed:
        rows.append(("failed", f"{failed} ({causes(counts.failed)})"))
    if counts.problems:
        rows.append(("to look at", causes(counts.problems)))
    if left:
        rows.append(("not finished", f"{left} ({STOPPED.get(counts.stopped, 'see above')}; --resume continues)"))
    rows += [("tokens", f"{counts.tokens:,}"), ("cost", money(counts)), ("time", duration(counts.seconds))]
    wide = max(len(name) for name, _ in rows)
    return "".join(f"{name:<{wide}}  {text}\n" for name, text in rows)


def causes(counts: dict[str, int]) -> str:
    """`rate_limit 2, auth 1`, the most frequent first."""
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def tokens(count: int) -> str:
    """A rounded number."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)


def money(counts: Counts) -> str:
    """What was spent, as far as prices are known."""
    return f"${counts.cost_usd:.4f}" + (" and unknown prices" if counts.cost_unknown else "")


def duration(seconds: float) -> str:
    """`1h 02m`, `3m 10s`, `12s`."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    return f"{whole // 60}m {whole % 60:02d}s" if whole >= 60 else f"{whole}s"


def to_stderr(text: str) -> None:
    """Write at once; a reader that is gone stops nothing."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        pass
