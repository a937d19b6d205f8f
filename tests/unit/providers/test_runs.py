"""Frames that arrive together are parsed and decoded in one step: with the same result as one by one."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import FakeIds, cancel
from tests.helpers.wire_cases import Case, cases, events_to_json, no_log
from yume_shim.providers.http.frames import FrameParser
from yume_shim.providers.pipeline import ApiProvider
from yume_shim.types.errors import ProviderFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from yume_shim.types.blocks import Json
    from yume_shim.types.models import WireRequest
    from yume_shim.types.ports import Cancel

CASES = cases()
EVENTS = (
    b'data: {"a":1}',
    b'data:{"a":2}',
    b'data: {"a":{"b":[]}}',
    b'data: {"a":1',
    b'data: "b":2}',
    b'data: {"a":[{}',
    b"data: {}]}",
    b"data: [1]",
    b"data: [DONE]",
    b'data: "text"',
    b'event: x\ndata: {"type":"x"}',
    b'event: y\ndata: {"type":"y","t":"\xc3\xa9"}',
    b'event: x\ndata: {"t":"\\ud800"}',
    b'event: x\ndata: {"t":"\xff"}',
    b'event: x\ndata: {"a":\ndata: 1}',
    b'data: {"a":1}\nid: 5',
    b': comment\ndata: {"a":1}',
    b"",
    b": ping",
)
SEEDS = 4_000


class Frames:
    """An answer whose frames come in reads of so many."""

    def __init__(self, frames: list[Json], together: int) -> None:
        self.headers: Mapping[str, str] = {}
        self.over: Callable[[], bool] = lambda: False
        self._frames, self._together = frames, together

    def reads(self) -> Iterator[list[Json]]:
        for place in range(0, len(self._frames), self._together):
            yield self._frames[place : place + self._together]

    def __iter__(self) -> Iterator[Json]:
        yield from self._frames

    def close(self) -> None:
        pass


class Transport:
    """Plays the answers of a case."""

    def __init__(self, case: Case, together: int) -> None:
        self._wires, self._together = case.wires(), together

    def open(self, wire: WireRequest, cancel: Cancel) -> Frames:
        frames = [frame for frame in self._wires.pop(0) if "!status" not in frame and "!headers" not in frame]
        return Frames(frames, self._together)

    def close(self) -> None:
        pass


def is_plain(case: Case) -> bool:
    """Are its answers frames only, without statuses and faults of the connection?"""
    return all(not any(name.startswith("!") and name != "!done" for name in frame) for w in case.wires() for frame in w)


def played(case: Case, together: int) -> list[Json]:
    provider = ApiProvider(case.adapter, case.endpoint, Transport(case, together), FakeIds(), no_log)
    return events_to_json(provider.stream(case.request, cancel()))


@pytest.mark.parametrize("case", [case for case in CASES if is_plain(case)], ids=lambda case: case.folder.name)
def test_frames_of_one_read_give_the_events_of_single_ones(case: Case) -> None:
    alone = played(case, 1)
    assert played(case, 2) == alone
    assert played(case, 10_000) == alone


def parsed(chunks: list[bytes]) -> list[Json] | str:
    parser = FrameParser("x")
    try:
        return [frame for chunk in chunks for frame in parser.feed(chunk)] + parser.finish()
    except ProviderFailed as error:
        return error.failure.message


@pytest.mark.parametrize("alike", [True, False])
def test_events_of_one_read_give_the_frames_of_single_ones(alike: bool) -> None:
    chance = random.Random(7)
    for _ in range(SEEDS):
        kinds = chance.sample(EVENTS, 2) if alike else EVENTS
        events = [chance.choice(kinds) + b"\n\n" for _ in range(chance.randint(1, 6))]
        first = b'data: {"begin":1}\n\n'
        assert parsed([first, b"".join(events)]) == parsed([first, *events]), events
