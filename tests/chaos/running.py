"""One running program and its host: carries out the planned actions, listens, and waits for the end."""

from __future__ import annotations

import json
import os
import select
import signal
import threading
import time
from typing import TYPE_CHECKING

from tests.chaos.fair_clock import LOOK, STARVED, FairClock
from tests.chaos.hosts import HOSTS
from tests.chaos.plan import prompts_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.chaos.hosts import Host
    from tests.chaos.launcher import Process
    from tests.chaos.plan import Action, Plan

LIMIT = 60.0
"""Seconds that a whole session may take: its waits, retries and commands add up to less than half of that."""
SHUTDOWN = 5.0
"""`timeouts.shutdown` of the sessions."""
ACP_SHUTDOWN = 2.0
"""The same of ACP servers, where it cannot be set."""
ORDERLY = SHUTDOWN + 2.0
"""Seconds after a signal in which the program has ended: `timeouts.shutdown`, one more, and one for the system."""
INTERRUPTED = 8.0
"""Seconds after an interrupt in which the turn has ended, whatever ignores it: 5 until it is abandoned, and some for
hooks and for what was on its way."""
PATIENCE = 5.0
"""Seconds for what should be there at once."""
BORN_LIMIT = 20.0
DEAF = 1.0
READ = 65_536
SLOW_READ = 700
SLOW_PAUSE = 0.002
SLOW_READS = 400
"""So often a slow host reads slowly; then it hurries, or a large output would take minutes."""
POLL_MS = 20
WAIT_RESULT = 3.0
WRITE_LIMIT = 20.0


class Outcome:
    """What a session left behind. Its times are those of a FairClock."""

    def __init__(self) -> None:
        self.stdout = b""
        self.stderr = b""
        self.code: int | None = None
        self.seconds = 0.0
        self.ending = 0.0
        """From the last action to the end of the process."""
        self.interrupted = 0.0
        """From an interrupt to the result of the turn that it stopped."""
        self.lost = 0.0
        """Seconds for which the machine had no processor for it."""
        self.forced = False
        """It may have ended itself because its time for an orderly end ran out, by the fault of the machine or because
        the host read slowly."""
        self.starved = False
        """It was given up although its limit had not run out: no verdict."""
        self.peak_kb = 0
        self.descriptors = 0
        self.strays: list[str] = []
        self.transcripts: list[Path] = []
        self.second: Outcome | None = None
        """Of the second process on the same session."""
        self.again: Outcome | None = None
        """Of the process that went on with the session."""
        self.asked: list[int] = []
        """Ids of the requests that an ACP host made."""
        self.unwritten = False
        """The host could not write: the program did not read."""
        self.faults: list[str] = []
        """Those that were played."""
        self.broken: list[str] = []
        """What requests would have been refused for."""


