"""Time in tests, on machines that are busy.

Wait for the event itself (`wait_until`, an Event, an output line), never for a time in which it probably happens. That
something is quick is asserted with `soon`: its bound is far above what the thing takes on a busy machine and far below
what it takes when it does not work. Work that needs only the processor is measured in processor time (`cheap`), which
other programs do not lengthen.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.engine.cancel import CancelSignal

PATIENCE = 30.0
"""Seconds that a test waits for an event that must come."""
SOON = 8.0
"""Seconds in which anything prompt must be done. Without the promptness it would take twenty seconds or more."""
POLL = 0.01


def wait_until(happened: Callable[[], object], what: str = "the event", seconds: float = PATIENCE) -> None:
    """Return as soon as `happened()` is true; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}"
        time.sleep(POLL)


def set_when(stop: CancelSignal, happened: Callable[[], object], after: float = 0.0) -> list[float]:
    """Set the cancel signal from another thread once `happened()` is true. The list gets the moment it was set."""
    moment: list[float] = []

    def watch() -> None:
        wait_until(happened)
        time.sleep(after)
        moment.append(time.monotonic())
        stop.set()

    threading.Thread(target=watch, daemon=True).start()
    return moment


def in_one_of(attempts: int, story: Callable[[int], None]) -> None:
    """Play a story that only passes if the machine is quick enough; each attempt gets its number. What does not work
    fails in all of them."""
    for number in range(attempts - 1):
        try:
            story(number)
        except AssertionError:
            continue
        return
    story(attempts - 1)


@contextmanager
def soon(seconds: float = SOON) -> Iterator[None]:
    """The block must end within `seconds` of wall-clock time."""
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    assert took < seconds, f"took {took:.1f} s, at most {seconds:.1f} s"


@contextmanager
def cheap(seconds: float, *, this_thread: bool = False) -> Iterator[None]:
    """The block may use so much processor time, of all threads together or of this one alone."""
    clock = time.thread_time if this_thread else time.process_time
    began = clock()
    yield
    took = clock() - began
    assert took < seconds, f"took {took:.2f} s of processor time, at most {seconds:.2f} s"
