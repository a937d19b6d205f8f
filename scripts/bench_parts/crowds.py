"""Many at once: 50 programs that wait, 50 that stream, 200 short turns by `xargs -P`."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from bench_parts.programs import environment, ours
from bench_parts.runs import one_run, prompt

if TYPE_CHECKING:
    from bench_parts.programs import Program

IDLE = STREAMING = 50
SHORT_TURNS, AT_ONCE = 200, 8
STREAMED = 2_000
IDLE_MB = 30.0
"""What each of the idle ones may take."""
SETTLE_S = 20.0


def idle_figures() -> dict[str, float]:
    """Programs that have printed their first line and wait for a prompt."""
    program = ours("anthropic", "flat")
    with tempfile.TemporaryDirectory(prefix="yume-bench-") as folder, ExitStack() as stack:
        home = Path(folder)
        start = program.start("", "http://127.0.0.1:9", home)
        argv = [word for word in start.argv if word not in ("-p", "")]
        waiting = []
        for _ in range(IDLE):
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            child = subprocess.Popen(argv, cwd=home, env=environment(home, start.env), **pipes)  # type: ignore[call-overload]
            stack.callback(child.kill)
            waiting.append(child)
        for child in waiting:
            child.stdout.readline()
        time.sleep(1.0)
        memory = [_proportional_mb(child.pid) for child in waiting]
        before = sum(_cpu_of(child.pid) for child in waiting)
        time.sleep(2.0)
        spent = sum(_cpu_of(child.pid) for child in waiting) - before
        for child in waiting:
            child.stdin.close()
            child.wait(SETTLE_S)
    return {
        f"{IDLE} idle: memory of all, MB": sum(memory),
        f"{IDLE} idle: memory of the largest, MB (limit {IDLE_MB:.0f})": max(memory),
        f"{IDLE} idle: CPU of all per second, ms": spent / 2 * 1e3,
    }


def streaming_figures(program: Program, url: str, count: int = STREAMING) -> dict[str, float]:
    """As many programs at once, each with a long answer."""
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with ThreadPoolExecutor(count) as pool:
        runs = list(pool.map(lambda _: one_run(program, url, prompt(STREAMED)), range(count)))
    took, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    ends = sorted(run.ended for run in runs)
    name = f"{count} streaming"
    return {
        f"{name}: all done after, s": took,
        f"{name}: CPU of all, s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        f"{name}: memory of all, MB": sum(run.memory_mb for run in runs),
        f"{name}: slowest to median": ends[-1] / statistics.median(ends),
    }


def xargs_figures(url: str) -> dict[str, float]:
    """Short turns, as a shell script starts them."""
    program = ours("anthropic", "stream-json")
    with tempfile.TemporaryDirectory(prefix="yume-bench-") as folder:
        home = Path(folder)
        start = program.start(prompt(20), url, home)
        begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            ["xargs", "-P", str(AT_ONCE), "-I", "{}", *start.argv],
            input="\n".join(map(str, range(SHORT_TURNS))).encode(),
            cwd=home,
            env=environment(home, start.env),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        took, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    results = done.stdout.count(b'"type":"result"')
    if results != SHORT_TURNS:
        raise SystemExit(f"xargs: {results} of {SHORT_TURNS} turns ended with a result")
    return {
        f"{SHORT_TURNS} turns, {AT_ONCE} at once: seconds": took,
        f"{SHORT_TURNS} turns: CPU of all, s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    }


def _proportional_mb(pid: int) -> float:
    """Memory with what is shared counted in parts; where that is unknown, resident memory."""
    for name, word in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        try:
            for line in Path(f"/proc/{pid}/{name}").read_text().splitlines():
                if line.startswith(word):
                    return int(line.split()[1]) / 1024
        except OSError:
            continue
    return 0.0


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
