"""Long sessions: from spawn to the request, by the number of turns that are resumed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import bench_resume

TURNS = (0, 10, 100, 1_000, 10_000)


def resume_figures(runs: int, turns: tuple[int, ...] = TURNS) -> dict[str, float]:
    """Milliseconds of a fresh start, and the ratios of the others to it. Sizes take turns."""
    best: dict[int, float] = dict.fromkeys(turns, 1e9)
    for _ in range(runs):
        for count in turns:
            with tempfile.TemporaryDirectory(prefix="yume-bench-") as folder:
                best[count] = min(best[count], bench_resume.one_start(Path(folder), count, tools=True)[0])
    fresh = best[turns[0]]
    figures = {"fresh start → request, ms": fresh * 1e3}
    return figures | {f"resume of {count:,} turns, to a fresh start": best[count] / fresh for count in turns[1:]}
