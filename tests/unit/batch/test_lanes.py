"""How fast prompts may start."""

from __future__ import annotations

from yume_shim.batch.lanes import FIRST_TOKENS, POLL, Lane


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_without_limits_everything_starts_at_once() -> None:
    lane = Lane(2, 0, 0, Clock())
    lane.start(10)
    assert lane.wait(10) == 0
    lane.start(10)
    assert lane.wait(10) == POLL  # both workers are busy


def test_requests_per_second_count_those_of_tools_too() -> None:
    clock = Clock()
    lane = Lane(100, 2, 0, clock)
    starts = []
    for _ in range(6):
        clock.now += lane.wait(0)
        lane.start(0)
        starts.append(clock.now - 100)
    assert starts == [0, 0, 0.5, 1.0, 1.5, 2.0]
    lane.end(0, 0, 5, succeeded=True)  # the prompt sent four more requests
    assert lane.wait(0) == 2.5


def test_tokens_per_minute_follow_what_was_measured() -> None:
    clock = Clock()
    lane = Lane(100, 0, 60_000, clock)
    assert lane.expected(4000) == 1000 + FIRST_TOKENS
    lane.start(4000)
    lane.end(4000, 70_000, 1, succeeded=True)
    assert lane.expected(4000) == 70_000
    assert lane.wait(4000) == 70.0  # 10,000 over, and a full bucket is needed
    clock.now += 70
    assert lane.wait(4000) == 0


def test_a_refusal_pauses_all_and_halves_once() -> None:
    clock = Clock()
    lane = Lane(8, 0, 0, clock)
    for _ in range(3):
        lane.start(0)
    lane.refused(5)
    lane.refused(7)  # during the pause: no further halving
    assert (lane.allowed, lane.wait(0)) == (4, 7)
    clock.now += 7
    assert lane.wait(0) == 0
    lane.start(0)
    assert lane.wait(0) == POLL
    lane.refused(0)
    assert (lane.allowed, lane.wait(0)) == (2, 1)


def test_it_never_stops_altogether_and_recovers_slowly() -> None:
    clock = Clock()
    lane = Lane(4, 0, 0, clock)
    for _ in range(5):
        lane.refused(1)
        clock.now += 2
    assert lane.allowed == 1
    for _ in range(3):
        lane.start(0)
        lane.end(0, 10, 1, succeeded=True)
    assert 2 <= lane.allowed < 4
    for _ in range(40):
        lane.end(0, 10, 1, succeeded=True)
    assert lane.allowed == 4
