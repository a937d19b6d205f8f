"""One start of a program, watched to its end: times, CPU, memory, the way of a chunk to its line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from _progress import Progress

from bench_parts.programs import environment
from bench_parts.upstream import MARK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_parts.programs import Program

DEADLINE = 180.0
READ_BYTES = 1 << 20
SMALL, LOOK_S = 4_096, 0.01
"""The memory is looked at after small reads and after pauses: among them are the last lines."""
PROGRESS = Progress("bench")
_SENT = re.compile(rb"@(\d+)@")


@dataclass
class Run:
    """Seconds from the start to the first line, the first piece of the answer and the end; CPU seconds; peak memory."""

    first_line: float = 0.0
    first_delta: float = 0.0
    ended: float = 0.0
    cpu: float = 0.0
    memory_mb: float = 0.0
    latencies: list[float] = field(default_factory=list)
    """Seconds from a chunk to its line."""


@contextmanager
def upstream(*counts: int) -> Iterator[str]:
    """A server process that has answers of so many deltas ready; its address."""
    argv = [sys.executable, str(Path(__file__).with_name("upstream.py")), *map(str, counts)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.kill()


def prompt(deltas: int, how: str = "burst") -> str:
    """What makes the server answer so."""
    return f"deltas={deltas} how={how}"


def one_run(program: Program, url: str, asked: str) -> Run:
    """Start a program on a prompt and watch it to its end."""
    PROGRESS.step(program.name)
    with tempfile.TemporaryDirectory(prefix="yume-bench-") as folder:
        home = Path(folder)
        start = program.start(asked, url, home)
        begun = time.monotonic()
        child = subprocess.Popen(
            start.argv,
            cwd=home,
            env=environment(home, start.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        guard = threading.Timer(DEADLINE, child.kill)
        guard.start()
        try:
            run = _watch(child, begun)
        finally:
            guard.cancel()
        program.after(home)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if not run.first_delta:
        raise SystemExit(f"{program.name} showed no answer (exit code {child.returncode}): {' '.join(start.argv)}")
    run.cpu = usage.ru_utime + usage.ru_stime
    run.memory_mb = run.memory_mb or usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return run


def _watch(child: subprocess.Popen[bytes], begun: float) -> Run:
    """Read in large pieces: a host that is slower than the program would be measured in its place."""
    run = Run()
    assert child.stdout is not None
    mark, rest = MARK.encode(), b""
    while data := os.read(child.stdout.fileno(), READ_BYTES):
        now = time.monotonic()
        if len(data) < SMALL or now - begun - run.ended > LOOK_S:
            run.memory_mb = _peak_mb(child.pid) or run.memory_mb
        run.ended = now - begun
        if not run.first_line and b"\n" in data:
            run.first_line = now - begun
        if not run.first_delta or b"@" in data:
            whole = rest + data
            rest = whole[whole.rfind(b"\n") + 1 :]
            lines = [line for line in whole.split(b"\n") if _is_piece(line)]
            sent = [int(found[1]) / 1e9 for line in lines if (found := _SENT.search(line))]
            run.latencies += [now - at for at in sent]
            if not run.first_delta and (sent or mark in whole):
                run.first_delta = now - begun
    child.stdout.close()
    return run


def _peak_mb(pid: int) -> float:
    """Linux: the peak so far. (`ru_maxrss` is never below the memory of the process that started it.)"""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+)", text)
    return int(found[1]) / 1024 if found else 0.0


def _is_piece(line: bytes) -> bool:
    """Is it a line with one piece? The whole answer repeats them all."""
    return line.count(b"@") == 2
