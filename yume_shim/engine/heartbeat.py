"""Reports at a fixed interval that a tool is still running or a call still waits for approval, and passes on what a
tool says about its progress."""

from __future__ import annotations

import threading

from yume_shim.types.events import ToolProgress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.calls import PreparedCall
    from yume_shim.types.events import ProgressReport
    from yume_shim.types.ports import Cancel

SLOW_KINDS = ("shell", "other")
"""Kinds of tools that may take long; only these start the timer thread."""
REPORT_PAUSE_S = 0.5
"""At least so long between two reports of a tool: a server may send thousands."""


class Heartbeat:
    """A context manager around one run of a tool. A timer thread emits; the lock makes sure that it emits nothing after
    the context has ended."""

    def __init__(
        self, services: EngineServices, prepared: PreparedCall, cancel: Cancel, *, waiting: bool = False
    ) -> None:
        """`waiting`: the call waits for the host's approval."""
        self._waiting, self._cancel = waiting, cancel
        self._services = services
        self._call = prepared.call
        self._needed = waiting or (prepared.spec.gated and prepared.spec.kind in SLOW_KINDS)
        self._stop = threading.Event()
        self._reporting = threading.Lock()
        self._reported: float | None = None

    def __enter__(self) -> Heartbeat:
        if self._needed:
            self._begun = self._services.clock.monotonic()
            threading.Thread(target=self._beat, daemon=True, name="heartbeat").start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._reporting:  # no heartbeat may come after the call's result
            self._stop.set()

    def _beat(self) -> None:
        while not self._stop.wait(self._services.settings.limits.timeouts.tool_heartbeat):
            if self._cancel.is_set():  # the call is ending, or was abandoned
                return
            self._emit(None)

    def report(self, given: ProgressReport) -> None:
        """What the tool says about its progress; it counts only while the call runs."""
        now = self._services.clock.monotonic()
        if self._needed and (self._reported is None or now - self._reported >= REPORT_PAUSE_S):
            self._reported = now
            self._emit(given)

    def _emit(self, given: ProgressReport | None) -> None:
        elapsed = round((self._services.clock.monotonic() - self._begun) * 1000)
        with self._reporting:
            if not self._stop.is_set():
                self._services.emit(ToolProgress(self._call, elapsed, given, waiting=self._waiting))
