"""Deltas that arrived together take the quick way: the same bytes as one by one, and work that grows with their number
only."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.counting import calls_of
from tests.helpers.fakes import cancel
from tests.helpers.wire_cases import WireTransport, cases, no_log, one_by_one
from yume_shim.dialects.acp import AcpDialect
from yume_shim.dialects.flat import FlatDialect
from yume_shim.dialects.nested import NestedDialect
from yume_shim.host.clock import FixedClock
from yume_shim.host.delta_merging import DeltaMerger
from yume_shim.host.event_output import EventOutput
from yume_shim.host.ids import CountedIds
from yume_shim.host.writer import LineWriter
from yume_shim.providers.http.frames import FrameParser
from yume_shim.providers.pipeline import ApiProvider
from yume_shim.providers.wire.delta_joining import joined
from yume_shim.types.blocks import Text, Thinking, ToolCall
from yume_shim.types.events import BlockDelta, BlockEnded, BlockStarted, ResponseStarted, SessionInfo, SessionReady

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from yume_shim.types.events import Event, ModelEvent

CAP = 20_000
READY = SessionReady(SessionInfo("s-1", "/ws", "vendor", "m", "default", ()))
FORMS: dict[str, Callable[[CountedIds], Any]] = {
    "flat": lambda ids: FlatDialect("1", ids, CAP),
    "flat with arguments": lambda ids: FlatDialect("1", ids, CAP, tool_deltas=True),
    "nested": lambda ids: NestedDialect("1", ids, partial=True),
    "nested without pieces": lambda ids: NestedDialect("1", ids),
    "acp": lambda ids: AcpDialect("s-1", "/ws"),
}
ODD = (
    "a",
    "",
    "\x00\x1f\x7f",
    'say "hi" \\ \n',
    "\u2028\u0085\u200d",
    "😀é",
    "\ud800",
    "1e-5",
    "x" * 1_700,
    "y" * 9_000,
)
"""What JSON, lines and caps make of a piece; the last ones are too long for the quick way."""


def printed(path: Path, form: str, events: Iterable[Event]) -> bytes:
    """What a session prints."""
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    try:
        ids = CountedIds()
        writer = LineWriter(fd, CAP, wide_escapes=form.startswith("nested"))
        written = DeltaMerger(writer, 0.0, CAP) if form.startswith("flat") else writer
        output = EventOutput(FixedClock(), ids, FORMS[form](ids), written)
        for event in (READY, *events):
            output.emit(event)
    finally:
        os.close(fd)
    return path.read_bytes() + ids.uuid().encode()


def story(kind: Any, block: Any) -> list[ModelEvent]:
    return [ResponseStarted("msg_1", "m"), BlockStarted(0, block), *(BlockDelta(0, kind, odd) for odd in ODD * 2)]


@cache
def recorded() -> list[list[ModelEvent]]:
    """The events of every golden of the providers, and odd pieces in every kind of block."""
    found = [
        story("text", Text("")),
        story("thinking", Thinking("")),
        story("json", ToolCall("c1", "Read", {})),
        [*story("thinking", Thinking("")), BlockEnded(0, Thinking("")), BlockDelta(1, "text", "next")],
    ]
    for case in cases():
        transport = WireTransport(case.wires(), case.endpoint.name)
        provider = ApiProvider(case.adapter, case.endpoint, transport, CountedIds(), no_log)
        found.append(list(one_by_one(provider.stream(case.request, cancel()))))
    return found


@pytest.mark.parametrize("form", FORMS)
def test_the_quick_way_prints_the_same_bytes(tmp_path: Path, form: str) -> None:
    stories = recorded()
    quick = [event for events in stories for event in joined(events)]
    slow = [event for events in stories for event in events]
    assert len(quick) + 100 < len(slow)
    assert printed(tmp_path / "quick", form, quick) == printed(tmp_path / "slow", form, slow)


def test_the_joined_delta_remembers_its_pieces() -> None:
    a, b, other = BlockDelta(0, "text", "a"), BlockDelta(0, "text", "b"), BlockDelta(1, "json", "{")
    assert joined([a, b, other]) == [BlockDelta(0, "text", "ab", ("a", "b")), other]
    run = BlockDelta(0, "text", "xy", ("x", "y"))  # a decoder takes runs in one step
    assert joined([a, run, b]) == [BlockDelta(0, "text", "axyb", ("a", "x", "y", "b"))]
    assert joined([run, b]) == [BlockDelta(0, "text", "xyb", ("x", "y", "b"))]
    assert joined([run, other]) == [run, other]
    assert joined([other, a, BlockEnded(0, Text("a")), b]) == [other, a, BlockEnded(0, Text("a")), b]
    assert joined([a]) == [a]
    assert joined([]) == []


def stream(count: int, size: int) -> None:
    """Read, decode and print an answer of so many events, in reads of so many bytes."""
    case = next(iter(cases("anthropic-messages")))
    delta = b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}\n\n'
    head = b'data: {"type":"message_start","message":{"id":"m"}}\n\n'
    head += b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
    data = head + delta * count + b'data: {"type":"message_stop"}\n\n'

    class Reads:
        headers: dict[str, str] = {}  # noqa: RUF012

        def open(self, wire: Any, cancel: Any) -> Any:
            return self

        def reads(self) -> Any:
            parser = FrameParser("vendor")
            for place in range(0, len(data), size):
                yield parser.feed(data[place : place + size])

        def close(self) -> None:
            pass

    provider = ApiProvider(case.adapter, case.endpoint, Reads(), CountedIds(), no_log)
    ids = CountedIds()
    fd = os.open(os.devnull, os.O_WRONLY)
    try:
        writer = LineWriter(fd, CAP, wide_escapes=False)
        output = EventOutput(FixedClock(), ids, FlatDialect("1", ids), DeltaMerger(writer, 0.0, CAP))
        for event in provider.stream(case.request, cancel()):
            output.emit(event)
    finally:
        os.close(fd)


@pytest.mark.parametrize("size", [100, 65_536])
def test_twice_the_events_are_twice_the_work(size: int) -> None:
    """Work inside C functions is not counted here but in `tests/test_growth.py`."""
    stream(10, size)  # imports
    once, twice = (calls_of(lambda number=count: stream(number, size)) for count in (500, 1_000))  # type: ignore[misc]
    assert twice < 2.1 * once
