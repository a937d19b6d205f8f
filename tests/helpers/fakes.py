"""Fixed ports for tests: a clock that only moves when waited on, counted ids, and the real cancel signal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yume_shim.engine.cancel import CancelSignal

if TYPE_CHECKING:
    from yume_shim.types.ports import Cancel


class FakeClock:
    """Starts at a fixed moment; waiting moves it and returns at once."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self.time = start
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def wait(self, cancel: Cancel, seconds: float) -> None:
        cancel.check()
        self.waits.append(seconds)
        self.time += seconds

    def jitter(self) -> float:
        return 0.0


class FakeIds:
    """Counted ids."""

    def __init__(self) -> None:
        self.count = 0

    def uuid(self) -> str:
        self.count += 1
        return f"00000000-0000-4000-8000-{self.count:012d}"

    def uuids(self, count: int) -> list[str]:
        return [self.uuid() for _ in range(count)]

    def call_id(self) -> str:
        self.count += 1
        return f"call_{self.count:06d}"


def cancel() -> CancelSignal:
    """A fresh stop signal."""
    return CancelSignal()
