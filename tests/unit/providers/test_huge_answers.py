"""Answers that would fill the memory are cut at named limits, with an error that says so, on every API."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fakes import FakeIds, cancel
from tests.helpers.wire_writers import WRITERS, Call, Say, Think
from yume_shim.providers.http import frames as http_frames
from yume_shim.providers.http.frames import FrameParser
from yume_shim.providers.load import load_adapter
from yume_shim.providers.pipeline import ApiProvider
from yume_shim.providers.wire.block_assembler import MAX_BLOCKS, MAX_CONTENT
from yume_shim.types.blocks import Message, Text
from yume_shim.types.errors import ProviderFailed
from yume_shim.types.events import BlockDelta, BlockStarted, ResponseFailed
from yume_shim.types.models import Endpoint, ModelSpec, Request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.ports import Cancel

MARK = "MARK"
PIECE = "x" * 500_000
CONTENT: dict[str, Any] = {
    "text": Say(MARK, 1),
    "thinking": Think(MARK),
    "arguments": Call("Read", {"file_path": MARK}),
}


class Frames:
    """A transport and its stream: the frame with the mark comes for ever."""

    headers: Mapping[str, str] = {}

    def __init__(self, frames: list[Json]) -> None:
        self._frames = frames
        self.sent = 0

    def open(self, wire: Any, cancel: Cancel) -> Frames:
        return self

    def reads(self) -> Iterator[list[Json]]:
        for frame in self._frames:
            text = json.dumps(frame)
            yield [json.loads(text.replace(MARK, PIECE))]
            while MARK in text and self.sent < 4 * MAX_CONTENT:
                self.sent += len(PIECE)
                yield [json.loads(text.replace(MARK, PIECE))]

    def close(self) -> None:
        pass


def events_of(api: str, frames: Any) -> list[ModelEvent]:
    endpoint = Endpoint("vendor", api, "http://127.0.0.1:1")
    provider = ApiProvider(load_adapter(api), endpoint, frames, FakeIds(), lambda level, text: None)
    request = Request(ModelSpec("m", endpoint), (Message("user", (Text("hi"),)),))
    return list(provider.stream(request, cancel()))


@pytest.mark.parametrize("kind", sorted(CONTENT))
@pytest.mark.parametrize("api", sorted(WRITERS))
def test_content(api: str, kind: str) -> None:
    writer = WRITERS[api](1)
    body, end = writer.content(0, CONTENT[kind])
    events = events_of(api, Frames([*writer.start(), *body, *end]))
    last = events[-1]
    assert isinstance(last, ResponseFailed)
    if api in ("google-genai", "ollama-chat") and kind == "arguments":  # a call is one frame: these are many calls
        assert sum(isinstance(event, BlockStarted) for event in events) <= MAX_CONTENT // len(PIECE) + 1
    assert (last.failure.kind, last.failure.retryable, last.failure.provider) == ("protocol", False, "vendor")
    assert "too large: more than 8,000,000 characters" in last.failure.message
    assert sum(len(event.text) for event in events if isinstance(event, BlockDelta)) <= MAX_CONTENT


@pytest.mark.parametrize("api", sorted(WRITERS))
def test_blocks(api: str) -> None:
    writer = WRITERS[api](1)
    frames = list(writer.start())
    for number in range(MAX_BLOCKS + 1):
        body, end = writer.content(number, Call("Read", {"file_path": str(number)}))
        frames += copy.deepcopy([*body, *end])
    events = events_of(api, Frames(frames))
    assert isinstance(events[-1], ResponseFailed)
    assert "too large: more than 2,000 blocks" in events[-1].failure.message
    assert sum(isinstance(event, BlockStarted) for event in events) == MAX_BLOCKS


def test_a_body_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comments are no content; they count all the same."""
    monkeypatch.setattr(http_frames, "MAX_ANSWER_BYTES", 1_000_000)
    parser = FrameParser("vendor")
    comments = b": keep-alive\n\n" * 1_000
    for _ in range(1_000_000 // len(comments)):
        assert parser.feed(comments) == []
    with pytest.raises(ProviderFailed, match="more than 1,000,000 bytes") as caught:
        parser.feed(comments)
    assert not caught.value.failure.retryable
