"""Pieces of text that are joined: on a real pipe, with a host that reads and one that does not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.timing import wait_until
from yume_shim.host.delta_merging import MAX_HELD, DeltaMerger
from yume_shim.host.writer import LineWriter
from yume_shim.text import codec

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes cannot be polled there")
NEVER = 3_600.0


class Host:
    """The two ends of a pipe."""

    def __init__(self) -> None:
        self.reader, writer = os.pipe()
        self.writer = LineWriter(writer, 98_304, wide_escapes=False)
        self._writer = writer
        self._rest = b""

    def fill(self) -> int:
        """Write until the pipe is full; returns the number of bytes."""
        os.set_blocking(self._writer, False)
        count = 0
        try:
            while True:
                count += os.write(self._writer, b"\n" * 4096)
        except BlockingIOError:
            os.set_blocking(self._writer, True)
            return count

    def lines(self) -> list[Any]:
        """What is in the pipe now, blank lines left out."""
        os.set_blocking(self.reader, False)
        try:
            while data := os.read(self.reader, 1 << 20):
                self._rest += data
        except BlockingIOError:
            pass
        whole, _, self._rest = self._rest.rpartition(b"\n")
        return [codec.loads(line) for line in whole.splitlines() if line]


@pytest.fixture
def host() -> Iterator[Host]:
    made = Host()
    yield made
    os.close(made.reader)


def text(content: str, id: str = "m:0", **more: str) -> dict[str, Any]:
    return {"type": "text", "content": content, "id": id, **more}


def thought(content: str) -> dict[str, Any]:
    return {"type": "thinking", "is_thinking": True, "thought": content, "id": "m:1"}


def test_a_host_that_reads_gets_every_piece_at_once(host: Host) -> None:
    merger = DeltaMerger(host.writer, 0.0, 98_304)
    for piece in ("a", "b"):
        merger.write([text(piece)])
        assert host.lines() == [text(piece)]


def test_pieces_are_joined_while_the_host_does_not_read(host: Host) -> None:
    merger = DeltaMerger(host.writer, 0.0, 98_304)
    host.fill()
    for piece in ("a", "b", "c"):
        merger.write([text(piece)])  # would block without holding
    found: list[Any] = []

    def has_come() -> bool:
        found.extend(host.lines())
        return bool(found)

    wait_until(has_come, "the joined line, although nothing else is written")
    assert found == [text("abc")]


def test_an_interval_joins_pieces_of_one_block(host: Host) -> None:
    merger = DeltaMerger(host.writer, NEVER, 98_304)
    given = [
        *(text("a"), text("b"), text("c", "m:2"), thought("d"), thought("e")),
        {"type": "thinking", "is_thinking": False, "id": "m:1"},
        *(text("f"), text("g", parent_tool_use_id="c1"), text("h", parent_tool_use_id="c1")),
        {"type": "usage"},
    ]
    for line in given:
        merger.write([line])
    assert host.lines() == [
        *(text("ab"), text("c", "m:2"), thought("de")),
        {"type": "thinking", "is_thinking": False, "id": "m:1"},
        *(text("f"), text("gh", parent_tool_use_id="c1")),
        {"type": "usage"},
    ]


def test_what_is_held_is_limited_and_sent_when_its_time_is_over(host: Host) -> None:
    merger = DeltaMerger(host.writer, NEVER, 98_304)
    merger.write([text("x" * MAX_HELD)])
    merger.write([text("y")])
    assert host.lines() == [text("x" * MAX_HELD)]
    merger.write([text("a"), text("b")])
    assert host.lines() == [text("y"), text("a"), text("b")]
    quick = DeltaMerger(host.writer, 0.01, 98_304)
    quick.write([text("z")])
    found: list[Any] = []

    def has_come() -> bool:
        found.extend(host.lines())
        return bool(found)

    wait_until(has_come, "the held piece")
    assert found == [text("z")]
