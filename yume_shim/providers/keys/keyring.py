"""A provider with several keys for one endpoint, or one key that can be renewed: it changes keys when one fails.

A limited key is not used for as long as the server asked, one without credit for an hour, a refused one never again.
The next key is used at once, within the same request, unless a part of the answer has arrived. If no key is left, the
failure says how long the first of them is still limited, so that the engine's retry waits exactly that long.
"""

from __future__ import annotations

import threading

from yume_shim.providers.wire.failures import (
    failure_all_limited,
    failure_all_refused,
    failure_cancelled,
    failure_expired,
    failure_setup,
)
from yume_shim.types.errors import BadInvocation, Cancelled
from yume_shim.types.events import LimitsReported, Notice, ResponseEnded, ResponseFailed
from yume_shim.types.models import Usage
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.types.errors import Failure
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.models import Credential, Endpoint, Request
    from yume_shim.types.ports import Cancel, Clock, KeySource, Provider

    Log = Callable[[str, str], None]

NO_CREDIT_SECONDS = 3_600.0
"""How long a key without credit is not used: the account must be topped up first."""
MAX_STRIKES = 16
"""The largest exponent of a pause; the endpoint's cap is reached long before."""
_WHY = {"rate_limit": "is at its limit", "billing": "has no credit", "auth": "was refused"}


class _Slot:
    """One key: its source, its provider, and its state."""

    __slots__ = ("credential", "failure", "number", "provider", "refused", "source", "strikes", "suspended_until")

    def __init__(self, number: int, source: KeySource) -> None:
        self.number, self.source = number, source
        self.credential: Credential | None = None
        self.provider: Provider | None = None
        self.suspended_until = 0.0
        self.strikes = 0
        self.refused = False
        self.failure: Failure | None = None

    @property
    def place(self) -> str:
        return self.source.known().source


