"""The system's clock, and a fixed one for byte-exact transcripts (`YUME_TEST_CLOCK=1`)."""

from __future__ import annotations

import time

from yume_shim.types.errors import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.ports import Cancel

FIXED_START = 1_767_225_600.0
"""2026-01-01T00:00:00Z."""


class SystemClock:
    """Implements `types.ports.Clock`."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def wait(self, cancel: Cancel, seconds: float) -> None:
        if cancel.wait(seconds):
            raise Cancelled

    def jitter(self) -> float:
        import os

        return int.from_bytes(os.urandom(4), "big") / 0x7FFFFFFF - 1.0


class FixedClock:
    """Does not run by itself; a wait moves it forward and returns at once."""

    def __init__(self) -> None:
        self._time = FIXED_START

    def now(self) -> float:
        return self._time

    def monotonic(self) -> float:
        return self._time

    def wait(self, cancel: Cancel, seconds: float) -> None:
        cancel.check()
        self._time += seconds

    def jitter(self) -> float:
        return 0.0
