"""Long sessions: from spawn to the request, by the number of turns that are resumed; many calls in one turn."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import bench_resume

from bench_parts.runs import one_run, prompt
from bench_parts.upstream import CALLED

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_parts.programs import Program, Start

TURNS = (0, 10, 100, 1_000, 10_000)
SEVERAL, MANY = 500, 2_000
"""Calls of one turn, one after the other."""


def resume_figures(runs: int, turns: tuple[int, ...] = TURNS) -> dict[str, float]:
    """Milliseconds of a fresh start, and the ratios of the others to it: of the first resume, which makes the
    checkpoint, and of the next one. Sizes take turns."""
    best: dict[int, tuple[float, float]] = dict.fromkeys(turns, (1e9, 1e9))
    for _ in range(runs):
        for count in turns:
            with tempfile.TemporaryDirectory(prefix="yume-bench-") as folder:
                first, later, _ = bench_resume.starts(Path(folder), count, tools=True)
                best[count] = min(best[count][0], first), min(best[count][1], later)
    fresh = best[turns[0]][0]
    figures = {"fresh start → request, ms": fresh * 1e3}
    for count in turns[1:]:
        figures[f"first resume of {count:,} turns, to a fresh start"] = best[count][0] / fresh
        figures[f"resume of {count:,} turns, to a fresh start"] = best[count][1] / fresh
    return figures


def call_figures(program: Program, url: str, counts: tuple[int, ...] = (SEVERAL,)) -> dict[str, float]:
    """CPU of each call in turns of so many calls: each request repeats all calls before it."""
    program = program._replace(start=_with_file(program))
    once = one_run(program, url, prompt(1, "calls")).cpu
    found: dict[str, float] = {}
    for count in counts:
        run = one_run(program, url, prompt(count, "calls"))
        found[f"{program.name}: CPU per call, {count:,} calls in one turn, ms"] = (run.cpu - once) / count * 1e3
        found[f"{program.name}: peak memory, {count:,} calls in one turn, MB"] = run.memory_mb
    return found


def _with_file(program: Program) -> Callable[[str, str, Path], Start]:
    def start(asked: str, url: str, home: Path) -> Start:
        (home / CALLED).write_text("A line of the file that is read.\n" * 20)
        return program.start(asked, url, home)

    return start
