"""Several keys: which is used, for how long one is not, the failure when none is left, and keys that can be renewed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import FakeClock, cancel
from yume_shim.providers.keys.keyring import KeyringProvider
from yume_shim.types.blocks import Message, Text
from yume_shim.types.errors import BadInvocation, Cancelled, Failure
from yume_shim.types.events import (
    BlockStarted,
    Notice,
    ResponseEnded,
    ResponseFailed,
    ResponseStarted,
)
from yume_shim.types.models import Backoff, Credential, Endpoint, ModelSpec, Request, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.types.events import ModelEvent
    from yume_shim.types.ports import Cancel

ENDPOINT = Endpoint("acme", "openai-chat", "http://acme", backoff=Backoff(initial=2.0, multiplier=3.0, cap=10.0))
REQUEST = Request(ModelSpec("m", ENDPOINT), (Message("user", (Text("Hi"),)),))
ENDED = ResponseEnded("end", "end_turn", Usage(1, 1))
STARTED: list[ModelEvent] = [ResponseStarted("r", "m"), BlockStarted(0, Text(""))]
GOOD: list[ModelEvent] = [ResponseStarted("r", "m"), ENDED]


def limited(seconds: float | None = None) -> Failure:
    after = None if seconds is None else round(seconds * 1000)
    return Failure("rate_limit", "slow down", 429, retryable=True, retry_after_ms=after)


NO_CREDIT = Failure("billing", "pay first", 402)
REFUSED = Failure("auth", "wrong key", 401)


class Source:
    """A key that gives its next value when it is renewed; None = not available."""

    def __init__(self, *keys: str | None, fixed: bool = True) -> None:
        self.keys, self._fixed, self.at, self.looked = keys, fixed, 0, 0

    @property
    def fixed(self) -> bool:
        return self._fixed

    def known(self) -> Credential:
        return Credential(self.keys[self.at] or "", "key", f"place of {self.keys[0]}")

    def get(self, cancel: Cancel) -> Credential:
        cancel.check()
        if self.keys[self.at] is None:
            raise BadInvocation("the command failed", kind="auth")
        return self.known()

    def renew(self, refused: Credential, cancel: Cancel) -> bool:
        self.looked += 1
        if self.at + 1 < len(self.keys):
            self.at += 1
        if self.keys[self.at] is None:
            raise BadInvocation("the command failed", kind="auth")
        return self.known().key != refused.key


class Ring:
    """A keyring with scripted answers per key, and the requests that it sent."""

    def __init__(self, *sources: Source, **answers: list[Failure | list[ModelEvent]]) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.closed: list[str] = []
        self.clock = FakeClock()
        self.logged: list[str] = []
        self.provider = KeyringProvider(
            sources, lambda credential: Keyed(self, credential.key), ENDPOINT, self.clock, self._log
        )

    def _log(self, level: str, message: str) -> None:
        self.logged.append(message)

    def ask(self) -> list[ModelEvent]:
        return list(self.provider.stream(REQUEST, cancel()))

    def fails(self) -> Failure:
        *_, last = self.ask()
        assert isinstance(last, ResponseFailed)
        return last.failure


class Keyed:
    """The provider of one key. The last answer is given for ever."""

    def __init__(self, ring: Ring, key: str) -> None:
        self.ring, self.key = ring, key

    def stream(self, request: Request, cancel: Cancel) -> Iterator[ModelEvent]:
        self.ring.asked.append(self.key)
        script = self.ring.answers[self.key]
        step = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(step, Failure):
            yield ResponseFailed(step)
        else:
            yield from step

    def close(self) -> None:
        self.ring.closed.append(self.key)


def rotated(number: int, key: str, why: str, following: int, other: str, total: int) -> Notice:
    return Notice(
        "key_rotated",
        f"key {number} of {total} (place of {key}) {why}: key {following} of {total} (place of {other}) is used",
    )


def test_the_first_key_is_used_while_it_works() -> None:
    ring = Ring(Source("a"), Source("b"), a=[GOOD], b=[GOOD])
    assert [ring.ask(), ring.ask()] == [GOOD, GOOD]
    assert ring.asked == ["a", "a"]
    ring.provider.close()
    assert ring.closed == ["a"]


def test_what_the_failed_keys_used_up_is_reported_with_the_answer() -> None:
    half: list[ModelEvent] = [ResponseFailed(limited(30), Usage(5, 1), usage_given=True, lost=Usage(2, 1))]
    ring = Ring(Source("a"), Source("b"), a=[half], b=[GOOD])
    *_, last = ring.ask()
    assert isinstance(last, ResponseEnded)
    assert (last.lost, last.usage) == (Usage(7, 2), GOOD[-1].usage if isinstance(GOOD[-1], ResponseEnded) else None)
    ring = Ring(Source("a"), Source("b"), a=[half], b=[half])
    *_, last = ring.ask()
    assert isinstance(last, ResponseFailed)
    assert last.lost + last.usage == Usage(14, 4)


def test_a_limited_key_is_not_used_for_as_long_as_the_server_said() -> None:
    ring = Ring(Source("a"), Source("b"), a=[limited(30), GOOD], b=[GOOD])
    assert ring.ask() == [rotated(1, "a", "is at its limit", 2, "b", 2), *GOOD]
    ring.clock.time += 29.9
    assert ring.ask() == GOOD
    ring.clock.time += 0.1
    assert ring.ask() == GOOD
    assert ring.asked == ["a", "b", "b", "a"]


def test_when_all_are_limited_the_shortest_wait_is_reported_and_that_key_used_again() -> None:
    ring = Ring(
        Source("a"), Source("b"), Source("c"), a=[limited(300), GOOD], b=[limited(60.0004), GOOD], c=[limited(120)]
    )
    ring.clock.time = 0.0
    *notices, last = ring.ask()
    assert notices == [
        rotated(1, "a", "is at its limit", 2, "b", 3),
        rotated(2, "b", "is at its limit", 3, "c", 3),
    ]
    message = "every key is at its limit (place of a, place of b, place of c); the first is usable again in 60 s: "
    assert last == ResponseFailed(
        Failure("rate_limit", message + "slow down", 429, retryable=True, retry_after_ms=60_000, case="all_keys")
    )
    assert ring.fails().retry_after_ms == 60_000, "no request is sent while all keys are limited"
    ring.clock.time += 60
    assert ring.ask() == GOOD
    assert ring.asked == ["a", "b", "c", "b"]


def test_a_wait_is_rounded_up_so_that_the_key_is_usable_after_it() -> None:
    ring = Ring(Source("a"), Source("b"), a=[limited(5), GOOD], b=[limited(9)])
    ring.clock.time = 0.0
    ring.ask()
    ring.clock.time = 0.00025
    wait = ring.fails().retry_after_ms
    assert wait == 5_000
    ring.clock.time += wait / 1000
    assert ring.ask() == GOOD


def test_without_a_wait_of_the_server_pauses_grow_by_the_endpoints_backoff() -> None:
    ring = Ring(Source("a"), Source("b"), a=[limited(), limited(), limited(), GOOD, limited()], b=[NO_CREDIT])
    waits = []
    for _ in range(3):
        wait = ring.fails().retry_after_ms
        waits.append(wait)
        assert wait is not None
        ring.clock.time += wait / 1000
    assert waits == [2_000, 6_000, 10_000]
    assert ring.ask() == GOOD
    assert ring.fails().retry_after_ms == 2_000, "a good answer resets the pause"


def test_a_key_without_credit_is_not_used_for_an_hour() -> None:
    ring = Ring(Source("a"), Source("b"), a=[NO_CREDIT, GOOD], b=[GOOD])
    assert ring.ask() == [rotated(1, "a", "has no credit", 2, "b", 2), *GOOD]
    ring.clock.time += 3_599
    ring.ask()
    ring.clock.time += 1
    ring.ask()
    assert ring.asked == ["a", "b", "b", "a"]


def test_no_credit_anywhere_is_not_retried() -> None:
    ring = Ring(Source("a"), Source("b"), a=[NO_CREDIT], b=[NO_CREDIT])
    failure = ring.fails()
    assert (failure.kind, failure.retryable, failure.retry_after_ms) == ("billing", False, 3_600_000)


def test_a_refused_key_is_never_asked_again() -> None:
    ring = Ring(Source("a"), Source("b"), a=[REFUSED], b=[GOOD])
    assert ring.ask() == [rotated(1, "a", "was refused", 2, "b", 2), *GOOD]
    ring.clock.time += 1_000_000
    assert ring.ask() == GOOD
    assert ring.asked == ["a", "b", "b"]


def test_all_refused_names_every_place() -> None:
    ring = Ring(Source("a"), Source("b"), a=[REFUSED], b=[REFUSED])
    failure = Failure(
        "auth", "every key was refused (place of a, place of b): wrong key", 401, provider="acme", case="all_keys"
    )
    assert [ring.fails(), ring.fails()] == [failure, failure]
    assert ring.asked == ["a", "b"]


@pytest.mark.parametrize("kind", ["overloaded", "server", "bad_request", "network", "timeout", "context_length"])
def test_other_failures_say_nothing_about_the_key(kind: str) -> None:
    failure = Failure(kind, "x", retryable=True)  # type: ignore[arg-type]  # the words of the type
    ring = Ring(Source("a"), Source("b"), a=[failure], b=[GOOD])
    assert ring.ask() == [ResponseFailed(failure)]
    assert ring.ask() == [ResponseFailed(failure)]
    assert ring.asked == ["a", "a"]


@pytest.mark.parametrize("failure", [limited(30), REFUSED, NO_CREDIT])
def test_after_a_part_of_the_answer_the_next_request_uses_the_next_key(failure: Failure) -> None:
    ring = Ring(Source("a"), Source("b"), a=[[*STARTED, ResponseFailed(failure)]], b=[GOOD])
    *events, last = ring.ask()
    assert events == STARTED
    assert last == ResponseFailed(
        Failure("stream_interrupted", failure.message, failure.status, retryable=True, retry_after_ms=0)
    )
    [notice, *answer] = ring.ask()
    assert isinstance(notice, Notice)
    assert answer == GOOD
    assert ring.asked == ["a", "b"]


def test_a_notice_of_the_endpoint_is_not_an_answer() -> None:
    notice = Notice("x", "text")
    ring = Ring(Source("a"), Source("b"), a=[[notice, ResponseFailed(limited(1))]], b=[GOOD])
    assert ring.ask() == [notice, rotated(1, "a", "is at its limit", 2, "b", 2), *GOOD]


# ---------------------------------------------------------------- keys that can be renewed


def test_a_refused_key_that_can_be_renewed_is_tried_once_more() -> None:
    source = Source("old", "new", fixed=False)
    ring = Ring(source, old=[REFUSED], new=[GOOD])
    assert [ring.ask(), ring.ask()] == [GOOD, GOOD]
    assert ring.asked == ["old", "new", "new"]
    ring.provider.close()
    assert ring.closed == ["old", "new"]


def test_a_renewed_key_that_is_refused_too_is_reported() -> None:
    source = Source("old", "new", "newer", fixed=False)
    ring = Ring(source, old=[REFUSED], new=[REFUSED], newer=[GOOD])
    assert ring.fails() == REFUSED
    assert (ring.asked, source.looked) == (["old", "new"], 1)
    assert ring.ask() == GOOD, "the next request looks again"


def test_the_failure_of_a_single_key_is_passed_on() -> None:
    ring = Ring(Source("a", fixed=False), a=[REFUSED])
    assert [ring.fails(), ring.fails()] == [REFUSED, REFUSED]
    ring = Ring(Source("a", fixed=False), a=[limited(), GOOD])
    assert ring.fails() == limited()
    assert ring.ask() == GOOD, "a single key is never suspended: the engine waits"


def test_an_expiry_in_the_middle_of_an_answer_interrupts_it_and_the_new_key_continues() -> None:
    source = Source("old", "new", fixed=False)
    ring = Ring(source, old=[[*STARTED, ResponseFailed(REFUSED)]], new=[GOOD])
    assert ring.ask() == [
        *STARTED,
        ResponseFailed(Failure("stream_interrupted", "wrong key", 401, retryable=True, retry_after_ms=0)),
    ]
    assert ring.ask() == GOOD
    assert ring.asked == ["old", "new"]


def test_an_expiry_without_another_key_is_passed_on() -> None:
    ring = Ring(Source("old", fixed=False), old=[[*STARTED, ResponseFailed(REFUSED)]])
    assert ring.fails() == REFUSED


def test_a_key_that_is_not_available_is_skipped() -> None:
    ring = Ring(Source(None, fixed=False), Source("b"), b=[GOOD])
    assert ring.ask() == [rotated(1, "None", "is not available", 2, "b", 2), *GOOD]
    ring = Ring(Source(None, fixed=False))
    assert ring.fails() == Failure("auth", "the command failed", provider="acme", case="missing")


def test_a_failed_renewal_is_reported_with_the_refusal() -> None:
    ring = Ring(Source("a", None, fixed=False), a=[REFUSED])
    assert ring.fails().message == "wrong key; the command failed"


def test_a_stop_while_the_key_is_read() -> None:
    ring = Ring(Source("a"), Source("b"), a=[GOOD], b=[GOOD])
    stop = cancel()
    stop.set()
    assert list(ring.provider.stream(REQUEST, stop)) == [
        ResponseFailed(Failure("cancelled", "the request was stopped", provider="acme"))
    ]
    assert ring.asked == []


def test_a_stop_during_renewal() -> None:
    class Slow(Source):
        def renew(self, refused: Credential, cancel: Cancel) -> bool:
            raise Cancelled

    ring = Ring(Slow("a", fixed=False), a=[REFUSED])
    assert ring.fails().kind == "cancelled"


def test_connections_of_an_old_key_are_closed() -> None:
    ring = Ring(Source("a", "b", fixed=False), a=[REFUSED], b=[GOOD])
    assert ring.ask() == GOOD
    assert ring.closed == ["a"]
    ring.provider.close()
    assert ring.closed == ["a", "b"]
