"""Playing cassettes, beyond the wire goldens, which run through the replay provider too."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import FakeIds, cancel
from tests.helpers.timing import soon
from tests.helpers.wire_cases import no_log
from yume_shim.providers.cassettes.replay import ReplayProvider, read_cassette
from yume_shim.types.blocks import Message, Text
from yume_shim.types.errors import BadInvocation
from yume_shim.types.events import ResponseEnded, ResponseFailed
from yume_shim.types.models import Endpoint, ModelSpec, Request

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.events import ModelEvent

ANSWER = '{"type":"message_start","message":{"id":"m1","model":"m"}}\n{"type":"message_stop"}\n'
REQUEST = Request(ModelSpec("m", Endpoint("p", "anthropic-messages", "")), (Message("user", (Text("hi"),)),))


def cassette(folder: Path, *wires: str, table: str = 'api = "anthropic-messages"\nmodel = "m"\n') -> str:
    (folder / "wire").mkdir()
    (folder / "cassette.toml").write_text(table, "utf-8")
    for number, wire in enumerate(wires, 1):
        (folder / "wire" / f"{number:02d}.jsonl").write_text(wire, "utf-8")
    return str(folder)


def ask(provider: ReplayProvider) -> ModelEvent:
    """The last event of one request."""
    return list(provider.stream(REQUEST, cancel()))[-1]


def test_one_file_per_request(tmp_path: Path) -> None:
    provider = ReplayProvider(cassette(tmp_path, ANSWER, '{"!status":500,"body":"no"}\n', ANSWER), FakeIds(), no_log)
    kinds = [type(ask(provider)) for _ in range(3)]
    assert kinds == [ResponseEnded, ResponseFailed, ResponseEnded]
    last = ask(provider)
    assert isinstance(last, ResponseFailed)
    assert (last.failure.kind, last.failure.retryable) == ("config", False)
    assert "has 3 answers; another one was requested" in last.failure.message
    provider.close()


def test_the_model_is_named(tmp_path: Path) -> None:
    spec = read_cassette(cassette(tmp_path, ANSWER))
    assert (spec.id, spec.endpoint.api, spec.endpoint.name) == ("m", "anthropic-messages", "replay")


def test_a_session_golden_is_a_cassette(tmp_path: Path) -> None:
    folder = cassette(tmp_path, ANSWER)
    (tmp_path / "cassette.toml").rename(tmp_path / "case.toml")
    assert isinstance(ask(ReplayProvider(folder, FakeIds(), no_log)), ResponseEnded)


@pytest.mark.parametrize("wire", ["not json\n", "[1]\n", '{"cut":\n'])
def test_a_file_that_cannot_be_read_fails_its_request(tmp_path: Path, wire: str) -> None:
    last = ask(ReplayProvider(cassette(tmp_path, wire), FakeIds(), no_log))
    assert isinstance(last, ResponseFailed)
    assert last.failure.kind == "config"
    assert "line 1" in last.failure.message


def test_a_folder_that_is_not_a_cassette(tmp_path: Path) -> None:
    with pytest.raises(BadInvocation, match=r"no cassette\.toml"):
        read_cassette(str(tmp_path / "nowhere"))
    empty = cassette(tmp_path)
    with pytest.raises(BadInvocation, match=r"has no wire/01\.jsonl"):
        read_cassette(empty)


@pytest.mark.parametrize("table", ["", 'api = 7\nmodel = "m"', 'api = "anthropic-messages"\nmodel = 7', "not = = toml"])
def test_an_incomplete_table(tmp_path: Path, table: str) -> None:
    with pytest.raises(BadInvocation):
        read_cassette(cassette(tmp_path, ANSWER, table=table))


def test_an_unknown_api(tmp_path: Path) -> None:
    with pytest.raises(BadInvocation, match="unknown API"):
        ReplayProvider(cassette(tmp_path, ANSWER, table='api = "soap"'), FakeIds(), no_log)


@pytest.mark.parametrize("cue", ['{"!hold":true}\n', '{"!sleep_ms":60000}\n'])
def test_waiting_ends_with_a_cancel(tmp_path: Path, cue: str) -> None:
    stop = cancel()
    provider = ReplayProvider(cassette(tmp_path, ANSWER.split("\n")[0] + "\n" + cue), FakeIds(), no_log)
    threading.Timer(0.1, stop.set).start()
    with soon():
        events = list(provider.stream(REQUEST, stop))
    assert isinstance(events[-1], ResponseFailed)
    assert events[-1].failure.kind == "cancelled"


def test_a_pause_passes(tmp_path: Path) -> None:
    start = time.monotonic()
    assert isinstance(
        ask(ReplayProvider(cassette(tmp_path, '{"!sleep_ms":30}\n' + ANSWER), FakeIds(), no_log)), ResponseEnded
    )
    assert time.monotonic() - start >= 0.03
