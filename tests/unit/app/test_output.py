"""stdout of a session: the dialect of each format, the longest line, a host that no longer reads."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fakes import FakeClock, FakeIds
from tests.helpers.settings import settings_with
from yume_shim.app.output import Output, make_dialect, refusal_output
from yume_shim.app.resume import OpenedSession
from yume_shim.dialects.flat import FlatDialect
from yume_shim.dialects.nested import NestedDialect
from yume_shim.dialects.plain import JsonDialect, TextDialect
from yume_shim.host.writer import STDOUT
from yume_shim.text import codec
from yume_shim.types.events import CommandRefused, ModelChanged, Pong, StartFailed
from yume_shim.types.settings import FLAT_LINE_BYTES, NESTED_LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

OPENED = OpenedSession("s-1", "/sessions/s-1.jsonl")


def make(*, flat: bool = True, **settings: Any) -> Output:
    settings.setdefault("output_format", "flat" if flat else "stream-json")
    return Output(settings_with(**settings), OPENED, FakeClock(), FakeIds(), flat=flat, log=lambda *_: None)


def lines(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return capfd.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("output_format", "dialect"),
    [("flat", FlatDialect), ("text", TextDialect), ("json", JsonDialect), ("stream-json", NestedDialect)],
)
def test_the_dialect_of_a_format(output_format: str, dialect: type) -> None:
    assert type(make_dialect(settings_with(output_format=output_format), FakeIds(), 10_000)) is dialect


def test_a_flat_session(capfd: pytest.CaptureFixture[str]) -> None:
    make().emit(Pong())
    [line] = lines(capfd)
    assert codec.loads(line.encode())["type"] == "pong"


def test_a_nested_session(capfd: pytest.CaptureFixture[str]) -> None:
    make(flat=False).emit(ModelChanged("openai", "gpt-5.4", "host"))
    [line] = [codec.loads(each.encode()) for each in lines(capfd)]
    assert (line["type"], line["isReplay"]) == ("user", True)
    assert "gpt-5.4" in line["message"]["content"]


@pytest.mark.parametrize(("flat", "cap"), [(True, FLAT_LINE_BYTES), (False, NESTED_LINE_BYTES)])
def test_no_line_is_longer_than_the_cap(flat: bool, cap: int, capfd: pytest.CaptureFixture[str]) -> None:
    make(flat=flat).writer.write([{"type": "x", "text": "a" * 2_000_000}])
    [line] = lines(capfd)
    assert len(line) <= cap
    assert codec.loads(line.encode())["type"] == "x"


def test_a_cap_of_the_settings(capfd: pytest.CaptureFixture[str]) -> None:
    make(max_line_bytes=2_000).emit(CommandRefused("a" * 10_000))
    assert all(len(line) <= 2_000 for line in lines(capfd))


@pytest.mark.parametrize(("persist", "named"), [(True, True), (False, False)])
def test_a_shrunken_line_names_the_transcript_if_there_is_one(
    persist: bool, named: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    make(flat=False, max_line_bytes=2_000, persist=persist).writer.write([{"type": "x", "text": "a" * 10_000}])
    [line] = lines(capfd)
    assert (OPENED.transcript in line) is named


@contextmanager
def broken_stdout() -> Iterator[None]:
    """stdout whose reader has gone."""
    saved = os.dup(STDOUT)
    reading, writing = os.pipe()
    os.dup2(writing, STDOUT)
    os.close(writing)
    os.close(reading)
    try:
        yield
    finally:
        os.dup2(saved, STDOUT)
        os.close(saved)


def test_a_host_that_no_longer_reads_is_reported_once_even_to_a_later_listener() -> None:
    reactions: list[str] = []
    with broken_stdout():
        output = make()
        output.emit(Pong())
        output.host_gone.then(reactions.append)
        output.emit(Pong())
    assert output.writer.gone
    assert reactions == ["gone"]


def test_the_output_of_a_refusal(capfd: pytest.CaptureFixture[str]) -> None:
    refusal_output(None, FakeClock(), FakeIds()).emit(StartFailed("no", "config"))
    [line] = lines(capfd)
    assert codec.loads(line.encode())["subtype"] == "error"
