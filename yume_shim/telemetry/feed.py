"""Listens to the events of a session and hands them to a thread that reports them, so that nothing of telemetry ever
delays a turn: an event costs an append, and the OpenTelemetry SDK is loaded when the first turn has ended, or when the
first export is due.

Threads: `__call__` runs on every thread that emits (in the order of the events, under the lock of `EventOutput`),
`close` on the main thread at the end; the rest on the thread of this room.
"""

from __future__ import annotations

import threading
import time
from collections import deque

from yume_shim.types.events import (
    BlockDelta,
    PromptTaken,
    SessionEnding,
    StateChanged,
    ToolOutputAdded,
    ToolProgress,
    TurnEnded,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from yume_shim.types.events import Tagged

    Log = Callable[[str, str], None]

    class Reporter(Protocol):
        """Makes telemetry of events. Used by one thread."""

        def take(self, tagged: Tagged) -> None: ...

        def finish(self, until: float) -> None:
            """Export everything, by this moment of the monotonic clock."""
            ...


MAX_WAITING = 20_000
"""Events that wait for the thread; further ones are dropped, and counted."""
SLACK_S = 0.25
"""How much longer `close` waits, so that the reporter can say what it could not export."""
READ_EVERY_S = 1.0
"""How often the thread looks for events, once it runs."""
UNUSED = frozenset((BlockDelta, ToolOutputAdded, ToolProgress, StateChanged))
"""Frequent events that say nothing that telemetry reports."""


class EventFeed:
    """A listener of `EventOutput`."""

    def __init__(self, make: Callable[[], Reporter], log: Log, *, first_s: float, flush_s: float) -> None:
        """`make` loads and builds the reporter; it may raise ImportError. `first_s`: after this time the first events
        are reported even if the turn goes on. `flush_s`: how long `close` takes at most."""
        self._make, self._log, self._first_s, self._flush_s = make, log, first_s, flush_s
        self._waiting: deque[Tagged] = deque()
        self._dropped = 0
        self._wake, self._done = threading.Event(), threading.Event()
        self._until: float | None = None
        """When the last export must have ended; None = the session goes on."""
        self._thread: threading.Thread | None = None

    def __call__(self, tagged: Tagged) -> None:
        kind = type(tagged.event)
        if kind in UNUSED or self._done.is_set():
            return
        if len(self._waiting) >= MAX_WAITING:
            self._dropped += 1
            return
        self._waiting.append(tagged)
        if kind is TurnEnded or kind is SessionEnding:
            self._wake.set()
        elif kind is PromptTaken and self._thread is None:  # never before the first line
            self._start()

    def close(self) -> None:
        """Export what is left, within the limit; then give up."""
        if self._thread is None and self._waiting:
            self._start()
        if self._thread is None:
            return
        self._until = time.monotonic() + self._flush_s
        self._wake.set()
        if not self._done.wait(self._flush_s + SLACK_S):
            self._log("warning", f"telemetry: the last export did not end within {self._flush_s:g} s and was given up")
        self._done.set()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        try:
            self._wake.wait(self._first_s)
            reporter = self._make()
            while self._until is None:
                self._report(reporter)
                self._wake.wait(READ_EVERY_S)
                self._wake.clear()
            self._report(reporter)
            reporter.finish(self._until)
        except ImportError as error:
            from yume_shim.types.packages import missing_package

            why = missing_package(error) or f"{type(error).__name__}: {error}"
            self._log("warning", f"telemetry is off: {why}")
        except Exception as error:  # telemetry must never end a session
            self._log("warning", f"telemetry is off: {type(error).__name__}: {error}")
        finally:
            self._done.set()
            self._waiting.clear()

    def _report(self, reporter: Reporter) -> None:
        while self._waiting:
            reporter.take(self._waiting.popleft())
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            self._log("warning", f"telemetry: {dropped} events came too fast and were dropped")
