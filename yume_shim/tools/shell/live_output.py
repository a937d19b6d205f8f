"""Shows what a running command prints, a few times per second and within limits."""

from __future__ import annotations

import threading

from yume_shim.text.clean import clean_output
from yume_shim.tools.shell.sink import cut_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.tools.shell.sink import Sink

FIRST_S = 1.0
"""A command that ends sooner shows nothing: its result is there at once."""
INTERVAL_S = 0.5
MAX_PIECE = 8 * 1024
"""Bytes shown at once; of more only the newest."""
MAX_SHOWN = 256 * 1024
"""Bytes of one command that are shown; the rest is in its result."""


class LiveOutput:
    """A context manager around one command. A thread looks at its output; the lock makes sure that nothing is shown
    after the context has ended."""

    def __init__(self, sink: Sink, show: Callable[[str, int], None] | None, redact: Callable[[str], str]) -> None:
        """`show` None: nothing is shown. Keys are removed by `redact`, which needs whole lines."""
        self._sink, self._show, self._redact = sink, show, redact
        self._stop = threading.Event()
        self._showing = threading.Lock()
        self._seen = self._shown = 0

    def __enter__(self) -> None:
        if self._show is not None:
            threading.Thread(target=self._watch, daemon=True, name="live-output").start()

    def __exit__(self, *_: object) -> None:
        with self._showing:
            self._stop.set()

    def _watch(self) -> None:
        wait = FIRST_S
        while not self._stop.wait(wait) and self._shown < MAX_SHOWN:
            wait = INTERVAL_S
            with self._showing:
                if not self._stop.is_set():
                    self._show_more()

    def _show_more(self) -> None:
        data, dropped = self._sink.newest(self._seen)
        cut = cut_at(data, whole_keys=True)
        start = data.rfind(b"\n", 0, max(0, cut - MAX_PIECE)) + 1 if cut > MAX_PIECE else 0
        if cut - start > MAX_PIECE * 2:  # one very long line
            start = cut
        text = self._redact(clean_output(data[start:cut]))
        self._seen += dropped + cut
        if self._show is not None and (text or start or dropped):
            self._shown += cut - start
            self._show(text, dropped + start)
