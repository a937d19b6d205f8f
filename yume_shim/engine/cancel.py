"""The stop signal of one piece of work: any thread may set it, and setting it wakes whatever blocks. Work that goes on
all the same is abandoned."""

from __future__ import annotations

import threading
import time

from yume_shim.types.errors import Abandoned, Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.types.ports import Cancel

GRACE_S = 5.0
"""How long stopped work may take to end before it is abandoned; the work of a child gets its share of it."""
HURRIED_S = 1.0
"""The same once the session ends, or the host has interrupted a second time."""
LOOK_S = 0.02
"""How often stopped work is looked at."""
SETTLE_S = 0.05
"""Abandoned work may be about to emit an event: it gets this long before the next event of those who go on."""


class CancelSignal:
    """Implements `types.ports.Cancel`. Setting it twice is harmless; it never becomes unset. The lock guards the list
    of stoppers; they run outside of it."""

    def __init__(self, above: Cancel | None = None, grace_s: float = GRACE_S) -> None:
        """`above`: the signal of the work that this one is a part of. Who makes it guards that one; here it says only
        whether to hurry."""
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._stoppers: list[Callable[[], None]] = []
        self._above, self._grace, self._hurried = above, grace_s, False
        self._set_at = 0.0

    def set(self) -> None:
        """Stop: wake the waiters, call the stoppers (each once)."""
        with self._lock:
            self._set_at = self._set_at or time.monotonic()
            self._event.set()
            stoppers, self._stoppers = self._stoppers, []
        for stop in stoppers:
            stop()

    def hurry(self) -> None:
        """Stop, and do not wait long for work that ignores it."""
        self._hurried = True
        self.set()

    def is_set(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        if self._event.is_set():
            raise Cancelled

    def wait(self, seconds: float) -> bool:
        return self._event.wait(seconds)

    def guard(self, stop: Callable[[], None]) -> Guard:
        return Guard(self, stop)

    def add_stopper(self, stop: Callable[[], None]) -> None:
        """Call `stop` when the signal is set, or now if it is."""
        with self._lock:
            already = self._event.is_set()
            if not already:
                self._stoppers.append(stop)
        if already:
            stop()

    def remove_stopper(self, stop: Callable[[], None]) -> None:
        """Do not call it any more."""
        with self._lock:
            if stop in self._stoppers:
                self._stoppers.remove(stop)

    def hurries(self) -> bool:
        return self._hurried or (self._above is not None and self._above.hurries())

    def job(self, work: Callable[[], Any], name: str, depth: int = 0, blocked: Callable[[], bool] | None = None) -> Job:
        return Job(work, self, name, depth, blocked).start()

    def out_of_patience(self, depth: int) -> bool:
        """Has stopped work at this depth of children had its grace time? Children end before the work above them."""
        grace = min(HURRIED_S, self._grace) if self.hurries() else self._grace
        return self._event.is_set() and time.monotonic() - self._set_at >= grace / (depth + 1)


class Guard:
    """`with cancel.guard(stop)`: while the block runs, setting the signal calls `stop`."""

    __slots__ = ("_cancel", "_stop")

    def __init__(self, cancel: CancelSignal, stop: Callable[[], None]) -> None:
        self._cancel, self._stop = cancel, stop

    def __enter__(self) -> None:
        self._cancel.add_stopper(self._stop)

    def __exit__(self, *_: object) -> None:
        self._cancel.remove_stopper(self._stop)


class Job:
    """Work on a thread of its own, and the thread that waits for it. It is not a loop's own thread because code that
    ignores the signal (a dead file system, a library that retries by itself) would hold the loop for ever."""

    def __init__(
        self,
        work: Callable[[], Any],
        cancel: CancelSignal,
        name: str,
        depth: int = 0,
        blocked: Callable[[], bool] | None = None,
    ) -> None:
        """`depth`: of the loop that it belongs to. `blocked`: the host does not read, so work that cannot print is not
        to blame for going on."""
        self._work, self._cancel, self._name = work, cancel, name
        self._depth, self._blocked = depth, blocked
        self._woken = threading.Event()
        self._ended = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None

    def start(self) -> Job:
        """Begin the work."""
        try:
            threading.Thread(target=self._run, name=self._name, daemon=True).start()
        except RuntimeError:  # the system gives no more threads
            self._run()
        return self

    def result(self, limit: float | None = None) -> Any:
        """Wait; returns what the work returns and raises what it raises. Raises Abandoned if it goes on after its grace
        time, or for more than `limit` seconds: then its thread runs on, and nobody reads its result."""
        with self._cancel.guard(self._woken.set):
            if not self._woken.wait(limit):
                raise Abandoned(self._name)
        while not self._ended.wait(LOOK_S):
            if self._cancel.out_of_patience(self._depth) and not (self._blocked is not None and self._blocked()):
                raise Abandoned(self._name)
        error, self._error = self._error, None
        if error is not None:
            raise error
        return self._result

    def _run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:  # handed to the thread that waits, which raises it
            self._error = error
        finally:
            self._ended.set()
            self._woken.set()


def let_settle() -> None:
    """After the output of abandoned work was taken away: wait for an event that was on its way."""
    time.sleep(SETTLE_S)
