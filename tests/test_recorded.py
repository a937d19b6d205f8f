"""Recorded bodies, where `YUME_RECORDED` names their folder: every stream decodes however it is cut, and Anthropic's as
its SDK reads them."""

from __future__ import annotations

import os
import random
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fakes import FakeIds
from yume_shim.providers.http.frames import FrameParser
from yume_shim.providers.load import load_adapter
from yume_shim.types.blocks import Message, Other, Text, Thinking, ToolCall
from yume_shim.types.events import BlockEnded, ResponseEnded, ResponseFailed, ResponseStarted
from yume_shim.types.models import Endpoint, ModelSpec, Request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.types.blocks import AssistantBlock, Json
    from yume_shim.types.events import ModelEvent

RECORDED = os.environ.get("YUME_RECORDED", "")
APIS = {
    "messages": "anthropic-messages",
    "chat": "openai-chat",
    "responses": "openai-responses",
    "gemini-stream": "google-genai",
}
IN_STREAM_ERRORS = {
    "openai_responses/failed_insufficient_quota.sse": "billing",
    "openrouter/error_in_stream.sse": "bad_request",
}
pytestmark = pytest.mark.recordings


def _rows() -> Iterator[tuple[str, int, str]]:
    """(file, status, api) of every body."""
    if RECORDED:
        for line in (Path(RECORDED) / "INDEX.tsv").read_text("utf-8").splitlines()[1:]:
            file, status, api, *_ = line.split("\t")
            yield file, int(status), api


STREAMS = [
    (file, APIS[api]) for file, status, api in _rows() if status == 200 and api in APIS and file.endswith(".sse")
]
ANTHROPIC = [file for file, api in STREAMS if api == "anthropic-messages"]


@pytest.mark.parametrize(("file", "api"), STREAMS)
def test_streams_end_the_same_however_they_are_cut(file: str, api: str) -> None:
    data = (Path(RECORDED) / file).read_bytes()
    whole = _decode(api, [data])
    assert _decode(api, _cut(data, file)) == whole
    assert isinstance(whole[0], (ResponseStarted, ResponseFailed))
    if isinstance(whole[-1], ResponseFailed):
        assert whole[-1].failure.kind == IN_STREAM_ERRORS[file]
    else:
        assert isinstance(whole[-1], ResponseEnded)
        assert file not in IN_STREAM_ERRORS


@pytest.mark.parametrize("file", ANTHROPIC)
def test_anthropic_reads_as_its_sdk_does(file: str) -> None:
    data = (Path(RECORDED) / file).read_bytes()
    events = _decode("anthropic-messages", [data])
    ended = events[-1]
    assert isinstance(ended, ResponseEnded)
    ours = [_plain(event.block) for event in events if isinstance(event, BlockEnded)]
    theirs = _with_sdk(data)
    if "spliced" not in file:  # the SDK keeps both answers under one index; we give each block its own
        assert ours == [_known(block) for block in theirs["content"]]
    assert ended.stop_reason == theirs["stop_reason"]
    usage = theirs["usage"]
    cached = usage.get("cache_read_input_tokens") or 0
    assert (ended.usage.input, ended.usage.output, ended.usage.cache_read) == (
        usage["input_tokens"],
        usage["output_tokens"],
        cached,
    )


def _decode(api: str, pieces: list[bytes]) -> list[ModelEvent]:
    parser = FrameParser("x")
    decoder = load_adapter(api).Decoder(_request(api), {}, FakeIds().call_id)
    events: list[ModelEvent] = []
    frames = [frame for piece in pieces for frame in parser.feed(piece)] + parser.finish()
    for frame in frames:
        assert "!bad" not in frame
        events += decoder.feed(frame)
        if events and isinstance(events[-1], (ResponseEnded, ResponseFailed)):
            return events
    return events + decoder.finish()


def _request(api: str) -> Request:
    spec = ModelSpec("m", Endpoint("x", api, "http://127.0.0.1:1"))
    return Request(spec, (Message("user", (Text("hi"),)),))


def _cut(data: bytes, name: str) -> list[bytes]:
    cutter = random.Random(zlib.crc32(name.encode()))
    pieces: list[bytes] = []
    while data:
        size = cutter.choice((1, 2, 3, 17, 100, 1000))
        pieces.append(data[:size])
        data = data[size:]
    return pieces


def _plain(block: AssistantBlock) -> Json:
    """Our block in the API's words."""
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Thinking():
            private = block.opaque.get("anthropic-messages", {})
            if block.redacted:
                return {"type": "redacted_thinking", "data": private["data"]}
            return {"type": "thinking", "thinking": block.text, "signature": private.get("signature", "")}
        case ToolCall():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
        case Other():
            return {"type": block.data["type"]}


def _known(block: Json) -> Json:
    """The SDK's block, as far as ours goes."""
    fields = {
        "text": ("type", "text"),
        "thinking": ("type", "thinking", "signature"),
        "redacted_thinking": ("type", "data"),
        "tool_use": ("type", "id", "name", "input"),
    }
    return {name: block.get(name) for name in fields.get(block["type"], ("type",))}


def _with_sdk(data: bytes) -> Any:
    """The message that the vendor's SDK assembles from these bytes."""
    import anthropic
    import httpx2

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=data)

    with (
        httpx2.Client(transport=httpx2.MockTransport(answer)) as http,
        anthropic.Anthropic(api_key="k", http_client=http, max_retries=0).messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        ) as stream,
    ):
        return stream.get_final_message().model_dump(mode="json", warnings=False)
