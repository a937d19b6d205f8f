"""Long and many sessions of the real program, against a loopback model: what grows? Used by `scripts/soak.py`."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.helpers.vendor_place import VendorPlace

MAX_TURNS = 100_000
MAX_PROCESSES = 200
MAX_HOURS = 1_000
WARM_TURNS = 300
WARM_HOURS = 1
CLEAR_EVERY = 50
"""Turns of one conversation: its history grows, and is no leak."""
CALL_EVERY = 10
KEEP_ALIVE_S = 30
TURN_EVERY_S = 3_600
MAX_KILOBYTES = 8_192
"""Growth that is let pass over a whole run."""
MAX_FILES = 2
MAX_EACH_KILOBYTES = 120_000
"""Memory of one of many processes."""
WAIT_S = 120.0
LOOKS, LOOK_S = 4, 0.5
LAPSE = """
import sys, time
sys.path.insert(0, sys.argv.pop(1))
gone = [0.0]
real = time.time, time.monotonic
time.time = lambda: real[0]() + gone[0]
time.monotonic = lambda: real[1]() + gone[0]
from yume_shim.app.host_commands import HostCommands
take = HostCommands.take_line
def take_line(self, line):
    if b'"keep_alive"' in line:
        gone[0] += {step}
    take(self, line)
