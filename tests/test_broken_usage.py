"""Usage of answers that broke off, failed, were stopped or repeated: reported figures, else marked estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.api_facts import FACTS
from tests.helpers.fake_server import FakeServer
from tests.helpers.scripted_model import ModelServer, cut, hold, say, wire_of
from tests.helpers.wire_writers import INPUT_TOKENS, OUTPUT_TOKENS

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.blocks import Json

LONG = "".join(f"The quick brown fox number {n} jumps over {n * 7} lazy dogs near the river. " for n in range(150))
"""10,000 characters: by any count more than 1,500 tokens and fewer than 5,000."""
FAILED: dict[str, list[Json]] = {
    "openai-responses": [
        {"type": "response.created", "response": {"id": "r1", "model": "m", "status": "in_progress"}},
        {
            "type": "response.failed",
            "response": {
                "id": "r1",
                "status": "failed",
                "error": {"code": "server_error", "message": "It broke."},
                "usage": {"input_tokens": 40, "input_tokens_details": {"cached_tokens": 10}, "output_tokens": 9},
            },
        },
    ],
    "google-genai": [
        {
            "candidates": [{"content": {"parts": []}, "finishReason": "MALFORMED_FUNCTION_CALL"}],
            "usageMetadata": {"promptTokenCount": 40, "cachedContentTokenCount": 10, "candidatesTokenCount": 9},
        }
    ],
    "openai-chat": [
        {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": "Hm"}, "finish_reason": "stop"}]},
        {
            "choices": [],
            "usage": {"prompt_tokens": 40, "prompt_tokens_details": {"cached_tokens": 10}, "completion_tokens": 9},
        },
        {"error": {"message": "It broke.", "code": 500}},
    ],
    "anthropic-messages": [
        {"type": "message_start", "message": {"id": "m1", "model": "m", "usage": {"input_tokens": 30}}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 9, "cache_read_input_tokens": 10},
        },
        {"type": "error", "error": {"type": "api_error", "message": "It broke."}},
    ],
}
LAGGING: list[Json] = [
    {
        "candidates": [{"content": {"role": "model", "parts": [{"text": LONG}]}}],
        "usageMetadata": {"promptTokenCount": 40, "candidatesTokenCount": 2},
    }
]
"""Until the last chunk, Gemini counts less than it has sent."""


def run(api: str, server: FakeServer, home: Path, *argv: str, script: tuple[Json, ...] = ()) -> dict[str, Any]:
    """The `result` of one flat turn."""
    flags = ("--provider", "compatible", "--api", api, "--api-base", server.url, "--api-key-env", "KEY")
    env = child.clean_environment(home, KEY="not-a-key")
    begun: tuple[Json, ...] = ({"type": "user", "content": "Hello"}, *script)
    argv = (*flags, "--model", "m", "--price", "1,1", "--retry-initial", "0", *argv)
    ended = child.run(argv, begun, cwd=home, env=env)
    return next(line for line in ended.lines if line["type"] == "result")


@pytest.mark.parametrize("how", ["continue", "restart"])
@pytest.mark.parametrize("api", FACTS)
def test_a_cut_answer_is_estimated_and_marked(api: str, how: str, tmp_path: Path) -> None:
    with ModelServer([say(LONG), cut()], [say("Done.")]) as server:
        result = run(api, server, tmp_path, "--on-cut", how)
    assert result["subtype"] == "success"
    assert 1_500 < result["usage"]["output_tokens"] - OUTPUT_TOKENS < 5_000
    assert result["usage"]["input_tokens"] >= 2 * INPUT_TOKENS
    assert result["usage"]["estimated"] is True
    assert result["cost_estimated"] is True
    assert result["modelUsage"]["m"]["outputTokens"] == result["usage"]["output_tokens"]


@pytest.mark.parametrize("api", FACTS)
def test_an_answer_that_fails_for_good_is_counted(api: str, tmp_path: Path) -> None:
    with ModelServer([say(LONG), cut()]) as server:
        result = run(api, server, tmp_path, "--max-retries", "0")
    assert result["is_error"] is True
    assert 1_500 < result["usage"]["output_tokens"] < 5_000
    assert result["usage"]["estimated"] is True


@pytest.mark.parametrize("api", FACTS)
def test_a_stopped_answer_is_counted(api: str, tmp_path: Path) -> None:
    with ModelServer([say(LONG), hold()]) as server:
        script: tuple[Json, ...] = ({"!after": "text"}, {"type": "interrupt"})
        result = run(api, server, tmp_path, script=script)
    assert result["subtype"] == "cancelled"
    assert result["usage"]["output_tokens"] > 500  # one of three pieces has surely arrived
    assert result["usage"]["estimated"] is True


@pytest.mark.parametrize("api", FAILED)
def test_figures_that_come_with_the_failure_are_used_as_they_are(api: str, tmp_path: Path) -> None:
    with FakeServer(api, [FAILED[api]]) as server:
        result = run(api, server, tmp_path, "--max-retries", "0")
    assert result["is_error"] is True
    usage = {"input_tokens": 30, "output_tokens": 9, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 10}
    assert result["usage"] == usage
    assert "cost_estimated" not in result
    assert result["total_cost_usd"] == pytest.approx(49 / 1_000_000)


@pytest.mark.parametrize("api", FAILED)
def test_figures_of_an_answer_that_is_requested_again_are_added(api: str, tmp_path: Path) -> None:
    with FakeServer(api, [FAILED[api], wire_of(api, [say("Done.")])]) as server:
        result = run(api, server, tmp_path, "--max-retries", "1", "--on-cut", "restart")
    assert result["result"] == "Done."
    counted = [result["usage"][name] for name in ("input_tokens", "output_tokens", "cache_read_input_tokens")]
    assert counted == [30 + INPUT_TOKENS, 9 + OUTPUT_TOKENS, 10]
    assert result["modelUsage"]["m"]["inputTokens"] == 30 + INPUT_TOKENS


def failed_at_once(code: str, message: str) -> list[Json]:
    usage = {"input_tokens": 40, "input_tokens_details": {"cached_tokens": 10}, "output_tokens": 9}
    response = {"id": "r1", "status": "failed", "error": {"code": code, "message": message}, "usage": usage}
    return [{"type": "response.failed", "response": response}]


TOO_LONG = failed_at_once(
    "invalid_request_error",
    "Invalid 'max_output_tokens': integer above maximum. Expected a value <= 2000, but got 8192.",
)
LIMITED = failed_at_once("rate_limit_exceeded", "Rate limit reached for requests")


@pytest.mark.parametrize("failed", [TOO_LONG, LIMITED], ids=["adapted", "next key"])
def test_figures_of_a_request_that_is_sent_again_at_once_are_added(failed: list[Json], tmp_path: Path) -> None:
    """The request is adapted, or the next key takes over. The size of the conversation is that of the answer."""
    api, done = "openai-responses", [say("Done.")]
    (tmp_path / ".yume").mkdir()
    with FakeServer(api, [failed, wire_of(api, done), wire_of(api, done)]) as server:
        config = f'keys.acme = ["one-1111", "two-2222"]\n[endpoints.acme]\napi = "{api}"\nbase_url = "{server.url}"\n'
        (tmp_path / ".yume" / "config.toml").write_text(config)
        argv = ["--output-format", "flat", "--model", "acme/m", "--price", "1,1", "--max-retries", "0"]
        hello = {"type": "user", "content": "Hello"}
        env = child.clean_environment(tmp_path)
        ended = child.run(argv, [hello, {"!after": "result"}, hello], cwd=tmp_path, env=env)
        assert len(server.requests) == 3, ended.stderr
    first, second = (line for line in ended.lines if line["type"] == "result")
    counted = [first["usage"][name] for name in ("input_tokens", "output_tokens", "cache_read_input_tokens")]
    assert counted == [30 + INPUT_TOKENS, 9 + OUTPUT_TOKENS, 10]
    assert "cost_estimated" not in first
    assert [line["input_tokens"] for line in ended.lines if line["type"] == "usage"] == [INPUT_TOKENS] * 2
    assert second["usage"]["input_tokens"] == INPUT_TOKENS


def test_figures_that_lag_are_completed_by_the_estimate(tmp_path: Path) -> None:
    with FakeServer("google-genai", [LAGGING]) as server:
        result = run("google-genai", server, tmp_path, "--max-retries", "0")
    assert result["usage"]["input_tokens"] == 40
    assert 1_500 < result["usage"]["output_tokens"] < 5_000
    assert result["usage"]["estimated"] is True
