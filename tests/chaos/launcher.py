"""Starts the program many times at little cost: in forks of an interpreter that has loaded it, or cold as hosts do.

A warm start saves the interpreter's start and the imports; everything behind `entry` is the same, in a real process
with real descriptors and signals. A process of its own (`tests.chaos.warm_starter`) forks, so the threads of the caller
are not in the way, and measures the memory of each process as the system counts it.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

START_WAIT = 400.0


class Start(NamedTuple):
    """How the program is started."""

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    limits: Mapping[str, int]
    """Names of `resource` (`RLIMIT_NOFILE` …) → the limit."""
    cold: bool = False
    clock: tuple[float, ...] = ()
    """Seconds by which the system's clock has jumped, one more with every second that passes."""
    closed: tuple[int, ...] = ()
    """Standard descriptors that are closed from the start."""


class Process:
    """A started program: its descriptors on our side, and what the starter reported."""

    def __init__(self, stdin: int, stdout: int, stderr: int) -> None:
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.pid = 0
        self.code: int | None = None
        self.peak_kb = 0
        self.started, self.ended = threading.Event(), threading.Event()

    def signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if not self.ended.is_set():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                pass


class Launcher:
    """Starts programs. `source` is the folder that holds `yume_shim`; `sdks` are loaded as well if wanted."""

    def __init__(self, source: Path, *, sdks: bool = False) -> None:
        self._source = source
        self._ours, theirs = socket.socketpair()
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), *_repository(source)])}
        words = [sys.executable, "-m", "tests.chaos.warm_starter", str(theirs.fileno()), *(["sdks"] if sdks else [])]
        self._starter = subprocess.Popen(
            words, pass_fds=[theirs.fileno()], env=env, cwd=source, stdin=subprocess.DEVNULL
        )
        theirs.close()
        self._lock = threading.Lock()
        self._count = 0
        self._running: dict[int, Process] = {}
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def start(self, start: Start) -> Process:
        """Start one."""
        (stdin, to_child), (from_child, stdout), (from_error, stderr) = os.pipe(), os.pipe(), os.pipe()
        process = Process(to_child, from_child, from_error)
        with self._lock:
            self._count += 1
            number = self._count
            self._running[number] = process
            env = {**start.env, "PYTHONPATH": str(self._source)} if start.cold else dict(start.env)
            order = {"number": number, **start._asdict(), "cwd": str(start.cwd), "env": env}
            packed = json.dumps(order).encode() + b"\n"
            socket.send_fds(self._ours, [packed], [stdin, stdout, stderr])
        if not process.started.wait(START_WAIT) or not process.pid:
            raise RuntimeError("the starter does not answer")
        for theirs in (stdin, stdout, stderr):
            os.close(theirs)
        return process

    def close(self) -> None:
        """End the starter."""
        self._ours.shutdown(socket.SHUT_RDWR)
        self._listener.join(START_WAIT)
        self._ours.close()
        self._starter.wait(START_WAIT)

    def _listen(self) -> None:
        held = b""
        while True:
            try:
                data = self._ours.recv(65_536)
            except OSError:
                return
            if not data:
                self._starter_is_gone()
                return
            *lines, held = (held + data).split(b"\n")
            for line in lines:
                self._take(json.loads(line))

    def _starter_is_gone(self) -> None:
        for process in self._running.values():
            process.started.set()
            process.ended.set()

    def _take(self, told: dict[str, Any]) -> None:
        process = self._running[told["number"]]
        if "pid" in told:
            process.pid = told["pid"]
            process.started.set()
        else:
            process.code, process.peak_kb = told["code"], told["peak_kb"]
            del self._running[told["number"]]
            process.ended.set()


def _repository(source: Path) -> list[str]:
    """Where `tests` is found if `source` is a copy of the program alone."""
    from pathlib import Path as RealPath

    own = RealPath(__file__).resolve().parents[2]
    return [] if own == source.resolve() else [str(own)]
