"""How fast requests may be sent."""

from __future__ import annotations

import pytest

from yume_shim.batch.lanes import FIRST_TOKENS, POLL, SPACING, Lane


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_without_limits_everything_starts_at_once() -> None:
    lane = Lane(2, 0, 0, Clock())
    lane.start()
    assert lane.wait(10) == 0
    lane.start()
    assert lane.wait(10) == POLL  # both workers are busy
    assert [lane.permit("w", str(n), 10) for n in range(9)] == [0.0] * 9


def test_requests_are_evenly_spaced() -> None:
    clock = Clock()
    lane = Lane(100, 2, 0, clock)
    waits = [lane.permit("w", str(n), 0) for n in range(4)]
    assert waits == pytest.approx([n * SPACING / 2 for n in range(4)])
    assert lane.wait(0) == pytest.approx(2 * SPACING)  # no further prompt until the row is that short
    lane.forget({"2", "3"})
    clock.now += waits[1]
    assert lane.permit("w", "1", 0) == 0
    assert lane.permit("w", "4", 0) == pytest.approx(1.5 * SPACING)


def test_tokens_of_the_last_minute_follow_what_was_measured() -> None:
    clock = Clock()
    lane = Lane(4, 0, 2 * FIRST_TOKENS, clock)
    assert lane.permit("w0", "a", 0) == 0
    assert lane.permit("w1", "b", 0) == 0
    assert lane.permit("w2", "c", 0) == POLL  # what the others need is not known yet
    lane.settle("w0", 900)
    lane.settle("w1", 50)
    clock.now += 59
    assert lane.permit("w2", "c", 0) == POLL
    clock.now += 1
    assert lane.permit("w2", "c", 0) == 0


def test_a_request_larger_than_the_limit_waits_for_an_empty_minute() -> None:
    clock = Clock()
    lane = Lane(4, 0, 100, clock)
    lane.settle("w", 4_000)
    assert lane.permit("w", "a", 0) == POLL
    clock.now += 60
    assert lane.permit("w", "a", 0) == 0


def test_a_refusal_pauses_all_and_halves_once() -> None:
    clock = Clock()
    lane = Lane(8, 0, 0, clock)
    for _ in range(3):
        lane.start()
    lane.refused(5)
    lane.refused(7)  # during the pause: no further halving
    assert (lane.allowed, lane.wait(0)) == (4, 7)
    clock.now += 7
    assert lane.wait(0) == 0
    lane.start()
    assert lane.wait(0) == POLL
    lane.refused(0)
    assert (lane.allowed, lane.wait(0)) == (2, 1)


def test_a_refusal_also_stops_requests_that_had_their_place() -> None:
    clock = Clock()
    lane = Lane(8, 1, 0, clock)
    assert lane.permit("w", "a", 0) == 0
    assert lane.permit("w", "b", 0) == pytest.approx(SPACING)
    lane.refused(30)
    clock.now += SPACING
    assert lane.permit("w", "b", 0) == pytest.approx(30 - SPACING)
    clock.now += 30 - SPACING
    assert lane.permit("w", "b", 0) == 0
    assert lane.permit("w", "c", 0) == pytest.approx(SPACING)


def test_it_never_stops_altogether_and_recovers_slowly() -> None:
    clock = Clock()
    lane = Lane(4, 0, 0, clock)
    for _ in range(5):
        lane.refused(1)
        clock.now += 2
    assert lane.allowed == 1
    for _ in range(3):
        lane.start()
        lane.end(succeeded=True)
    assert 2 <= lane.allowed < 4
    for _ in range(40):
        lane.end(succeeded=True)
    assert lane.allowed == 4
