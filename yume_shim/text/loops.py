"""Finds text that repeats itself over and over, with a small, bounded amount of work per character. Pure."""

from __future__ import annotations

CHECK_EVERY = 512
"""Characters between two looks at the text."""
WINDOW = 8_192
"""Characters of the end of the text that are looked at."""
MIN_REPEATED = 4_000
"""A repeated passage fills at least so many characters ..."""
MIN_TIMES = 4
"""... and comes at least so often."""
MIN_DIFFERENT = 5
"""Different letters and digits in the passage. Rulers, dots and rows of zeros do repeat in a text: they must fill the
whole window."""
PROBE = 48
"""Characters at the end whose last earlier occurrence gives the length of the passage."""


class LoopDetector:
    """Takes the pieces of one text. Each look costs a search in the window, whatever the length of the text."""

    __slots__ = ("_new", "_pieces", "_tail", "total")

    def __init__(self) -> None:
        self._tail = ""
        self._pieces: list[str] = []
        self._new = 0
        self.total = 0

    def feed(self, piece: str) -> int:
        """0, or how many characters at the end of the text repeat what comes before them."""
        self._pieces.append(piece)
        self._new += len(piece)
        self.total += len(piece)
        if self._new < CHECK_EVERY:
            return 0
        self._tail = (self._tail + "".join(self._pieces))[-WINDOW:]
        self._pieces, self._new = [], 0
        return self._repeated()

    def _repeated(self) -> int:
        tail = self._tail
        if len(tail) < MIN_REPEATED:
            return 0
        before = tail.rfind(tail[-PROBE:], 0, len(tail) - 1)
        period = len(tail) - PROBE - before
        if before < 0 or not 0 < period <= WINDOW // MIN_TIMES:
            return 0
        passage = tail[-period:]
        varied = len({char for char in passage if char.isalnum()}) >= MIN_DIFFERENT
        least = max(MIN_REPEATED if varied else WINDOW - period, MIN_TIMES * period)
        times = -(-least // period)
        if times * period > len(tail) or not tail.endswith(passage * times):
            return 0
        while times * period + period <= len(tail) and tail.endswith(passage * (times + 1)):
            times += 1
        return (times - 1) * period
