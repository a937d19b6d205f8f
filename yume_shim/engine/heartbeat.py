"""Reports at a fixed interval that a tool is still running, or that a call still waits for approval."""

from __future__ import annotations

import threading

from yume_shim.types.events import ToolProgress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.calls import PreparedCall

SLOW_KINDS = ("shell", "other")
"""Kinds of tools that may take long; only these start the timer thread."""


class Heartbeat:
    """A context manager around one run of a tool. A timer thread emits; the lock makes sure that it emits nothing after
    the context has ended."""

    def __init__(self, services: EngineServices, prepared: PreparedCall, *, waiting: bool = False) -> None:
        """`waiting`: the call waits for the host's approval."""
        self._waiting = waiting
        self._services = services
        self._call = prepared.call
        self._needed = waiting or (prepared.spec.gated and prepared.spec.kind in SLOW_KINDS)
        self._stop = threading.Event()
        self._reporting = threading.Lock()

    def __enter__(self) -> None:
        if self._needed:
            self._begun = self._services.clock.monotonic()
            threading.Thread(target=self._beat, daemon=True, name="heartbeat").start()

    def __exit__(self, *_: object) -> None:
        with self._reporting:  # no heartbeat may come after the call's result
            self._stop.set()

    def _beat(self) -> None:
        while not self._stop.wait(self._services.settings.limits.timeouts.tool_heartbeat):
            elapsed = round((self._services.clock.monotonic() - self._begun) * 1000)
            with self._reporting:
                if not self._stop.is_set():
                    self._services.emit(ToolProgress(self._call, elapsed, waiting=self._waiting))
