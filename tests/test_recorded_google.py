"""Recorded answers of Gemini: our decoder and the google-genai SDK make the same message of the same bytes.

`YUME_RECORDED` names the folder of recordings; without it there is nothing to compare.
"""

from __future__ import annotations

import csv
import json
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fakes import FakeIds
from yume_shim.providers.apis import google_genai
from yume_shim.providers.http.frames import FrameParser
from yume_shim.types.blocks import Message, Other, Text, Thinking, ToolCall
from yume_shim.types.events import BlockDelta, BlockEnded, ResponseEnded, ResponseFailed, ResponseStarted
from yume_shim.types.models import Endpoint, ModelSpec, Request, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.types.blocks import Block, Json
    from yume_shim.types.events import ModelEvent

FOLDER = Path(os.environ.get("YUME_RECORDED") or "no-recordings")
APIS = ("gemini-stream", "gemini")
STOPS = {"STOP": ("end", "tool_calls"), "MAX_TOKENS": ("length",), "SAFETY": ("refusal",)}
MODEL = ModelSpec("gemini-3.5-flash", Endpoint("google", google_genai.API, "http://127.0.0.1:1"), thinking="level")
PIECES = {
    "gemini/vertex_partialargs.sse": [{"location": "Boston"}, {"location": "San Francisco"}],
    "gemini/vertex_partialargs_noargs.sse": [{}, {"id": "A"}, {"id": "B"}, {"id": "C"}],
}
"""Arguments in pieces, which the SDK hands on and does not join."""


def recordings(*suffixes: str) -> list[str]:
    index = FOLDER / "INDEX.tsv"
    if not index.exists():
        return []
    with index.open(encoding="utf-8", newline="") as rows:
        good = [row for row in csv.DictReader(rows, delimiter="\t") if row["status"] == "200"]
    return [row["file"] for row in good if row["api"] in APIS and row["file"].endswith(suffixes)]


def decoded(body: bytes) -> list[ModelEvent]:
    """The events of a body that arrives in pieces of any size."""
    decoder = google_genai.Decoder(Request(MODEL, ()), {}, FakeIds().call_id)
    parser = FrameParser("google")
    chance = random.Random(len(body))
    events: list[ModelEvent] = []
    place = 0
    while place < len(body):
        size = chance.randint(1, 300)
        for frame in parser.feed(body[place : place + size]):
            events += decoder.feed(frame)
        place += size
    for frame in parser.finish():
        events += decoder.feed(frame)
    return events + decoder.finish()


def blocks(events: list[ModelEvent]) -> list[Block]:
    return [event.block for event in events if isinstance(event, BlockEnded)]


def ours(events: list[ModelEvent]) -> dict[str, Any]:
    found = blocks(events)
    end = events[-1]
    assert isinstance(end, ResponseEnded), end
    return {
        "text": "".join(block.text for block in found if isinstance(block, Text)),
        "thoughts": "".join(block.text for block in found if isinstance(block, Thinking)),
        "calls": [
            (private(block).get("id"), block.name, block.input) for block in found if isinstance(block, ToolCall)
        ],
        "signatures": [private(block)["signature"] for block in found if private(block).get("signature")],
        "usage": end.usage,
    }


def private(block: Block) -> Json:
    return {} if not isinstance(block, (Text, Thinking, ToolCall)) else dict(block.opaque.get(google_genai.API, {}))


