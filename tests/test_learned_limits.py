"""Limits that a refusal names, with real processes: the second one sends what fits at once, until the fact is old."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.fake_server import FakeServer
from yume_shim.providers.discovery.limits_cache import LEARNED_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.helpers.fake_server import Exchange
    from yume_shim.types.blocks import Json

CONFIG = """
[endpoints.there]
api = "{api}"
base_url = "{url}"
key_optional = true
"""


def claude() -> list[Json]:
    return [
        {"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 9}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]


def chat() -> list[Json]:
    choice = {"index": 0, "delta": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}
    return [{"id": "c", "model": "m", "choices": [choice]}, {"!done": True}]


def responses() -> list[Json]:
    item = {"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}
    usage = {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}
    return [
        {"type": "response.created", "response": {"id": "r", "model": "m", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {
            "type": "response.output_text.delta",
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
            "delta": "Hi.",
        },
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {
            "type": "response.completed",
            "response": {"id": "r", "status": "completed", "output": [item], "usage": usage},
        },
    ]


def gemini() -> list[Json]:
    candidate = {"content": {"parts": [{"text": "Hi."}], "role": "model"}, "finishReason": "STOP", "index": 0}
    return [{"candidates": [candidate], "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2}}]


def ollama() -> list[Json]:
    return [{"model": "m", "message": {"role": "assistant", "content": "Hi."}, "done": True, "done_reason": "stop"}]


ANSWERS = {
    "anthropic-messages": claude,
    "openai-chat": chat,
    "openai-responses": responses,
    "google-genai": gemini,
    "ollama-chat": ollama,
}
OUTPUT = "Invalid max_tokens value, the valid range of max_tokens is [1, 2000]"
SENTENCES = {
    "anthropic-messages": "max_tokens: 8192 > 2000, which is the maximum allowed number of output tokens for m",
    "openai-chat": "max_tokens is too large: 8192. This model supports at most 2000 completion tokens, whereas you …",
    "openai-responses": "Invalid 'max_output_tokens': integer above maximum. Expected a value <= 2000, but got …",
    "google-genai": (
        "Unable to submit request because it has a maxOutputTokens value of 8192 but the supported range is from 1 "
        "(inclusive) to 2001 (exclusive)."
    ),
    "ollama-chat": OUTPUT,
}


class JudgingServer(FakeServer):
    """Answers each request by what is in it."""

    def __init__(self, api: str, judge: Callable[[Json], list[Json]]) -> None:
        self._judge = judge
        super().__init__(api, [[]])

    def _play(self, exchange: Exchange) -> bool:
        return self.play(exchange, self._api, self._judge(exchange.request.json()))


def longest(body: Json) -> int:
    """The longest answer that a request asks for."""
    found = [
        place[name]
        for place in (body, body.get("generationConfig") or {}, body.get("options") or {})
        for name in ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "num_predict")
        if name in place
    ]
    (only,) = found
    assert isinstance(only, int)
    return only


def refusal(message: str, status: int = 400) -> list[Json]:
    return [{"!status": status, "body": {"error": {"message": message, "type": "invalid_request_error"}}}]


def start(home: Path, api: str, url: str, *argv: str) -> child.Ended:
    (home / ".yume").mkdir(exist_ok=True)
    (home / ".yume" / "config.toml").write_text(CONFIG.format(api=api, url=url), "utf-8")
    env = child.clean_environment(home, KEY="none")
    return child.run(["-p", "hi", "--model", "there/m", *argv], [], cwd=home, env=env)


@pytest.mark.parametrize("api", ANSWERS)
def test_the_next_process_sends_what_fits_at_once(tmp_path: Path, api: str) -> None:
    answer = ANSWERS[api]
    with FakeServer(api, [refusal(SENTENCES[api]), answer(), answer()]) as server:
        for _ in range(2):
            ended = start(tmp_path, api, server.url)
            assert (ended.code, ended.stdout) == (0, b"Hi.\n"), ended.stderr
        sent = [longest(received.json()) for received in server.requests]
    assert sent == [sent[0], 2_000, 2_000]
    assert sent[0] > 2_000


OLD_VERSION = "models/m is not found for API version v1, or is not supported for generateContent."
NO_SYSTEM = 'Invalid JSON payload received. Unknown name "systemInstruction": Cannot find field.'


@pytest.mark.parametrize(("message", "base"), [(OLD_VERSION, ""), (NO_SYSTEM, "/proxy/v1")])
def test_the_next_process_asks_gemini_on_v1beta_at_once(tmp_path: Path, message: str, base: str) -> None:
    status, word = (404, "NOT_FOUND") if message == OLD_VERSION else (400, "INVALID_ARGUMENT")
    refused = [{"!status": status, "body": {"error": {"code": status, "message": message, "status": word}}}]
    with FakeServer("google-genai", [refused, gemini(), gemini()]) as server:
        for _ in range(2):
            ended = start(tmp_path, "google-genai", server.url + base)
            assert (ended.code, ended.stdout) == (0, b"Hi.\n"), ended.stderr
        versions = [received.path.partition("/models")[0].rpartition("/")[2] for received in server.requests]
    assert versions == ["v1", "v1beta", "v1beta"]


def test_a_version_that_helped_nothing_is_not_kept(tmp_path: Path) -> None:
    body = {"error": {"code": 404, "message": OLD_VERSION, "status": "NOT_FOUND"}}
    with FakeServer("google-genai", [[{"!status": 404, "body": body}]]) as server:
        assert start(tmp_path, "google-genai", server.url).code == 1
    assert not (tmp_path / ".yume" / "facts.json").exists()


def test_a_version_in_the_file_of_facts_is_checked(tmp_path: Path) -> None:
    """Anyone may write the file; the version becomes a part of addresses."""
    with FakeServer("google-genai", [gemini()]) as server:
        (tmp_path / ".yume").mkdir()
        now = int(time.time())
        fact = {"at": now, "until": now + 9_999, "value": {"api_version": "../v1beta?x="}}
        (tmp_path / ".yume" / "facts.json").write_text(json.dumps({f"{server.url} m": {"learned": fact}}))
        assert start(tmp_path, "google-genai", server.url).code == 0
        assert [received.path.partition("/models")[0] for received in server.requests] == ["/v1"]
        fact["value"] = {"api_version": "v1alpha"}
        (tmp_path / ".yume" / "facts.json").write_text(json.dumps({f"{server.url} m": {"learned": fact}}))
        assert start(tmp_path, "google-genai", server.url).code == 0
        assert server.requests[-1].path.startswith("/v1alpha/models")


def test_a_learned_limit_is_forgotten_after_a_week(tmp_path: Path) -> None:
    with FakeServer("openai-chat", [refusal(OUTPUT), chat(), chat()]) as server:
        start(tmp_path, "openai-chat", server.url)
        file = tmp_path / ".yume" / "facts.json"
        facts: Any = json.loads(file.read_text())
        ((_, kinds),) = facts.items()
        assert kinds["learned"]["value"] == {"max_output": 2_000}
        assert kinds["learned"]["until"] - kinds["learned"]["at"] == LEARNED_SECONDS
        kinds["learned"]["at"] -= LEARNED_SECONDS
        kinds["learned"]["until"] = int(time.time()) - 1
        file.write_text(json.dumps(facts))
        start(tmp_path, "openai-chat", server.url)
        assert [longest(received.json()) for received in server.requests] == [8_192, 2_000, 8_192]


def test_a_small_context_is_learned_at_the_first_prompt(tmp_path: Path) -> None:
    """vLLM with a context that our prompt and the usual answer exceed. The server of this test counts like vLLM."""
    window = 10_000

    def count(body: Json) -> int:
        return len(json.dumps([body["messages"], body.get("tools")])) // 4

    def behave(body: Json) -> list[Json]:
        prompt, asked = count(body), longest(body)
        if prompt + asked <= window:
            return chat()
        return refusal(
            f"This model's maximum context length is {window} tokens. However, you requested {prompt + asked} tokens "
            f"({prompt} in the messages, {asked} in the completion). Please reduce the length of the messages."
        )

    with JudgingServer("openai-chat", behave) as server:
        for _ in range(2):
            env = child.clean_environment(tmp_path)
            argv = ["-p", "hi", "--provider", "compatible", "--api-base", server.url, "--model", "m"]
            ended = child.run(argv, [], cwd=tmp_path, env=env)
            assert (ended.code, ended.stdout) == (0, b"Hi.\n"), ended.stderr
        assert len(server.requests) == 3


def test_a_small_window_that_a_refusal_names_gets_the_short_prompt(tmp_path: Path) -> None:
    message = "request (9001 tokens) exceeds the available context size (4096 tokens), try increasing it"
    error = {"message": message, "type": "exceed_context_size_error", "n_ctx": 4_096}
    refused: list[Json] = [{"!status": 400, "body": {"error": error}}]
    with FakeServer("openai-chat", [refused, ANSWERS["openai-chat"]()]) as server:
        ended = start(tmp_path, "openai-chat", server.url)
        first, second = (len(received.body) for received in server.requests)
    assert (ended.code, ended.stdout) == (0, b"Hi.\n")
    assert second < first * 0.6


def test_a_prompt_that_no_answer_fits_beside_says_what_to_do(tmp_path: Path) -> None:
    full = {"message": "request (9001 tokens) exceeds the available context size (4096 tokens), try increasing it"}
    wire: list[Json] = [
        {"!status": 400, "body": {"error": {**full, "type": "exceed_context_size_error", "n_ctx": 4_096}}}
    ]
    with FakeServer("openai-chat", [wire, wire, wire]) as server:
        ended = start(tmp_path, "openai-chat", server.url, "--prompt-size", "full")
        assert len(server.requests) == 1
    assert ended.code == 1
    assert b"(4096 tokens)" in ended.stdout
    assert b"of 4096 tokens: offer fewer tools (--tools), or give the server a larger context" in ended.stdout
