"""How fast prompts may start: a lane per provider, with given rates, and slower after refusals. All workers share it.

A refusal for too many requests (429) or overload (529) pauses the lane for as long as the provider asked, and halves
the number of prompts that may run at once; after as many successes as run at once, one more may. Requests and tokens
that a prompt turned out to need are debited afterwards: one with many tool calls delays the next ones.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_TOKENS = 500
"""Added to a task's own size before anything was measured."""
CHARACTERS_PER_TOKEN = 4
SMOOTHING = 0.2
"""Weight of the newest task in the mean of tokens."""
MIN_PAUSE = 1.0
"""Seconds of a pause, if the provider names none."""
POLL = 0.5
"""The longest time that a worker sleeps before it asks again."""


class Bucket:
    """Permits that flow in at a rate; may go below zero, then nothing starts until it is paid back."""

    def __init__(self, per_second: float, burst: float, now: float) -> None:
        self._rate, self._burst = per_second, burst
        self._level, self._at = burst, now

    def wait(self, needed: float, now: float) -> float:
        """Seconds until so many permits are there; 0 = now. A need larger than the bucket waits for a full one."""
        self._fill(now)
        missing = min(needed, self._burst) - self._level
        return max(0.0, missing / self._rate)

    def take(self, amount: float, now: float) -> None:
        """Take permits, or give some back (a negative amount)."""
        self._fill(now)
        self._level = min(self._burst, self._level - amount)

    def _fill(self, now: float) -> None:
        self._level = min(self._burst, self._level + (now - self._at) * self._rate)
        self._at = now


class Lane:
    """One provider."""

    def __init__(self, most: int, rps: float, tpm: float, clock: Callable[[], float]) -> None:
        now = clock()
        self._clock = clock
        self._most = most
        self.allowed = float(most)
        """How many prompts may run at once."""
        self.running = 0
        self._requests = Bucket(rps, max(1.0, rps), now) if rps else None
        self._tokens = Bucket(tpm / 60, tpm, now) if tpm else None
        self._mean = 0.0
        self._paused = 0.0

    def wait(self, size: int) -> float:
        """Seconds until a prompt of that size may start; 0 = now."""
        now = self._clock()
        if now < self._paused:
            return self._paused - now
        if self.running >= int(self.allowed):
            return POLL
        waits = [0.0]
        if self._requests is not None:
            waits.append(self._requests.wait(1, now))
        if self._tokens is not None:
            waits.append(self._tokens.wait(self.expected(size), now))
        return max(waits)

    def start(self, size: int) -> None:
        """A prompt starts: take its first request and the tokens it is expected to need."""
        self.running += 1
        if self._requests is not None:
            self._requests.take(1, self._clock())
        if self._tokens is not None:
            self._tokens.take(self.expected(size), self._clock())

    def end(self, size: int, tokens: int, requests: int, *, succeeded: bool) -> None:
        """A prompt ended: settle what it really needed."""
        self.running = max(0, self.running - 1)
        now = self._clock()
        if self._requests is not None:
            self._requests.take(requests - 1, now)
        if self._tokens is not None:
            self._tokens.take(tokens - self.expected(size), now)
        if tokens:
            self._mean = tokens if not self._mean else self._mean + SMOOTHING * (tokens - self._mean)
        if succeeded and self.allowed < self._most:
            self.allowed = min(float(self._most), self.allowed + 1 / self.allowed)

    def refused(self, seconds: float) -> None:
        """The provider refused one for its rate: all wait. Refusals during a pause extend it, and slow down once."""
        now = self._clock()
        if now >= self._paused:
            self.allowed = max(1.0, self.allowed / 2)
        self._paused = max(self._paused, now + max(seconds, MIN_PAUSE))

    def expected(self, size: int) -> float:
        """Tokens that a prompt will probably need."""
        return self._mean or size / CHARACTERS_PER_TOKEN + FIRST_TOKENS
