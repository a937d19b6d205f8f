"""Turns signals into one call of `on_signal`, and makes sure that the process ends.

The C-level handler writes the signal's number into a pipe (`signal.set_wakeup_fd`), whatever the main thread is busy
with; a thread of this module reads it. So none of our code runs inside a handler, where a lock that the interrupted
code holds would never be released, and a main thread that is in a long call does not delay an interrupt.
"""

from __future__ import annotations

import os
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable
    from types import FrameType
else:
    import _signal  # `signal` is a layer of enums over it, for which every start would pay

EXIT_CODES = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129, "SIGBREAK": 149}
"""The signals that are handled, as far as the platform has them, and the exit code after each. SIGBREAK is Ctrl-Break
on Windows. The death of the parent shows as the end of stdin."""
GRACE = 1.0
"""Seconds beyond the shutdown time that an orderly end may take."""
SAME_SIGNAL = 0.1
"""Seconds within which a further signal is an echo: Ctrl-C reaches the whole group, and hosts pass it on as well."""
READ_BYTES = 64
SETTLE = 1.0
"""Seconds that `settle` waits for the thread which reads the pipe."""
MARK = 0
"""No signal has this number: `settle` writes it after the signals that have arrived."""


class Signals:
    """`on_signal(name)` is called once, on a separate thread, for the first signal. A second one, or no end within
    `shutdown + GRACE` seconds, ends the process at once with 128 + its number."""

    def __init__(self, on_signal: Callable[[str], None], shutdown: float, *, as_signal: bool = False) -> None:
        """`as_signal`: a shell waits. An interrupt ends the process as if nothing handled it: a shell goes on with its
        loop after a program that exits with 130, and stops after one that the signal has ended."""
        self._on_signal, self._as_signal = on_signal, as_signal
        self._patience = shutdown + GRACE
        self._names: dict[int, str] = {}
        self._first_at = 0.0
        self._outgoing = -1
        self._settled = threading.Event()
        self.first = ""
        """The name of the first signal, known before `on_signal` is called."""

    def install(self) -> None:
        """Install the handlers. Python allows this on the main thread only."""
        incoming, outgoing = os.pipe()
        self._outgoing = outgoing
        set_blocking = getattr(os, "set_blocking", None)  # Windows has it since 3.12 and does not need it here
        if set_blocking is not None:
            set_blocking(outgoing, False)
        # Before the handlers: a signal that came between would be caught, and nobody would hear of it.
        _signal.set_wakeup_fd(outgoing, warn_on_full_buffer=False)
        for name in EXIT_CODES:
            number = getattr(_signal, name, None)
            # nohup starts programs with SIGHUP ignored, and means it.
            if number is None or (name == "SIGHUP" and _signal.getsignal(number) == _signal.SIG_IGN):
                continue
            _signal.signal(number, _ignore)
            self._names[int(number)] = name
        broken_pipe = getattr(_signal, "SIGPIPE", None)
        if broken_pipe is not None:
            _signal.signal(broken_pipe, _signal.SIG_IGN)
        threading.Thread(target=self._listen, args=(incoming,), name="signals", daemon=True).start()

    def settle(self) -> None:
        """Return when every signal that has arrived is in `first`. The end of the input may overtake a signal on its
        way through the pipe and the thread; the exit code must not depend on that. After an interrupt that ends the
        process as a signal (`as_signal`) this is where it ends."""
        try:
            os.write(self._outgoing, bytes((MARK,)))
        except BlockingIOError:
            pass  # the pipe is full of signals: the first one has been read long ago
        else:
            self._settled.wait(SETTLE)
        if self._as_signal and self.first == "SIGINT":
            self._end(next(number for number, name in self._names.items() if name == self.first))

    def _listen(self, incoming: int) -> None:
        while numbers := os.read(incoming, READ_BYTES):
            for number in numbers:
                if number in self._names:
                    self._take(number)
                elif number == MARK:
                    self._settled.set()

    def _take(self, number: int) -> None:
        now = time.monotonic()
        if not self._first_at:
            self._first_at = now
            self.first = self._names[number]
            threading.Thread(target=self._watch, args=(number,), name="watchdog", daemon=True).start()
            threading.Thread(target=self._report, args=(number,), name="signal", daemon=True).start()
        elif now - self._first_at > SAME_SIGNAL:
            self._end(number)

    def _report(self, number: int) -> None:
        self._on_signal(self._names[number])

    def _watch(self, number: int) -> None:
        time.sleep(self._patience)
        self._end(number)

    def _end(self, number: int) -> None:
        if self._as_signal:
            from yume_shim.system import end_by_signal

            end_by_signal(number)
        os._exit(128 + number)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Python needs a handler; the pipe has already passed the number to the thread."""
