"""Recorded bodies, where `YUME_RECORDED` names their folder: every stream decodes however it is cut, Anthropic's as its
SDK reads them, and every error body is of the right kind."""

from __future__ import annotations

import os
import random
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fakes import FakeIds
from yume_shim.providers._errors import failure_from_status
from yume_shim.providers._http.frames import FrameParser
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
    "groq/tool_use_failed_in_stream.sse": "bad_request",
    "openai_responses/failed_insufficient_quota.sse": "billing",
    "openrouter/error_in_stream.sse": "bad_request",
}
ERROR_KINDS = {
    "gemini/err_400_bad_key.json": "auth",
    "gemini/err_400_context_vertex.json": "context_length",
    "deepseek/err_400_context.json": "context_length",
    "anthropic/err_400_context_length.json": "context_length",
    "ollama/err_400_cloud_context.json": "context_length",
    "openai_responses/err_400_context_length.json": "context_length",
    "openai_responses/err_400_model.json": "not_found",
    "openai_responses/err_429_insufficient_quota.json": "billing",
    "openrouter/err_400_context.json": "context_length",
    "reported_errors/anthropic_500_overloaded_null_request_id.json": "overloaded",
    "xai/err_400_bad_key.json": "auth",
}
"""Where the status alone would say something else."""
STATUS_KINDS = {
    400: "bad_request",
    401: "auth",
    404: "not_found",
    413: "context_length",
    429: "rate_limit",
    500: "server",
    503: "overloaded",
    529: "overloaded",
}

pytestmark = pytest.mark.skipif(not RECORDED, reason="YUME_RECORDED is not set")


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
ERRORS = [(file, status) for file, status, _ in _rows() if status >= 400]


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


@pytest.mark.parametrize(("file", "status"), ERRORS)
def test_error_bodies_are_of_the_right_kind(file: str, status: int) -> None:
    body = (Path(RECORDED) / file).read_bytes()
    failure = failure_from_status(status, {}, body, "x")
    assert failure.kind == ERROR_KINDS.get(file, STATUS_KINDS[status])
    assert failure.retryable == (failure.kind in ("rate_limit", "server", "overloaded"))
    assert failure.message
    assert not failure.message.startswith(("{", "["))


def test_waits_are_read() -> None:
    body = (Path(RECORDED) / "gemini/err_429_retryinfo.json").read_bytes()
    assert failure_from_status(429, {}, body, "google").retry_after_ms == 34_400
    body = (Path(RECORDED) / "gemini/err_429_quota.json").read_bytes()
    assert failure_from_status(429, {}, body, "google").retry_after_ms in (48_000, 48_939)


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