HostCommands.take_line = take_line
from yume_shim.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""The program with a clock that each keep-alive moves forward."""


class Held(NamedTuple):
    """What a process holds."""

    kilobytes: int
    files: int
    threads: int
    children: int


class Soak(NamedTuple):
    """What a run found. `complaints` is its verdict: empty if nothing grew and every turn ended once."""

    done: str
    figures: str
    complaints: list[str]


class Program:
    """One process of the program; prompts go in, results come out."""

    def __init__(self, place: VendorPlace, command: tuple[str, ...], *argv: str) -> None:
        words = (*command, "--output-format", "flat", "--model", "openrouter/some/model", *argv)
        self.process = subprocess.Popen(
            words, cwd=place.cwd, env=place.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.results = 0
        self.said: list[str] = []
        threading.Thread(target=self._read_errors, daemon=True).start()

    def send(self, **line: Any) -> None:
        """Write a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()

    def read_to(self, *kinds: str) -> dict[str, Any]:
        """Read up to the first line of one of these types."""
        assert self.process.stdout is not None
        for raw in self.process.stdout:
            line: dict[str, Any] = json.loads(raw)
            self.results += line["type"] == "result"
            if line["type"] in kinds:
                return line
        raise RuntimeError(f"the program ended: {self.said[-3:]}")

    def turn(self) -> dict[str, Any]:
        """One prompt to its end."""
        self.send(type="user", content="Go on.")
        result = self.read_to("result")
        self.read_to("message_stop")
        return result

    def end(self) -> int:
        """Close its input; the exit code."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        for raw in self.process.stdout:
            self.results += json.loads(raw)["type"] == "result"
        return self.process.wait(WAIT_S)

    def held(self) -> Held:
        """What it holds now: of several looks the one with the fewest threads: one of the last turn may still end."""
        looks = [self._look()]
        for _ in range(LOOKS):
            time.sleep(LOOK_S)
            looks.append(self._look())
        return min(looks, key=lambda held: held.threads)

    def _look(self) -> Held:
        folder = f"/proc/{self.process.pid}"
        with open(f"{folder}/status", encoding="ascii") as file:
            facts = dict(line.split(":", 1) for line in file)
        with open(f"{folder}/task/{self.process.pid}/children", encoding="ascii") as file:
            children = len(file.read().split())
        files = len(os.listdir(f"{folder}/fd"))
        return Held(int(facts["VmRSS"].split()[0]), files, int(facts["Threads"]), children)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for raw in self.process.stderr:
            self.said = [*self.said[-20:], raw.decode("utf-8", "replace").strip()]


class EndlessAnswers(list[Any]):
    """A script that never ends: text, and now and then a call first."""

    def __init__(self, call_every: int) -> None:
        super().__init__([None])
        from tests.helpers.scripted_model import call, say

        one, two = [call("Read", file_path="a.txt")], [say("It says hello.")]
        turns = ([one, two] if number % call_every == 0 else [two] for number in itertools.count(1))
        self._answers: Iterator[Any] = itertools.chain.from_iterable(turns)

    def pop(self, index: Any = 0) -> Any:
        """The next answer."""
        return next(self._answers)


def _place(folder: Path, call_every: int = CALL_EVERY) -> tuple[Any, VendorPlace]:
    from tests.helpers.scripted_model import ModelServer
    from tests.helpers.vendor_place import VendorPlace

    server = ModelServer()
    server._answers = EndlessAnswers(call_every)
    place = VendorPlace(folder, server)
    (place.cwd / "a.txt").write_text("hello\n")
    return server, place


def grown(before: Held, after: Held) -> list[str]:
    """The verdict on two measurements."""
    found = []
    if after.kilobytes - before.kilobytes > MAX_KILOBYTES:
        found.append(f"memory grew from {before.kilobytes:,} to {after.kilobytes:,} KB")
    if after.files - before.files > MAX_FILES:
        found.append(f"open files grew from {before.files} to {after.files}")
    if after.threads > before.threads:
        found.append(f"threads grew from {before.threads} to {after.threads}")
    if after.children > before.children:
        found.append(f"children grew from {before.children} to {after.children}")
    return found


def many_turns(folder: Path, turns: int) -> Soak:
    """Turns in one process, a new conversation every so often."""
    server, place = _place(folder)
    began = time.monotonic()
    with server:
        program = Program(place, (sys.executable, "-m", "yume_shim"))
        program.read_to("system")
        before, bad = Held(0, 0, 0, 0), 0
        for number in range(1, turns + 1):
            bad += program.turn()["subtype"] != "success"
            if number % CLEAR_EVERY == 0:
                program.send(type="clear")
                program.send(type="ping")
                program.read_to("pong")
                server.requests.clear()
            if number == min(WARM_TURNS, turns // 2):
                before = program.held()
        after = program.held()
        code = program.end()
    complaints = grown(before, after)
    complaints += [f"{bad} turns failed"] if bad else []
    complaints += [f"{program.results} results for {turns} turns"] if program.results != turns else []
    complaints += [f"exit code {code}"] if code else []
    seconds = time.monotonic() - began
    return Soak(f"{turns:,} turns in one process in {seconds:.0f} s", f"{before} → {after}", complaints)


def many_processes(folder: Path, count: int) -> Soak:
    """Processes at once in one home and one folder; each has a turn with a call, and one more."""
    server, place = _place(folder, call_every=2)
    began = time.monotonic()
    complaints: list[str] = []
    with server:
        programs = [Program(place, (sys.executable, "-m", "yume_shim")) for _ in range(count)]
        sessions = {program.read_to("system")["session_id"] for program in programs}
        for _ in range(2):
            for program in programs:
                program.send(type="user", content="Go on.")
            for number, program in enumerate(programs):
                if (subtype := program.read_to("result")["subtype"]) != "success":
                    complaints.append(f"process {number}: {subtype}")
        held = [program.held() for program in programs]
        codes = [program.end() for program in programs]
    complaints += [f"{sum(map(bool, codes))} processes ended with an error"] if any(codes) else []
    complaints += ["sessions have the same id"] if len(sessions) != count else []
    results = sum(program.results for program in programs)
    complaints += [f"{results} results for {2 * count} prompts"] if results != 2 * count else []
    files = list((place.home / ".claude" / "projects").glob("*/*.jsonl"))
    whole = [all(json.loads(line) for line in path.read_bytes().splitlines()) for path in files]
    complaints += [f"{len(files)} transcripts"] if len(files) != count or not all(whole) else []
    most = max(one.kilobytes for one in held)
    complaints += [f"a process holds {most:,} KB"] if most > MAX_EACH_KILOBYTES else []
    complaints += ["a process has children left"] if any(one.children for one in held) else []
    figures = (
        f"at most {most:,} KB, {max(one.files for one in held)} files, {max(one.threads for one in held)} threads each"
    )
    return Soak(f"{count} processes at once in {time.monotonic() - began:.0f} s", figures, complaints)


def idle_hours(folder: Path, hours: int) -> Soak:
    """Simulated hours of a session with a keep-alive every half minute, and a turn every hour."""
    server, place = _place(folder, call_every=4)
    began = time.monotonic()
    code = LAPSE.replace("{step}", str(KEEP_ALIVE_S))
    bad, before = 0, Held(0, 0, 0, 0)
    with server:
        program = Program(place, (sys.executable, "-c", code, str(Path(__file__).resolve().parents[1])))
        program.read_to("system")
        for hour in range(hours + 1):
            bad += program.turn()["subtype"] != "success"
            if hour == min(WARM_HOURS, hours // 2):
                before = program.held()
            for _ in range(TURN_EVERY_S // KEEP_ALIVE_S if hour < hours else 0):
                program.send(type="keep_alive")
            program.send(type="ping")
            program.read_to("pong")
        after = program.held()
        ended = program.end()
    complaints = grown(before, after)
    complaints += [f"{bad} turns failed"] if bad else []
    complaints += [f"{program.results} results for {hours + 1} turns"] if program.results != hours + 1 else []
    complaints += [f"exit code {ended}"] if ended else []
    lines = hours * TURN_EVERY_S // KEEP_ALIVE_S
    done = (
        f"{hours} simulated hours with {lines:,} keep-alives and {hours + 1} turns in {time.monotonic() - began:.0f} s"
    )
    return Soak(done, f"{before} → {after}", complaints)
