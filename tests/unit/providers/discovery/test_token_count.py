"""The counting endpoints of providers: asked only near the limit, in the form of each API, and never twice in vain."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.fake_server import FakeServer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.fake_server import Exchange
    from yume_shim.types.blocks import Json

CLAUDE: list[Json] = [
    {"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 9}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]
ITEM: Json = {"id": "i", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}
RESPONSES: list[Json] = [
    {"type": "response.created", "response": {"id": "r", "model": "m", "status": "in_progress", "output": []}},
    {"type": "response.output_item.added", "output_index": 0, "item": {**ITEM, "content": []}},
    {"type": "response.output_item.done", "output_index": 0, "item": ITEM},
    {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [ITEM], "usage": {}}},
]
GEMINI: list[Json] = [
    {"candidates": [{"content": {"parts": [{"text": "Hi."}], "role": "model"}, "finishReason": "STOP", "index": 0}]}
]
APIS: dict[str, tuple[str, list[Json], Json]] = {
    "anthropic-messages": ("/v1/messages/count_tokens", CLAUDE, {"input_tokens": 9_000}),
    "openai-responses": (
        "/responses/input_tokens",
        RESPONSES,
        {"object": "response.input_tokens", "input_tokens": 9_000},
    ),
    "google-genai": ("/models/m:countTokens", GEMINI, {"totalTokens": 9_000}),
}
CONFIG = """
[endpoints.there]
api = "{api}"
base_url = "{url}"
key_optional = true
counts_tokens = true
"""


class CountingServer(FakeServer):
    """Answers questions about tokens with `counted`, or with 404 if that is None."""

    def __init__(self, api: str, wire: list[Json], counted: Json | None) -> None:
        self._counted = counted
        super().__init__(api, [wire])

    def _play(self, exchange: Exchange) -> bool:
        if not is_question(exchange.request.path):
            return super()._play(exchange)
        status = 404 if self._counted is None else 200
        exchange.reply(status, {"Content-Type": "application/json"}, json.dumps(self._counted or {}).encode())
        return True


def is_question(path: str) -> bool:
    return path.endswith(("/count_tokens", "/input_tokens", ":countTokens"))


def run(home: Path, api: str, words: int, counted: Json | None, times: int = 1) -> list[Any]:
    """A prompt of so many words, with compaction at 12,000 tokens."""
    (home / ".yume").mkdir()
    with CountingServer(api, APIS[api][1], counted) as server:
        (home / ".yume" / "config.toml").write_text(CONFIG.format(api=api, url=server.url), "utf-8")
        env = child.clean_environment(home)
        for _ in range(times):
            argv = ["-p", "--model", "there/m", "--autocompact", "12000", "--tools", "Read"]
            prompt: list[Json] = [{"!raw": "word " * words}, {"!eof": True}]  # longer than a command line of Windows
            ended = child.run(argv, prompt, cwd=home, env=env)
            assert (ended.code, ended.stdout) == (0, b"Hi.\n"), ended.stderr
        return server.requests


@pytest.mark.parametrize("api", APIS)
def test_the_provider_is_asked_near_the_limit(tmp_path: Path, api: str) -> None:
    path, _, counted = APIS[api]
    requests = run(tmp_path, api, 11_500, counted)
    assert [is_question(request.path) for request in requests] == [True, False]
    assert requests[0].path.endswith(path)
    body = requests[0].json()
    inner = body.get("generateContentRequest", body)
    sent = requests[1].json()
    assert not {"stream", "max_tokens", "max_output_tokens", "store", "generationConfig"} & inner.keys()
    for field in ("messages", "input", "contents", "system", "instructions", "systemInstruction", "tools"):
        assert inner.get(field) == sent.get(field), field


@pytest.mark.parametrize("words", [10, 3_000])
def test_nothing_is_asked_far_from_the_limit(tmp_path: Path, words: int) -> None:
    requests = run(tmp_path, "anthropic-messages", words, {"input_tokens": 5})
    assert [is_question(request.path) for request in requests] == [False]


def test_an_endpoint_that_does_not_count_is_asked_once_a_day(tmp_path: Path) -> None:
    requests = run(tmp_path, "anthropic-messages", 11_500, None, times=2)
    assert [is_question(request.path) for request in requests] == [True, False, False]


def test_the_vendors_of_the_catalogue_count() -> None:
    from tests.helpers.settings import settings_with
    from yume_shim.catalog.resolve import Catalog

    catalog = Catalog(settings_with(env={}), lambda endpoint: True)
    counting = {name for name in catalog.names() if catalog.endpoint(name, address=False).counts_tokens}
    assert counting == {"anthropic", "openai", "google"}
    other = Catalog(settings_with(env={}, provider="openai", api="openai-chat"), lambda endpoint: True)
    assert not other.resolve("gpt-4o").endpoint.counts_tokens