class KeyringProvider:
    """Implements `types.ports.Provider` over one provider per key. `make` builds one of those."""

    def __init__(
        self,
        sources: tuple[KeySource, ...],
        make: Callable[[Credential], Provider],
        endpoint: Endpoint,
        clock: Clock,
        log: Log,
    ) -> None:
        self._slots = [_Slot(number, source) for number, source in enumerate(sources, 1)]
        self._make, self._name, self._backoff = make, endpoint.name, endpoint.backoff
        self._clock, self._log = clock, log
        self._lock = threading.Lock()
        self._pending: list[Notice] = []

    def stream(self, request: Request, cancel: Cancel) -> Iterator[ModelEvent]:
        """The events of one response, from the first key that works."""
        lost = Usage()
        tried: set[int] = set()
        """Numbers of the keys that failed in this request; negative: the source of that key was read again."""
        while True:
            slot = self._pick(tried)
            yield from self._notices()
            if slot is None:
                yield ResponseFailed(self._none_left(), lost=lost)
                return
            begun, failure, failed = False, None, None
            try:
                provider = self._provider(slot, cancel)
            except (BadInvocation, Cancelled) as error:
                failure = self._unavailable(error)
                tried.add(-slot.number)  # its source was just read
            else:
                for event in provider.stream(request, cancel):
                    if isinstance(event, ResponseFailed):
                        failure, failed = event.failure, event
                        break
                    begun = begun or not isinstance(event, (LimitsReported, Notice))
                    yield replace(event, lost=event.lost + lost) if isinstance(event, ResponseEnded) else event
            if failure is None:
                self._worked(slot)
                return
            outcome = self._judge(slot, failure, tried, cancel, begun=begun)
            if outcome is not None:
                failed = ResponseFailed(outcome) if failed is None else replace(failed, failure=outcome)
                yield replace(failed, lost=failed.lost + lost)
                return
            if failed is not None:
                lost = lost + failed.lost + failed.usage

    def close(self) -> None:
        """Close the connections of all keys."""
        with self._lock:
            made = [slot.provider for slot in self._slots if slot.provider is not None]
            for slot in self._slots:
                slot.provider = None
        for provider in made:
            provider.close()

    # ------------------------------------------------------------ choosing

    def _pick(self, tried: set[int]) -> _Slot | None:
        """The first key that is neither limited nor refused; else a refused one whose source may have another by
        now."""
        now = self._clock.monotonic()
        with self._lock:
            fresh = [slot for slot in self._slots if slot.number not in tried and slot.suspended_until <= now]
            good = next((slot for slot in fresh if not slot.refused), None)
            return good or next((slot for slot in fresh if not slot.source.fixed), None)

    def _provider(self, slot: _Slot, cancel: Cancel) -> Provider:
        credential = slot.source.get(cancel)
        with self._lock:
            if slot.provider is None or slot.credential != credential:
                made, before = self._make(credential), slot.provider
                slot.provider, slot.credential = made, credential
                if before is not None:  # running answers continue; providers of old tokens must not accumulate
                    before.close()
            return slot.provider

    def _notices(self) -> list[Notice]:
        with self._lock:
            pending, self._pending = self._pending, []
        return pending

    # ------------------------------------------------------------ judging

    def _judge(self, slot: _Slot, failure: Failure, tried: set[int], cancel: Cancel, *, begun: bool) -> Failure | None:
        """The failure to report; None to ask again, with another key or a renewed one."""
        if failure.kind not in _WHY or cancel.is_set():
            return failure
        try:
            renewed = failure.kind == "auth" and self._renew(slot, tried, cancel)
        except Cancelled:
            return failure_cancelled(self._name)
        except BadInvocation as error:
            failure, renewed = replace(failure, message=f"{failure.message}; {error.message}"), False
        tried.add(slot.number)
        if renewed:
            tried.discard(slot.number)
            return failure_expired(failure) if begun else None
        if len(self._slots) == 1:
            return failure
        self._suspend(slot, failure)
        following = self._pick(tried)
        if following is None:
            return failure if begun else self._none_left()
        self._report(slot, following, failure)
        if begun:
            return failure_expired(failure)
        return None

    def _renew(self, slot: _Slot, tried: set[int], cancel: Cancel) -> bool:
        """Does the source of the refused key have another one now? Read once per request."""
        mark = -slot.number
        if slot.credential is None or slot.source.fixed or mark in tried:
            return False
        tried.add(mark)
        if not slot.source.renew(slot.credential, cancel):
            return False
        self._log("info", f"the key from {slot.place} was refused; its source has another one now")
        return True

    def _suspend(self, slot: _Slot, failure: Failure) -> None:
        """Suspend a key for as long as its failure says."""
        backoff = self._backoff
        with self._lock:
            slot.failure = failure
            slot.refused = failure.kind == "auth"
            if failure.kind == "billing":
                seconds = NO_CREDIT_SECONDS
            elif failure.retry_after_ms is not None:
                seconds = failure.retry_after_ms / 1000
            else:
                seconds = min(backoff.initial * backoff.multiplier ** min(slot.strikes, MAX_STRIKES), backoff.cap)
            slot.strikes += 1
            if not slot.refused:
                slot.suspended_until = self._clock.monotonic() + seconds

    def _worked(self, slot: _Slot) -> None:
        with self._lock:
            slot.strikes, slot.refused, slot.suspended_until = 0, False, 0.0

    def _none_left(self) -> Failure:
        now = self._clock.monotonic()
        places = ", ".join(slot.place for slot in self._slots)
        with self._lock:
            limited = [slot for slot in self._slots if not slot.refused and slot.failure is not None]
            soonest = min(limited, key=lambda slot: slot.suspended_until, default=None)
            failures = [slot.failure for slot in self._slots if slot.failure is not None]
        if soonest is None or soonest.failure is None:
            return failure_all_refused(self._name, places, failures[-1])
        return failure_all_limited(places, max(0.0, soonest.suspended_until - now), soonest.failure)

    def _unavailable(self, error: BadInvocation | Cancelled) -> Failure:
        return failure_cancelled(self._name) if isinstance(error, Cancelled) else failure_setup(self._name, error)

    def _report(self, slot: _Slot, following: _Slot, failure: Failure) -> None:
        total = len(self._slots)
        why = _WHY[failure.kind] if slot.credential is not None else "is not available"
        text = (
            f"key {slot.number} of {total} ({slot.place}) {why}: "
            f"key {following.number} of {total} ({following.place}) is used"
        )
        self._log("info", text)
        with self._lock:
            self._pending.append(Notice("key_rotated", text))
