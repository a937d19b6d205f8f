"""Whole answers instead of streams: requested, turned into frames, read as the vendors' SDKs read them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fake_server import Exchange, LoopbackServer
from tests.helpers.fakes import FakeIds, cancel
from tests.helpers.settings import settings_with
from tests.helpers.wire_cases import no_log
from yume_shim.providers.cassettes.record import Recorder
from yume_shim.providers.cassettes.replay import read_cassette
from yume_shim.providers.load import load_adapter, load_provider
from yume_shim.types.blocks import Message, Other, Text, Thinking, ToolCall
from yume_shim.types.events import BlockEnded, ResponseEnded, ResponseFailed
from yume_shim.types.models import Credential, Endpoint, ModelSpec, Quirks, Request
from yume_shim.types.settings import Timeouts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import ModelEvent

RECORDED = os.environ.get("YUME_RECORDED", "")
APIS = {
    "messages": "anthropic-messages",
    "chat": "openai-chat",
    "responses": "openai-responses",
    "gemini": "google-genai",
}
KEY = Credential("k", "key", "test")
GEMINI_STOPS = {"STOP": ("end", "tool_calls"), "MAX_TOKENS": ("length",), "SAFETY": ("refusal",)}
WHOLE: dict[str, Json] = {
    "anthropic-messages": {
        "id": "msg_1",
        "type": "message",
        "content": [{"type": "text", "text": "Hi."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    },
    "openai-chat": {"id": "c", "choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]},
    "openai-responses": {
        "id": "r",
        "object": "response",
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi."}]}],
    },
    "google-genai": {"candidates": [{"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"}]},
}


def spec(api: str, base_url: str = "http://127.0.0.1:1", *, by_model: bool = False) -> ModelSpec:
    endpoint = Endpoint("x", api, base_url, quirks=Quirks(streaming=by_model))
    return ModelSpec("m", endpoint, streaming=not by_model, max_output=64_000)


def request_to(model: ModelSpec) -> Request:
    return Request(model, (Message("user", (Text("hi"),)),), max_tokens=64_000)


def decoded(api: str, body: Json) -> list[ModelEvent]:
    adapter = load_adapter(api)
    decoder = adapter.Decoder(request_to(spec(api)), {}, FakeIds().call_id)
    events = [event for frame in adapter.whole_frames(body) for event in decoder.feed(frame)]
    return events + decoder.finish()


def texts(events: list[ModelEvent]) -> str:
    blocks = [event.block for event in events if isinstance(event, BlockEnded)]
    return "".join(block.text for block in blocks if isinstance(block, Text))


@pytest.mark.parametrize("by_model", [True, False])
@pytest.mark.parametrize("api", WHOLE)
def test_no_stream_is_requested(api: str, by_model: bool) -> None:
    wire = load_adapter(api).encode_request(request_to(spec(api, by_model=by_model)))
    assert "stream_options" not in wire.body
    if api == "google-genai":
        assert wire.path == "/v1/models/m:generateContent"
    else:
        assert wire.body["stream"] is False


@pytest.mark.parametrize("api", WHOLE)
def test_whole_answers_are_complete(api: str) -> None:
    events = decoded(api, WHOLE[api])
    assert texts(events) == "Hi."
    assert isinstance(events[-1], ResponseEnded)
    assert events[-1].stop == "end"


@pytest.mark.parametrize("api", WHOLE)
@pytest.mark.parametrize("body", [{}, {"unexpected": 1}, {"id": None}])
def test_a_body_that_is_not_an_answer_fails(api: str, body: Json) -> None:
    assert [type(event) for event in decoded(api, body)][-1] is ResponseFailed


@pytest.mark.parametrize("api", WHOLE)
@pytest.mark.parametrize("transport", ["direct", "sdk"])
def test_both_transports_deliver_it(api: str, transport: Any) -> None:
    """Also with an output limit for which the Anthropic SDK demands a stream, and later than the first-byte timeout."""

    def answer(exchange: Exchange) -> bool:
        import time

        time.sleep(0.4)
        exchange.reply(200, {"Content-Type": "application/json"}, json.dumps(WHOLE[api], indent=2).encode())
        return True

    with LoopbackServer(answer) as server:
        settings = settings_with(transport=transport, timeouts=Timeouts(first_byte=0.2, total=60.0))
        model = spec(api, server.url)
        provider = load_provider(model, KEY, settings, FakeIds(), no_log)
        events = list(provider.stream(request_to(model), cancel()))
        provider.close()
    assert texts(events) == "Hi."
    assert isinstance(events[-1], ResponseEnded)


def test_a_recording_names_what_the_model_lacks(tmp_path: Path) -> None:
    for name, can in (("none", False), ("all", True)):
        recorder = Recorder(str(tmp_path / name), "openai-chat", "m", native_tools=can, streaming=can)
        recorder("request", load_adapter("openai-chat").encode_request(request_to(spec("openai-chat"))))
        made = read_cassette(str(tmp_path / name))
        assert (made.tools, made.streaming) == (can, can)


# ---------------------------------------------------------------- recorded bodies


def recordings() -> Iterator[tuple[str, str]]:
    """(file, API) of every whole body of status 200."""
    if RECORDED:
        for line in (Path(RECORDED) / "INDEX.tsv").read_text("utf-8").splitlines()[1:]:
            file, status, api, *_ = line.split("\t")
            if status == "200" and api in APIS and file.endswith(".json"):
                yield file, APIS[api]


def streams() -> list[str]:
    """Anthropic's own streams, without those of proxies."""
    found = sorted(path.name for path in (Path(RECORDED) / "anthropic").glob("*.sse"))
    return [name for name in found if not name.startswith("dialect_")] if RECORDED else []


