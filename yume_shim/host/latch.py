"""A value that is set at most once, maybe before the part that reacts to it exists."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Latch:
    """Keeps the first value it is given and passes it once to the one reaction, whichever comes first.

    `set` runs on any thread (the one of signals, any that writes stdout), `then` on the main thread; the
    lock makes sure that the reaction runs exactly once. It runs on the later of the two threads, outside the lock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._value = ""
        self._react: Callable[[str], None] | None = None

    @property
    def value(self) -> str:
        """The value; "" = not set yet."""
        return self._value

    def set(self, value: str) -> None:
        """Set the value. Only the first call counts."""
        with self._lock:
            if self._value:
                return
            self._value = value
            react = self._react
        if react is not None:
            react(value)

    def then(self, react: Callable[[str], None]) -> None:
        """Call `react` with the value: now, if it is set, or when it is."""
        with self._lock:
            self._react = react
            value = self._value
        if value:
            react(value)
