"""The stop signal of one piece of work: any thread may set it, and setting it wakes whatever blocks."""

from __future__ import annotations

import threading
from contextlib import contextmanager

from yume_shim.types.errors import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class CancelSignal:
    """Implements `types.ports.Cancel`. Setting it twice is harmless; it never becomes unset. The lock guards the list
    of stoppers; they run outside of it."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._stoppers: list[Callable[[], None]] = []

    def set(self) -> None:
        """Stop: wake the waiters, call the stoppers (each once)."""
        self._event.set()
        with self._lock:
            stoppers, self._stoppers = self._stoppers, []
        for stop in stoppers:
            stop()

    def is_set(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        if self._event.is_set():
            raise Cancelled

    def wait(self, seconds: float) -> bool:
        return self._event.wait(seconds)

    @contextmanager
    def guard(self, stop: Callable[[], None]) -> Iterator[None]:
        with self._lock:
            already = self._event.is_set()
            if not already:
                self._stoppers.append(stop)
        if already:
            stop()
        try:
            yield
        finally:
            with self._lock:
                if stop in self._stoppers:
                    self._stoppers.remove(stop)
