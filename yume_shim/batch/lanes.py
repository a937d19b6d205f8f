"""How fast requests may be sent: a lane per provider, with given rates, slower after refusals, shared by all workers.

Every request asks for its turn, those in the middle of a prompt too. With a rate of requests they are evenly spaced;
with a rate of tokens a request is sent when the last minute leaves room for what it will probably need. A refusal for
too many requests (429) or overload (529) makes all wait for as long as the provider asked, and halves the number of
prompts that run at once; after as many successes as run at once, one more may.
"""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_TOKENS = 500
"""Added to a task's own size before anything was measured."""
CHARACTERS_PER_TOKEN = 4
SMOOTHING = 0.2
"""Weight of the newest request in the mean of tokens."""
MIN_PAUSE = 1.0
"""Seconds of a pause, if the provider names none."""
POLL = 0.5
"""The longest time that a worker sleeps before it asks again."""
MINUTE = 60.0
SPACING = 1.05
"""Requests are sent this much further apart than the rate says: on their way the distances change a little."""


class LastMinute:
    """The tokens of the last minute, and those that requests on their way will probably need."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._spent: deque[tuple[float, float]] = deque()
        self._sum = 0.0
        self._reserved: dict[str, float] = {}

    def has_room(self, needed: float, now: float) -> bool:
        """Is there room for so many? What is larger than the limit waits for an empty minute."""
        while self._spent and self._spent[0][0] <= now - MINUTE:
            self._sum -= self._spent.popleft()[1]
        return min(needed, self._limit) + self._sum + sum(self._reserved.values()) <= self._limit

    def reserve(self, worker: str, tokens: float) -> None:
        """A request of this worker is sent."""
        self._reserved[worker] = tokens

    def settle(self, worker: str, tokens: float, now: float) -> None:
        """The worker's requests needed so many."""
        self._reserved.pop(worker, None)
        if tokens:
            self._spent.append((now, tokens))
            self._sum += tokens


class Lane:
    """One provider."""

    def __init__(self, most: int, rps: float, tpm: float, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._most = most
        self.allowed = float(most)
        """How many prompts may run at once."""
        self.running = 0
        self._interval = SPACING / rps if rps else 0.0
        self._free = clock()
        """The first moment that no request has taken yet."""
        self._places: dict[str, float] = {}
        """The moments that waiting requests have taken."""
        self._tokens = LastMinute(tpm) if tpm else None
        self._mean = 0.0
        self._paused = 0.0

    def wait(self, size: int) -> float:
        """Seconds until a prompt of that size may start; 0 = now. Its requests ask for their turns themselves."""
        now = self._clock()
        if self.running >= int(self.allowed):
            return max(POLL, self._paused - now)
        return max(0.0, self._ready(size, now) - now, self._free - now)

    def pause(self) -> float:
        """Seconds for which the provider has still asked to wait."""
        return max(0.0, self._paused - self._clock())

    def start(self) -> None:
        """A prompt starts."""
        self.running += 1

    def end(self, *, succeeded: bool) -> None:
        """A prompt ended."""
        self.running = max(0, self.running - 1)
        if succeeded and self.allowed < self._most:
            self.allowed = min(float(self._most), self.allowed + 1 / self.allowed)

    def permit(self, worker: str, ticket: str, size: int) -> float:
        """Seconds until this request may be sent; 0 = now. It takes a place in the row, and asks again when its time
        has come: a refusal may have been first."""
        now = self._clock()
        place = self._places.pop(ticket, None)
        ready = self._ready(size, now)
        if ready > now:
            return ready - now
        if place is None:
            place = max(now, self._free)
            self._free = place + self._interval
        if place > now:
            self._places[ticket] = place
            return place - now
        if self._tokens is not None:
            self._tokens.reserve(worker, self._expected(size))
        return 0.0

    def settle(self, worker: str, tokens: int) -> None:
        """The requests of this worker needed so many tokens since the last time."""
        if tokens:
            self._mean = tokens if not self._mean else self._mean + SMOOTHING * (tokens - self._mean)
        if self._tokens is not None:
            self._tokens.settle(worker, tokens, self._clock())

    def forget(self, tickets: set[str]) -> None:
        """These requests will not be sent; their places stay empty."""
        for ticket in tickets:
            self._places.pop(ticket, None)

    def refused(self, seconds: float) -> None:
        """The provider refused one for its rate: all wait. Refusals during a pause extend it, and slow down once."""
        now = self._clock()
        if now >= self._paused:
            self.allowed = max(1.0, self.allowed / 2)
        self._paused = max(self._paused, now + max(seconds, MIN_PAUSE))

    def _ready(self, size: int, now: float) -> float:
        """The first moment at which neither a pause nor the rate of tokens is in the way."""
        full = self._tokens is not None and not self._tokens.has_room(self._expected(size), now)
        return max(self._paused, now + POLL if full else now)

    def _expected(self, size: int) -> float:
        """Tokens that a request will probably need."""
        return self._mean or size / CHARACTERS_PER_TOKEN + FIRST_TOKENS
