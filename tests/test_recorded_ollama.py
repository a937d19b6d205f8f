"""Recorded lines of /api/chat, where `YUME_RECORDED` names their folder: the same events however they are cut."""

from __future__ import annotations

import json
import os
import random
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import FakeIds
from yume_shim.providers.apis.ollama_chat import API, Decoder
from yume_shim.providers.http.frames import FrameParser
from yume_shim.types.blocks import Message, Text, ToolCall
from yume_shim.types.events import BlockEnded, ResponseEnded, ResponseFailed
from yume_shim.types.models import Endpoint, ModelSpec, Request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.types.events import ModelEvent

RECORDED = os.environ.get("YUME_RECORDED", "")
CUTS = 20

pytestmark = pytest.mark.recordings


def _files() -> Iterator[str]:
    if RECORDED:
        for line in (Path(RECORDED) / "INDEX.tsv").read_text("utf-8").splitlines()[1:]:
            file, status, api, *_ = line.split("\t")
            if api == "ollama-native" and status == "200":
                yield file


@pytest.mark.parametrize("file", sorted(_files()))
def test_lines_decode_however_they_are_cut(file: str) -> None:
    data = (Path(RECORDED) / file).read_bytes()
    whole = _decode([data])
    ended = whole[-1]
    assert isinstance(ended, ResponseEnded)
    lines = [json.loads(line) for line in data.splitlines()]
    assert (ended.usage.input, ended.usage.output) == (lines[-1]["prompt_eval_count"], lines[-1]["eval_count"])
    blocks = [event.block for event in whole if isinstance(event, BlockEnded)]
    assert "".join(block.text for block in blocks if isinstance(block, Text)) == "".join(
        line["message"]["content"] for line in lines
    )
    called = [call["function"] for line in lines for call in line["message"].get("tool_calls", [])]
    assert [(block.name, block.input) for block in blocks if isinstance(block, ToolCall)] == [
        (call["name"], call["arguments"]) for call in called
    ]
    assert ended.stop == ("tool_calls" if called else "end")
    for seed in range(CUTS):
        assert _decode(_cut(data, seed + zlib.crc32(file.encode()))) == whole


@pytest.mark.parametrize("file", sorted(_files()))
def test_without_its_last_line_an_answer_is_cut(file: str) -> None:
    data = (Path(RECORDED) / file).read_bytes()
    failed = _decode([data[: data.rstrip().rindex(b"\n") + 1]])[-1]
    assert isinstance(failed, ResponseFailed)
    assert failed.failure.kind == "stream_interrupted"


def _decode(pieces: list[bytes]) -> list[ModelEvent]:
    parser = FrameParser("x")
    request = Request(ModelSpec("m", Endpoint("x", API, "http://127.0.0.1:1")), (Message("user", (Text("hi"),)),))
    decoder = Decoder(request, {}, FakeIds().call_id)
    frames = [frame for piece in pieces for frame in parser.feed(piece)] + parser.finish()
    return [event for frame in frames for event in decoder.feed(frame)] + decoder.finish()


def _cut(data: bytes, seed: int) -> list[bytes]:
    places = sorted(random.Random(seed).sample(range(1, len(data)), 40))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]
