"""Receives signals while the program is being built."""

from __future__ import annotations

from yume_shim.host.latch import Latch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.host.signals import Signals


class EarlySignals:
    """Receives signals before the program exists, and passes the first one on when it does."""

    def __init__(self) -> None:
        self._latch = Latch()
        self._signals: Signals | None = None

    @property
    def received(self) -> str:
        """The name of the signal; "" = none yet."""
        return self._latch.value or (self._signals.first if self._signals is not None else "")

    def start(self, shutdown: float, *, as_signal: bool = False) -> None:
        """Install the handlers; `shutdown` is the number of seconds that an orderly end may take."""
        from yume_shim.host.signals import Signals

        self._signals = Signals(self.receive, shutdown, as_signal=as_signal)
        self._signals.install()

    def settle(self) -> None:
        """Make sure that `received` knows of every signal that has arrived."""
        if self._signals is not None:
            self._signals.settle()

    def receive(self, name: str) -> None:
        """Record a signal; runs on the thread of signals. Only the first one counts."""
        self._latch.set(name)

    def forward_to(self, on_signal: Callable[[str], None]) -> None:
        """Call `on_signal` with the name of the signal: now, if there was one already, or when it comes."""
        self._latch.then(on_signal)
