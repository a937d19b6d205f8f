"""The measurements: start, events, latency. Programs take turns: a busy moment of the machine hits all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_parts.extensions import bare_name
from bench_parts.runs import one_run, prompt

if TYPE_CHECKING:
    from bench_parts.programs import Program
    from bench_parts.runs import Run

SHORT, MANY, PACED = 20, 20_000, 100
"""Deltas of a short turn, of a long one, and of the one that is sent slowly to measure latency."""

Figures = dict[str, dict[str, float]]
"""Program → figure → value."""


def start_figures(programs: list[Program], url: str, runs: int) -> Figures:
    """First line, first delta, CPU and memory of a short turn."""
    taken: dict[str, list[Run]] = {program.name: [] for program in programs}
    for _ in range(runs):
        for program in programs:
            taken[program.name].append(one_run(program, url, prompt(SHORT)))
    return {
        name: {
            "spawn → first line, ms": min(run.first_line for run in each) * 1e3,
            "spawn → first delta, ms": min(run.first_delta for run in each) * 1e3,
            "CPU of a short turn, ms": min(run.cpu for run in each) * 1e3,
            "peak memory, short turn, MB": min(run.memory_mb for run in each),
        }
        for name, each in taken.items()
    }


def event_figures(programs: list[Program], url: str, how: str, runs: int, deltas: int = MANY) -> Figures:
    """CPU and wall time per event, and the memory of a long answer."""
    long: dict[str, list[Run]] = {program.name: [] for program in programs}
    short: dict[str, list[Run]] = {program.name: [] for program in programs}
    for _ in range(runs):
        for program in programs:
            short[program.name].append(one_run(program, url, prompt(SHORT)))
            long[program.name].append(one_run(program, url, prompt(deltas, how)))
    found: Figures = {}
    for name, each in long.items():
        base = min(run.cpu for run in short[name])
        wall = min(map(_answering, each)) - min(map(_answering, short[name]))
        found[name] = {
            f"CPU per event ({how}), µs": (min(run.cpu for run in each) - base) / (deltas - SHORT) * 1e6,
            f"wall per event ({how}), µs": max(0.0, wall) / (deltas - SHORT) * 1e6,
            f"peak memory, {deltas:,} deltas, MB": min(run.memory_mb for run in each),
        }
    return found


def _answering(run: Run) -> float:
    """Seconds from the first piece of the answer to the end."""
    return run.ended - run.first_delta


def latency_figures(programs: list[Program], url: str) -> Figures:
    """From a chunk that leaves the server to its line, one chunk every 10 ms."""
    found: Figures = {}
    for program in programs:
        late = sorted(one_run(program, url, prompt(PACED, "paced")).latencies)
        if late:
            found[program.name] = {
                "chunk → line, p50, ms": late[len(late) // 2] * 1e3,
                "chunk → line, p99, ms": late[len(late) * 99 // 100] * 1e3,
            }
    return found


def extension_figures(programs: list[Program], url: str, runs: int) -> Figures:
    """A short turn of each program without and with extensions: the rows are named so."""
    found: Figures = {}
    for name, values in start_figures(programs, url, runs).items():
        bare = bare_name(name)
        words = "with extensions" if bare != name else "same run, without extensions"
        rows = {f"{row.rpartition(', ')[0]}, {words}, {row.rpartition(', ')[2]}": item for row, item in values.items()}
        found.setdefault(bare, {}).update(rows)
    return found


def joined(parts: list[Figures]) -> Figures:
    """All figures of each program."""
    whole: Figures = {}
    for part in parts:
        for name, values in part.items():
            whole.setdefault(name, {}).update(values)
    return whole
