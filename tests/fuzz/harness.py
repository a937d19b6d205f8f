"""Runs a fuzz target: counts inputs, finds exceptions, broken promises and hangs, keeps what shows them."""

from __future__ import annotations

import gc
import importlib
import random
import re
import signal
import threading
import time
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.fuzz.mutation import make_input, pool_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType

    Check = Callable[[bytes], None]

FOLDER = Path(__file__).parent
CORPUS = FOLDER / "corpus"
HANG_SECONDS = 5.0
"""Processor time of one input, after which it is a hang. The longest inputs have 32 KB."""
TICKS = 10
"""Parts of that time that are counted: an input is stopped up to one part too early."""
SLOW_SECONDS = 0.1
"""Time from which on an input is measured, alone and at four times its length."""
QUADRATIC = 9.0
"""Four times the length may take so many times as long."""
COLLECT_EVERY = 20_000
MAX_FINDINGS = 25


class Target(NamedTuple):
    """One thing that reads bytes. `check` returns for an input that is handled as promised, and raises otherwise."""

    name: str
    check: Check
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...] = ()
    close: Callable[[], None] = lambda: None
    has_limit: bool = False
    """It ends by a limit of its own, before which its time may grow as it likes."""


class Hang(BaseException):
    """An input took too long."""


class Finding(NamedTuple):
    """A broken promise."""

    what: str
    """The exception and its place: the same for the same defect."""
    report: str
    data: bytes


class Report(NamedTuple):
    """One run over one target."""

    target: str
    inputs: int
    seconds: float
    findings: list[Finding]


def module_names() -> list[str]:
    """The modules with targets."""
    return sorted(path.stem for path in FOLDER.glob("target_*.py"))


def target_names() -> dict[str, str]:
    """Every target, and the module that has it."""
    found: dict[str, str] = {}
    for stem in module_names():  # each has NAMES and open_target
        module: Any = importlib.import_module(f"tests.fuzz.{stem}")
        found |= dict.fromkeys(module.NAMES, stem)
    return found


def open_target(name: str, folder: Path) -> Target:
    """The target, with its kept inputs among the seeds."""
    module: Any = importlib.import_module(f"tests.fuzz.{target_names()[name]}")
    target: Target = module.open_target(name, folder)
    return target._replace(seeds=(*target.seeds, *kept_inputs(name)))


def kept_inputs(name: str) -> list[bytes]:
    """The files in `corpus/NAME`: small seeds, and inputs that once showed a defect."""
    return [path.read_bytes() for path in sorted((CORPUS / name).glob("*")) if path.is_file()]


# ---------------------------------------------------------------- one input


class _Clock:
    """Counts ticks of processor time that passed in one input. One timer for all: a system call per input is slow."""

    def __init__(self) -> None:
        self.ticks = 0
        self.allowed = TICKS

    def begin(self, allowed: int = 0) -> None:
        """The next input begins."""
        self.ticks, self.allowed = 0, allowed or TICKS

    def tick(self, _number: int, _frame: FrameType | None) -> None:
        """Raise in the code that has run for too long."""
        self.ticks += 1
        if self.ticks >= self.allowed:
            self.ticks = 0
            raise Hang(f"more than {HANG_SECONDS * self.allowed / TICKS:g} s of processor time")


_clock = _Clock()


@contextmanager
def time_limit() -> Iterator[None]:
    """Raise Hang in the code that runs for too long. Only the main thread of a POSIX process can."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _clock.tick)
    each = HANG_SECONDS / TICKS
    _clock.begin()
    signal.setitimer(signal.ITIMER_VIRTUAL, each, each)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def try_input(target: Target, data: bytes) -> Finding | None:
    """Check one input; None if the promises hold."""
    _clock.begin()
    began = time.perf_counter()
    try:
        target.check(data)
    except (Exception, Hang) as problem:
        return _finding(problem, data)
    if time.perf_counter() - began > SLOW_SECONDS and len(data) > 2_000 and not target.has_limit:
        return _growth(target, data)
    return None


def _finding(problem: BaseException, data: bytes) -> Finding:
    return Finding(_place(problem), "".join(traceback.format_exception(problem))[-6_000:], data)


def _growth(target: Target, data: bytes) -> Finding | None:
    """Is the time more than linear in the length? The piece that repeats is repeated more often."""
    head, piece, count, tail = _repeated(data)
    times = []
    for factor in (1, 4):
        longer = head + piece * (count * factor) + tail
        best = 1e9
        for _ in range(2):
            _clock.begin(8 * TICKS)
            began = time.thread_time()
            try:
                target.check(longer)
            except (Exception, Hang) as problem:
                return _finding(problem, longer)
            best = min(best, time.thread_time() - began)
            if best < SLOW_SECONDS / 2 and factor == 1:
                return None  # it was the machine that was slow
        times.append(best)
    if times[1] > QUADRATIC * times[0]:
        what = f"more than linear: {times[0]:.2f} s for {len(data)} bytes, {times[1]:.2f} s for four times as many"
        return Finding("more than linear", what, data)
    return None


def _repeated(data: bytes) -> tuple[bytes, bytes, int, bytes]:
    """(head, piece, how often, tail) of an input in which a piece is repeated."""
    found = re.search(rb"(?s)(.{1,300}?)\1{49,}", data)
    if found is None:
        return b"", data, 1, b""
    piece = found[1]
    return data[: found.start()], piece, (found.end() - found.start()) // len(piece), data[found.end() :]


def _place(problem: BaseException) -> str:
    """Exception, file and line of the program where it was raised."""
    steps = traceback.extract_tb(problem.__traceback__)
    own = [step for step in steps if "yume_shim" in Path(step.filename).parts]
    step = (own or steps)[-1]
    said = str(problem)[:80] if isinstance(problem, AssertionError) else ""
    return f"{type(problem).__name__} at {Path(step.filename).name}:{step.lineno} {step.name} {said}".strip()


# ---------------------------------------------------------------- many inputs


def run_random(target: Target, *, inputs: int, seconds: float, seed: int, found: Callable[[Finding], None]) -> Report:
    """Check the seeds, then random inputs."""
    chance, pool = random.Random(f"{target.name}:{seed}"), pool_of(target.seeds, target.words)
    seen: dict[str, Finding] = {}

    def all_inputs() -> Iterable[bytes]:
        yield from target.seeds[:inputs]
        for _ in range(inputs - len(target.seeds)):
            yield make_input(chance, pool)

    began, count = time.monotonic(), 0
    with time_limit(), warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning would be printed on stderr
        for data in all_inputs():
            count += 1
            finding = try_input(target, data)
            if finding is not None and finding.what not in seen:
                seen[finding.what] = finding
                found(finding)
                if len(seen) >= MAX_FINDINGS:
                    break
            if count % COLLECT_EVERY == 0:
                gc.unfreeze()  # loading a session freezes what it made
                gc.collect()
            if seconds and count % 64 == 0 and time.monotonic() - began > seconds:
                break
    return Report(target.name, count, time.monotonic() - began, list(seen.values()))
