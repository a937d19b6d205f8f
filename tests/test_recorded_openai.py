"""Recorded answers of both OpenAI APIs: our decoder and the openai SDK make the same message of the same bytes.

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
from yume_shim.providers.apis import openai_chat, openai_responses
from yume_shim.providers.http.frames import FrameParser
from yume_shim.types.blocks import Message, Text, Thinking, ToolCall
from yume_shim.types.events import BlockDelta, BlockEnded, BlockStarted, ResponseEnded, ResponseFailed, ResponseStarted
from yume_shim.types.models import Endpoint, ModelSpec, Request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    import openai

    from yume_shim.types.events import ModelEvent

FOLDER = Path(os.environ.get("YUME_RECORDED") or "no-recordings")
ADAPTERS: dict[str, ModuleType] = {"chat": openai_chat, "responses": openai_responses}
FAILED = {
    "openrouter/error_in_stream.sse": ("bad_request", ""),
    "openai_responses/failed_insufficient_quota.sse": ("billing", "insufficient_quota"),
}
"""Streams that hold an error, and what we make of it."""
MENDED = {"groq/tool_use_failed_in_stream.sse": ("get_something_by_name", {"invalid_param": "value"})}
"""Streams whose error holds the call that it is about: the call is given out."""
TOKENS = {
    "groq/text_x_groq_usage.sse": (18, 73),  # the SDK does not know `x_groq.usage`
    "xai/chat_reasoning_tool_call.sse": (307, 26 + 227),  # reasoning stands beside the completion, not in it
    "xai/chat_text.sse": (12, 1 + 290),
}
"""(prompt, output) where we count on purpose differently."""


def recordings(suffix: str = ".sse") -> Iterator[tuple[str, str]]:
    """(API, file) of the good answers: streams, or (`.json`) whole ones."""
    index = FOLDER / "INDEX.tsv"
    if not index.exists():
        return
    with index.open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows, delimiter="\t"):
            if row["api"] in ADAPTERS and row["status"] == "200" and row["file"].endswith(suffix):
                yield row["api"], row["file"]


def decoded(api: str, body: bytes) -> list[ModelEvent]:
    """The events of a body that arrives in pieces of any size."""
    adapter = ADAPTERS[api]
    request = Request(
        ModelSpec("m", Endpoint("somebody", adapter.API, "http://127.0.0.1:1/v1")), (Message("user", ()),)
    )
    decoder = adapter.Decoder(request, {}, FakeIds().call_id)
    parser = FrameParser("somebody")
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
    events += decoder.finish()
    return events


def client(body: bytes) -> openai.OpenAI:
    import httpx2
    import openai

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    return openai.OpenAI(api_key="none", base_url="http://127.0.0.1:1/v1", http_client=http, max_retries=0)


def sdk_chat(body: bytes) -> dict[str, Any]:
    """What the SDK gathers from chat chunks."""
    from openai.lib.streaming.chat import ChatCompletionStreamState

    state = ChatCompletionStreamState()
    usage: Any = None
    lists = {"text": "", "thinking": ""}
    with client(body) as sdk:
        for chunk in sdk.chat.completions.create(model="m", messages=[], stream=True):
            usage = chunk.usage or usage
            if not chunk.choices:
                continue
            content: Any = chunk.choices[0].delta.content
            if isinstance(content, list):  # Mistral; the SDK hands the parts on and cannot join them
                for part in content:
                    inner = part["thinking"][0] if part["type"] == "thinking" else part
                    lists[part["type"]] += inner["text"]
                chunk.choices[0].delta.content = None
            state.handle_chunk(chunk)
    message = state.current_completion_snapshot.choices[0].message
    extra = message.model_extra or {}
    details = "".join(detail.get("text") or "" for detail in extra.get("reasoning_details") or ())
    return {
        "text": lists["text"] + (message.content or "") + (message.refusal or ""),
        "thinking": lists["thinking"] or extra.get("reasoning_content") or extra.get("reasoning") or details,
        "calls": [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()],
        "tokens": (usage.prompt_tokens, usage.completion_tokens) if usage else None,
    }


def sdk_responses(body: bytes) -> dict[str, Any]:
    """What the SDK says the first response of a body is, in its closing event."""
    with client(body) as sdk:
        for event in sdk.responses.create(model="m", input="", stream=True):
            if event.type == "response.completed" or event.type == "response.incomplete":
                return whole_response(event.response)
    raise AssertionError("no closing event")


def whole_response(response: Any) -> dict[str, Any]:
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[tuple[str, str, str]] = []
    for item in response.output:
        if item.type == "message":
            texts += [part.text if part.type == "output_text" else part.refusal for part in item.content]
        elif item.type == "reasoning":
            thoughts.append("\n\n".join(part.text for part in (*item.summary, *(item.content or ()))))
        elif item.type == "function_call":
            calls.append((item.call_id, item.name, item.arguments))
        elif item.type == "custom_tool_call":
            calls.append((item.call_id, item.name, json.dumps({"input": item.input})))
    usage = response.usage
    return {
        "text": "".join(texts),
        "thinking": "".join(thoughts),
        "calls": calls,
        "tokens": (usage.input_tokens, usage.output_tokens) if usage else None,
    }


def assembled(events: list[ModelEvent]) -> dict[str, Any]:
    """Our message in the same shape. Blocks must add up to what was streamed of them."""
    pieces: dict[int, str] = {}
    blocks: list[Any] = []
    for event in events:
        if isinstance(event, BlockStarted):
            assert event.index == len(blocks), "one block at a time, indexes rising"
            pieces[event.index] = ""
        elif isinstance(event, BlockDelta):
            pieces[event.index] += event.text
        elif isinstance(event, BlockEnded):
            blocks.append(event.block)
    for index, block in enumerate(blocks):
        if isinstance(block, Text | Thinking):
            assert block.text == pieces[index]
    end = events[-1]
    assert isinstance(end, ResponseEnded), end
    usage = end.usage
    vendors_id = [
        next((opaque["id"] for opaque in b.opaque.values() if "id" in opaque), b.id) for b in calls_of(blocks)
    ]
    return {
        "text": "".join(block.text for block in blocks if isinstance(block, Text)),
        "thinking": "".join(block.text for block in blocks if isinstance(block, Thinking)),
        "calls": [(own, block.name, block.input) for own, block in zip(vendors_id, calls_of(blocks), strict=True)],
        "tokens": (usage.input + usage.cache_read + usage.cache_write, usage.output) if end.usage_given else None,
    }


def calls_of(blocks: list[Any]) -> list[ToolCall]:
    return [block for block in blocks if isinstance(block, ToolCall)]


@pytest.mark.parametrize(("api", "file"), list(recordings()))
def test_recorded_answer(api: str, file: str) -> None:
    body = (FOLDER / file).read_bytes()
    events = decoded(api, body)
    assert isinstance(events[0], ResponseStarted)
    assert sum(isinstance(event, ResponseEnded | ResponseFailed) for event in events) == 1
    if file in FAILED:
        end = events[-1]
        assert isinstance(end, ResponseFailed)
        assert (end.failure.kind, end.failure.provider_code, end.failure.retryable) == (*FAILED[file], False)
        return
    if file in MENDED:
        calls = calls_of([event.block for event in events if isinstance(event, BlockEnded)])
        assert [(call.name, call.input) for call in calls] == [MENDED[file]]
        return
    theirs = (sdk_chat if api == "chat" else sdk_responses)(body)
    theirs["calls"] = [(own, name, json.loads(arguments or "{}")) for own, name, arguments in theirs["calls"]]
    theirs["tokens"] = TOKENS.get(file, theirs["tokens"])
    assert assembled(events) == theirs


@pytest.mark.parametrize(("api", "file"), list(recordings(".json")))
def test_recorded_whole_answer(api: str, file: str) -> None:
    """OpenRouter puts lines of blanks before a whole answer, to keep the connection open."""
    body = (FOLDER / file).read_bytes()
    events = decoded(api, body)
    whole = json.loads(body)
    message, usage = whole["choices"][0]["message"], whole["usage"]
    assert assembled(events) == {
        "text": message["content"] or "",
        "thinking": message.get("reasoning") or "",
        "calls": [
            (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"] or "{}"))
            for call in message.get("tool_calls") or ()
        ],
        "tokens": (usage["prompt_tokens"], usage["completion_tokens"]),
    }