class Running:
    """One process and its host."""

    def __init__(self, plan: Plan, process: Process, work: str) -> None:
        self._plan, self._process = plan, process
        self.outcome = Outcome()
        self._hearing = threading.Event()
        self._hearing.set()
        self._closed = False
        self._input_open = True
        self._writing = threading.RLock()
        self._results = 0
        self._changed = threading.Condition()
        self._clock = FairClock(process.pid)
        self._interrupted_at: float | None = None
        self._host: Host = HOSTS[plan.dialect](plan, self._send, work)

    def play(self) -> Outcome:
        """Carry out the actions, wait for the end."""
        clock, process, outcome = self._clock, self._process, self.outcome
        threading.Thread(target=clock.run, args=(process.ended,), daemon=True).start()
        readers = [threading.Thread(target=read, daemon=True) for read in (self._read_out, self._read_err)]
        for reader in readers:
            reader.start()
        if self._plan.alone:
            self._close_input()
        self._host.begin()
        for action in self._plan.actions[:-1]:
            time.sleep(action.after)
            self._act(action)
        time.sleep(self._plan.actions[-1].after)
        if "SIG" in self._plan.end and not self._plan.cold:
            self._await(self._listens, BORN_LIMIT)
        outcome.descriptors = _descriptors(process.pid)
        self._await_end()
        outcome.peak_kb = process.peak_kb
        for reader in readers:
            FairClock().wait(_ended(reader), PATIENCE)
        outcome.seconds, outcome.lost = clock.seconds, clock.lost
        outcome.asked = self._host.asked
        self._close_input()
        return outcome

    def _await(self, happened: Callable[[float], object], seconds: float) -> bool:
        """Wait so many seconds of the session's clock; False if they pass, or the machine gives too few of them."""
        end, last = self._clock.seconds + seconds, time.monotonic() + seconds * STARVED
        while self._clock.seconds < end and time.monotonic() < last:
            if happened(LOOK):
                return True
        return False

    def _await_end(self) -> None:
        outcome, process, plan = self.outcome, self._process, self._plan
        began, fair = time.monotonic(), self._clock.seconds
        self._end(plan.end)
        self._hearing.set()
        if self._await(process.ended.wait, LIMIT):
            outcome.code = process.code
        else:
            outcome.starved = self._clock.seconds - fair < LIMIT
            process.signal(signal.SIGKILL)
            process.ended.wait(PATIENCE)
        outcome.ending, passed = self._clock.seconds - fair, time.monotonic() - began
        shutdown = ACP_SHUTDOWN if plan.dialect == "acp" else SHUTDOWN
        ends_in_time = "SIG" in plan.end or plan.dialect == "acp"
        slow = plan.slow or any(action.kind == "deaf" for action in plan.actions)
        outcome.forced = ends_in_time and passed > shutdown and (slow or outcome.ending < shutdown)

    def _listens(self, pause: float) -> bool:
        """Whether the program has its own handlers of signals: before, Python's defaults apply."""
        if self._process.ended.is_set():
            return True
        try:
            with open(f"/proc/{self._process.pid}/status", encoding="ascii") as file:
                caught = next(int(line.split()[1], 16) for line in file if line.startswith("SigCgt"))
        except (OSError, StopIteration):
            return True
        if caught >> (signal.SIGTERM - 1) & 1:
            return True
        time.sleep(min(pause, POLL_MS / 1000))
        return False

    def _act(self, action: Action) -> None:
        match action.kind:
            case "wait":
                self._wait_for_result()
            case "deaf":
                self._hearing.clear()
            case "garbage":
                self._write(b'{"type": "us\xff\xfe\n[1,2\n\x00\n"text"\n')
            case "empty":
                self._write(b"\n   \n{}\nnull\n")
            case "split":
                line = self._host.prompt(f"Split {action.body}")
                with self._writing:  # an answer of the host must not come between
                    self._write(line[:20])
                    time.sleep(0.02)
                    self._write(line[20:])
            case "stop-cont":
                self._process.signal(signal.SIGSTOP)
                time.sleep(0.2)
                self._process.signal(signal.SIGCONT)
            case "many":
                self._write(b"".join(self._host.prompt(f"Many {number}") for number in range(3)))
            case kind:
                if kind == "interrupt" and self._is_timed():
                    self._interrupted_at = self._clock.seconds
                self._host.act(kind, action.body)

    def _is_timed(self) -> bool:
        """Whether the next result is that of the turn that is interrupted now, and is heard when it comes."""
        plan = self._plan
        hears = not plan.slow and not any(action.kind == "deaf" for action in plan.actions)
        first = self._interrupted_at is None and not self._results
        return hears and self._host.opened and first and prompts_of(plan) == 1

    def _end(self, kind: str) -> None:
        for step in kind.split("+"):
            match step:
                case "eof":
                    self._close_input()
                case "close-stdout":
                    self._closed = True
                case "half":
                    self._write(self._host.prompt("The end of this line never comes")[:-9])
                case _:
                    self._process.signal(getattr(signal, step))
                    if kind.count("SIG") > 1:
                        time.sleep(0.05)

    # ------------------------------------------------------------ the pipes

    def _read_out(self) -> None:
        parts: list[bytes] = []
        held: list[bytes] = []
        reads = 0
        fd, plan = self._process.stdout, self._plan
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        while not self._closed:
            if not poll.poll(POLL_MS):
                continue
            reads += 1
            slowly = plan.slow and reads < SLOW_READS
            part = os.read(fd, SLOW_READ if slowly else READ)
            if not part:
                break
            parts.append(part)
            held.append(part)
            if b"\n" in part:
                *lines, rest = b"".join(held).split(b"\n")
                held = [rest]
                for line in lines:
                    self._heard(line)
            if slowly:
                time.sleep(SLOW_PAUSE)
            self._hearing.wait(DEAF)
        os.close(fd)  # here, because a read on another thread would keep the pipe open
        self.outcome.stdout = b"".join(parts)

    def _heard(self, line: bytes) -> None:
        if self._host.hear(line):
            if self._interrupted_at is not None and not self._results:
                self.outcome.interrupted = self._clock.seconds - self._interrupted_at
            with self._changed:
                self._results += 1
                self._changed.notify_all()

    def _wait_for_result(self) -> None:
        with self._changed:
            before = self._results
            self._changed.wait_for(lambda: self._results > before or self._process.ended.is_set(), WAIT_RESULT)

    def _read_err(self) -> None:
        parts = []
        while part := os.read(self._process.stderr, READ):
            parts.append(part)
        os.close(self._process.stderr)
        self.outcome.stderr = b"".join(parts)

    def _send(self, line: object) -> bool:
        return self._write(json.dumps(line).encode() + b"\n")

    def _write(self, data: bytes) -> bool:
        """False if the program gets nothing any more."""
        with self._writing:
            if not self._input_open:
                return False
            fd = self._process.stdin
            os.set_blocking(fd, False)
            while data:
                try:
                    data = data[os.write(fd, data) :]
                except BlockingIOError:
                    clock = FairClock(self._process.pid)
                    if not clock.wait(lambda pause: select.select([], [fd], [], pause)[1], WRITE_LIMIT):
                        self.outcome.unwritten = True
                        return False
                except OSError:
                    return False
            return True

    def _close_input(self) -> None:
        with self._writing:
            if self._input_open:
                self._input_open = False
                os.close(self._process.stdin)


def _descriptors(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:  # it has ended, or this is no Linux
        return 0


def _ended(thread: threading.Thread) -> Callable[[float], bool]:
    def ended(pause: float) -> bool:
        thread.join(pause)
        return not thread.is_alive()

    return ended
