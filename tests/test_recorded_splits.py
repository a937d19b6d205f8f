"""Recorded bodies that arrive cut anywhere, inside a character and inside a CRLF too, twenty times each: always the
same answer."""

from __future__ import annotations

import csv
import os
import random
import zlib
from itertools import pairwise
from pathlib import Path

import pytest

from tests.helpers.fakes import FakeIds
from yume_shim.providers.http.frames import FrameParser
from yume_shim.providers.load import load_adapter
from yume_shim.types.blocks import Message, Text
from yume_shim.types.events import ModelEvent, ResponseEnded, ResponseFailed
from yume_shim.types.models import Endpoint, ModelSpec, Request

FOLDER = Path(os.environ.get("YUME_RECORDED", "") or "nowhere")
SPLITS = 20
SIZES = (1, 2, 3, 17, 100, 1000)
APIS = {
    "messages": "anthropic-messages",
    "chat": "openai-chat",
    "responses": "openai-responses",
    "gemini-stream": "google-genai",
    "gemini": "google-genai",
    "ollama-native": "ollama-chat",
}

pytestmark = pytest.mark.recordings


def recordings() -> list[tuple[str, str]]:
    """(API, file) of every good answer of an API that is spoken here."""
    index = FOLDER / "INDEX.tsv"
    if not index.exists():
        return []
    with index.open(encoding="utf-8", newline="") as rows:
        found = csv.DictReader(rows, delimiter="\t")
        return [(APIS[row["api"]], row["file"]) for row in found if row["status"] == "200" and row["api"] in APIS]


@pytest.mark.parametrize(("api", "file"), recordings())
def test_a_body_is_read_the_same_however_it_is_cut(api: str, file: str) -> None:
    body = (FOLDER / file).read_bytes()
    whole = decoded(api, [body])
    assert isinstance(whole[-1], ResponseEnded | ResponseFailed)
    for number in range(SPLITS):
        assert decoded(api, cut(body, zlib.crc32(file.encode()) + number)) == whole


def decoded(api: str, pieces: list[bytes]) -> list[ModelEvent]:
    """The events, up to the end of the answer: nobody listens behind it."""
    spec = ModelSpec("m", Endpoint("somebody", api, "http://127.0.0.1:1"))
    decoder = load_adapter(api).Decoder(Request(spec, (Message("user", (Text("hi"),)),)), {}, FakeIds().call_id)
    parser = FrameParser("somebody")
    frames = [frame for piece in pieces for frame in parser.feed(piece)] + parser.finish()
    events: list[ModelEvent] = []
    for frame in frames:
        events += decoder.feed(frame)
        if events and isinstance(events[-1], ResponseEnded | ResponseFailed):
            return events
    return events + decoder.finish()


def cut(body: bytes, seed: int) -> list[bytes]:
    chance = random.Random(seed)
    largest = chance.choice(SIZES)
    places = [0]
    while places[-1] < len(body):
        places.append(places[-1] + chance.randint(1, largest))
    return [body[start:end] for start, end in pairwise(places)]
