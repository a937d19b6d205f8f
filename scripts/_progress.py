"""Progress of long work, on stderr: one line that is redrawn on a terminal; elsewhere a plain line every ten seconds.

with Progress("bench", total) as progress:
    progress.step("first line")          # one more part is done
    progress.say("seed 7: a finding")    # a line of its own, on stdout
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

REDRAW_S = 0.2
PLAIN_S = 10.0
"""Seconds between two lines where nothing can be redrawn."""
BAR = 24
CLEAR = "\r\x1b[K"


class Progress:
    """Counts parts. `total` 0: how many there are is not known."""

    def __init__(
        self,
        what: str,
        total: int = 0,
        *,
        write: Callable[[str], object] | None = None,
        terminal: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.what, self.total, self.done = what, total, 0
        self._write = write or tell
        self._terminal = sys.stderr.isatty() if terminal is None else terminal
        self._clock = clock
        self._begun = clock()
        self._next = self._begun + (0.0 if self._terminal else PLAIN_S)
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.clear()

    def step(self, text: str = "", by: int = 1) -> None:
        """So many further parts are done; `text` says what comes, or how it stands."""
        self.done += by
        self.show(text)

    def show(self, text: str = "") -> None:
        """Show how it stands, if it is time."""
        now = self._clock()
        if now < self._next:
            return
        self._next = now + (REDRAW_S if self._terminal else PLAIN_S)
        line = self.line(text)
        self._write(f"{CLEAR}{line}" if self._terminal else f"{line}\n")
        self._drawn = self._terminal

    def line(self, text: str = "") -> str:
        """How it stands."""
        seconds = self._clock() - self._begun
        counted = f"{self.done:,} of {self.total:,}" if self.total else f"{self.done:,}"
        left = f"{_duration(seconds / self.done * (self.total - self.done))} left" if self.total and self.done else ""
        parts = [counted, text, left or _duration(seconds)]
        told = f"{self.what}: {', '.join(part for part in parts if part)}"
        if not self._terminal or not self.total:
            return told
        full = BAR * min(self.done, self.total) // self.total
        return f"{'█' * full}{'░' * (BAR - full)} {told}"

    def say(self, text: str) -> None:
        """Print a line on stdout; the redrawn line makes room."""
        self.clear()
        print(text, flush=True)

    def clear(self) -> None:
        """Remove the redrawn line."""
        if self._drawn:
            self._write(CLEAR)
            self._drawn = False


class PytestProgress:
    """A plugin: where pytest's own dots go into a file or a pipe, stderr tells how far it is and what has failed."""

    def __init__(self, write: Callable[[str], object] | None = None) -> None:
        self._progress = Progress("tests", write=write or _writer_of_stderr())
        self._failed = 0

    def pytest_collection_finish(self, session: Any) -> None:
        """Without workers."""
        self._progress.total = self._progress.total or len(session.items)

    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """With workers: each of them collects all tests."""
        self._progress.total = len(ids)

    pytest_xdist_node_collection_finished.optionalhook = True  # type: ignore[attr-defined]  # what pytest's decorator sets

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A part of a test is done; its last part is the teardown."""
        self._failed += bool(report.failed)
        told = f"{self._failed} failed" if self._failed else ""
        if report.when == "teardown":
            self._progress.step(told)

    def pytest_sessionfinish(self) -> None:
        """The summary comes."""
        self._progress.clear()


def _writer_of_stderr() -> Callable[[str], object]:
    own = os.dup(2)  # pytest redirects the descriptor itself while a test runs
    lead = "\n" if os.path.sameopenfile(1, 2) else ""  # pytest's dots stand there too, without a line end
    return lambda text: os.write(own, (lead + text).encode())


def run_pytest(words: list[str]) -> int:
    """Run pytest in this process; its exit code. With a terminal on stdout its own display is enough."""
    import pytest

    return int(pytest.main(words, plugins=[] if sys.stdout.isatty() else [PytestProgress()]))


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    return f"{whole // 60}m {whole % 60:02d}s" if whole >= 60 else f"{whole}s"


def tell(text: str) -> None:
    """Write to stderr at once."""
    sys.stderr.write(text)
    sys.stderr.flush()
