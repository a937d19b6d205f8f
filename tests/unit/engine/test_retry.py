"""The retry plan: waits, caps, retry-after, jitter, what is never retried."""

from __future__ import annotations

import pytest

from yume_shim.engine.retry import plan_retry
from yume_shim.types.errors import Failure
from yume_shim.types.models import Backoff

PLAIN = Backoff()


def failure(*, retryable: bool = True, after_ms: int | None = None) -> Failure:
    return Failure("overloaded", "busy", 529, retryable=retryable, retry_after_ms=after_ms)


def test_waits_double_and_then_give_up() -> None:
    assert [plan_retry(failure(), done, PLAIN, 0.0) for done in range(5)] == [1.0, 2.0, 4.0, None, None]


def test_gemini_and_openai_values() -> None:
    gemini = Backoff(initial=0.5, retries=5)
    assert [plan_retry(failure(), done, gemini, 0.0) for done in range(6)] == [0.5, 1.0, 2.0, 4.0, 8.0, None]
    openai = Backoff(cap=120.0, retries=9)
    assert plan_retry(failure(), 8, openai, 0.0) == 120.0


@pytest.mark.parametrize(("jitter", "wait"), [(-1.0, 0.9), (0.0, 1.0), (1.0, 1.1)])
def test_jitter_is_a_tenth(jitter: float, wait: float) -> None:
    assert plan_retry(failure(), 0, PLAIN, jitter) == pytest.approx(wait)


@pytest.mark.parametrize("jitter", [-1.0, 0.0, 1.0])
def test_retry_after_wins_and_is_never_shortened(jitter: float) -> None:
    assert plan_retry(failure(after_ms=7_500), 0, PLAIN, jitter) == 7.5
    assert plan_retry(failure(after_ms=0), 0, PLAIN, jitter) == 0.0


def test_retry_after_above_the_cap_fails_at_once() -> None:
    assert plan_retry(failure(after_ms=60_000), 0, PLAIN, 0.0) == 60.0
    assert plan_retry(failure(after_ms=60_001), 0, PLAIN, 0.0) is None


def test_failures_that_are_not_retryable_are_not_retried() -> None:
    assert plan_retry(failure(retryable=False, after_ms=10), 0, PLAIN, 0.0) is None
    assert plan_retry(failure(), 0, Backoff(retries=0), 0.0) is None


def test_many_retries_do_not_overflow() -> None:
    assert plan_retry(failure(), 5_000, Backoff(retries=10_000), 0.0) == 60.0