def through_sdk(body: bytes) -> tuple[dict[str, Any], str]:
    """What the SDK makes of the same bytes, and the last finish reason."""
    import base64

    import httpx2
    from google import genai
    from google.genai.types import HttpOptions

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    sdk = genai.Client(api_key="none", http_options=HttpOptions(base_url="http://127.0.0.1:1", httpx_client=http))
    whole: dict[str, Any] = {"text": "", "thoughts": "", "calls": [], "signatures": [], "usage": Usage()}
    reason = ""
    for chunk in sdk.models.generate_content_stream(model="gemini-3.5-flash", contents="x"):
        if chunk.usage_metadata and chunk.usage_metadata.prompt_token_count is not None:
            told = chunk.usage_metadata
            thoughts, cached = told.thoughts_token_count or 0, told.cached_content_token_count or 0
            whole["usage"] = Usage(
                input=(told.prompt_token_count or 0) - cached,
                output=(told.candidates_token_count or 0) + thoughts,
                cache_read=cached,
                reasoning=thoughts,
            )
        for candidate in chunk.candidates or ():
            reason = candidate.finish_reason.value if candidate.finish_reason else reason
            for part in (candidate.content.parts if candidate.content else None) or ():
                if part.text:
                    whole["thoughts" if part.thought else "text"] += part.text
                if part.function_call and part.function_call.name:
                    call = part.function_call
                    whole["calls"].append((call.id, call.name, call.args or {}))
                if part.thought_signature:
                    whole["signatures"].append(base64.b64encode(part.thought_signature).decode())
    http.close()
    return whole, reason


@pytest.mark.filterwarnings("ignore")  # the SDK warns of enum values it does not know
@pytest.mark.parametrize("name", recordings(".sse"))
def test_the_sdk_and_we_read_the_same(name: str) -> None:
    body = (FOLDER / name).read_bytes()
    events = decoded(body)
    theirs, reason = through_sdk(body)
    mine = ours(events)
    if "partialargs" in name:
        inputs = [call[2] for call in mine["calls"]]
        assert inputs == PIECES.get(name, inputs)
        for whole in (mine, theirs):
            whole["calls"] = [call[:2] for call in whole["calls"]]
    assert mine == theirs
    end = events[-1]
    assert isinstance(end, ResponseEnded)
    assert end.stop in STOPS[reason]
    assert (end.stop == "tool_calls") == bool(mine["calls"])


@pytest.mark.parametrize("name", recordings(".sse", ".json"))
def test_every_answer_is_whole(name: str) -> None:
    """One start, one end, deltas that add up to their blocks; JSON arrays and single objects are frames too."""
    events = decoded((FOLDER / name).read_bytes())
    assert sum(isinstance(event, ResponseStarted) for event in events) == 1
    assert isinstance(events[0], ResponseStarted)
    assert [isinstance(event, (ResponseEnded, ResponseFailed)) for event in events].count(True) == 1
    assert isinstance(events[-1], ResponseEnded), events[-1]
    for index, block in enumerate(blocks(events)):
        joined = "".join(event.text for event in events if isinstance(event, BlockDelta) and event.index == index)
        match block:
            case Text(text) | Thinking(text):
                assert joined == text
            case ToolCall():
                assert json.loads(joined) == block.input
            case Other():
                assert joined == ""
            case _:
                raise AssertionError(block)


@pytest.mark.parametrize("name", recordings(".sse"))
def test_what_was_signed_goes_back_as_it_came(name: str) -> None:
    """Encode the decoded answer as history: every signed part that held something is there again, unchanged."""
    events = decoded((FOLDER / name).read_bytes())
    history = (Message("user", (Text("x"),)), Message("assistant", tuple(blocks(events)), MODEL.origin))
    contents = google_genai.encode_messages(Request(MODEL, history))
    sent = [part for part in contents[1]["parts"] if "thoughtSignature" in part]
    came = [part for part in parts_of((FOLDER / name).read_text(encoding="utf-8")) if "thoughtSignature" in part]
    if "partialargs" in name:
        sent, came = [{"name": call_of(part)["name"]} for part in sent], [{"name": call_of(p)["name"]} for p in came]
    whole = "".join(block.text for block in blocks(events) if isinstance(block, Text))
    # A signature that came alone rides on the text before it; a call without one has the stand-in.
    expected = [{**part, "text": whole} if part.get("text") == "" else part for part in came]
    if not came and any("functionCall" in part for part in contents[1]["parts"]):
        expected = [{**part, "thoughtSignature": "skip_thought_signature_validator"} for part in sent[:1]]
    assert sent == expected


def parts_of(body: str) -> Iterator[Json]:
    for line in body.splitlines():
        if line.startswith("data:"):
            for candidate in json.loads(line[5:]).get("candidates", ()):
                yield from candidate.get("content", {}).get("parts", ())


def call_of(part: Json) -> Json:
    return dict(part["functionCall"])