needs_recordings = pytest.mark.recordings


@needs_recordings
@pytest.mark.parametrize(("file", "api"), list(recordings()))
def test_recorded_bodies_read_as_the_sdk_reads_them(file: str, api: str) -> None:
    body = json.loads((Path(RECORDED) / file).read_bytes())
    events = decoded(api, body)
    end = events[-1]
    assert isinstance(end, ResponseEnded), end
    found = [event.block for event in events if isinstance(event, BlockEnded)]
    ours = {
        "text": texts(events),
        "thoughts": "".join(block.text for block in found if isinstance(block, Thinking)),
        "calls": [(block.name, block.input) for block in found if isinstance(block, ToolCall)],
        "output": end.usage.output,
    }
    theirs, reason = _google(body) if api == "google-genai" else _chat(body)
    assert ours == theirs
    if reason in GEMINI_STOPS:
        assert end.stop in GEMINI_STOPS[reason]


def _google(body: Json) -> tuple[Json, str]:
    import httpx2
    from google import genai
    from google.genai.types import HttpOptions

    with httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, json=body))) as http:
        options = HttpOptions(base_url="http://127.0.0.1:1", httpx_client=http)
        parsed = genai.Client(api_key="none", http_options=options).models.generate_content(model="m", contents="x")
    candidate = parsed.candidates[0] if parsed.candidates else None
    parts = (candidate.content.parts if candidate and candidate.content else None) or []
    usage = parsed.usage_metadata
    made = {
        "text": "".join(part.text or "" for part in parts if not part.thought),
        "thoughts": "".join(part.text or "" for part in parts if part.thought),
        "calls": [(part.function_call.name, part.function_call.args or {}) for part in parts if part.function_call],
        "output": ((usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)) if usage else 0,
    }
    return made, candidate.finish_reason.value if candidate and candidate.finish_reason else ""


def _chat(body: Json) -> tuple[Json, str]:
    from openai.types.chat import ChatCompletion

    parsed = ChatCompletion.model_validate(body)
    message = parsed.choices[0].message
    calls: list[Any] = list(message.tool_calls or ())
    made = {
        "text": message.content or "",
        "thoughts": (message.model_extra or {}).get("reasoning") or "",
        "calls": [(call.function.name, json.loads(call.function.arguments)) for call in calls],
        "output": parsed.usage.completion_tokens if parsed.usage else 0,
    }
    return made, parsed.choices[0].finish_reason


@needs_recordings
@pytest.mark.parametrize("file", streams())
def test_streams_as_whole_answers(file: str) -> None:
    """What Anthropic's SDK assembles from a recorded stream is a whole answer: it reads as the stream does."""
    import anthropic
    import httpx2

    from yume_shim.providers.http.frames import FrameParser

    data = (Path(RECORDED) / "anthropic" / file).read_bytes()
    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=data)
    with (
        httpx2.Client(transport=httpx2.MockTransport(lambda _: answer)) as http,
        anthropic.Anthropic(api_key="k", http_client=http, max_retries=0).messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        ) as stream,
    ):
        body = stream.get_final_message().model_dump(mode="json", exclude_none=True, warnings=False)
    parser = FrameParser("x")
    decoder = load_adapter("anthropic-messages").Decoder(request_to(spec("anthropic-messages")), {}, FakeIds().call_id)
    streamed = [event for frame in [*parser.feed(data), *parser.finish()] for event in decoder.feed(frame)]
    whole = decoded("anthropic-messages", body)
    assert [_seen(event) for event in whole if isinstance(event, BlockEnded)] == [
        _seen(event) for event in streamed if isinstance(event, BlockEnded)
    ]
    assert whole[-1] == streamed[-1]


def _seen(event: BlockEnded) -> Any:
    """A block without its private data."""
    match event.block:
        case Text() | Thinking():
            return type(event.block), event.block.text
        case ToolCall():
            return event.block
        case Other():
            return event.block.data["type"]
