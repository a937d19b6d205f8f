"""`yume-shim models`, run as users run it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.fake_server import LoopbackServer
from yume_shim.providers.discovery.model_lists import read_ids

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.child import Ended
    from tests.helpers.fake_server import Exchange

OPENAI = {"object": "list", "data": [{"id": "b", "object": "model"}, {"id": "a", "object": "model"}]}
GEMINI = {"models": [{"name": "models/gemini-x", "inputTokenLimit": 9}]}
OLLAMA = {"models": [{"name": "qwen3:8b", "model": "qwen3:8b"}, {"name": "llava:latest"}]}
TOGETHER = [{"id": "meta-llama/x", "type": "chat"}]


def run(home: Path, *words: str, config: str = "", **env: str) -> Ended:
    (home / ".yume").mkdir(exist_ok=True)
    (home / ".yume" / "config.toml").write_text(config, "utf-8")
    return child.run(["models", *words], [], cwd=home, env=child.clean_environment(home, **env))


def said(home: Path, *words: str, **more: str) -> str:
    ended = run(home, *words, **more)
    assert (ended.code, ended.stderr) == (0, b"")
    return ended.stdout.decode()


def facts(home: Path, *words: str, **more: str) -> dict[str, Any]:
    listing: dict[str, Any] = json.loads(said(home, *words, "--json", **more))
    return listing


def test_the_overview(tmp_path: Path) -> None:
    text = said(tmp_path, OPENAI_API_KEY="sk-secret-secret", YUME_MODEL="gpt-5.4")
    assert "sk-secret" not in text
    lines = text.splitlines()
    assert lines[0].startswith("anthropic: https://api.anthropic.com, no key: ")
    assert lines[1].startswith("  anthropic/claude-")
    assert "openai: https://api.openai.com/v1, key from OPENAI_API_KEY" in lines
    assert "  groq          openai-chat         https://api.groq.com/openai/v1, no key: $GROQ_API_KEY" in lines
    assert "  azure         openai-responses    no address: give --api-base or $AZURE_OPENAI_BASE_URL" in lines
    assert "  bedrock       anthropic-messages  address by region and project, signs in with bedrock" in lines
    (model,) = [line for line in lines if line.startswith("  openai/gpt-4o ")]
    assert model.split() == ["openai/gpt-4o", "window", "128,000", "output", "16,384", "$2.5", "in,", "$10", "out"]
    assert "  sonnet        claude-sonnet-5-5" in lines
    assert not [line for line in lines if "replay" in line or "PDF input" in line]
    matrix = said(tmp_path, "--matrix").splitlines()
    (pdf,) = [line for line in matrix if line.startswith("  PDF input")]
    assert set(pdf.split()[2:]) == {"+", "!"}
    assert not [line for line in matrix if "gpt-4o" in line or "replay" in line]


def test_filters(tmp_path: Path) -> None:
    rows = said(tmp_path, "--search", "GPT-4", "--with", "images").splitlines()
    assert [row.split()[0] for row in rows] == ["openai:", "openai/gpt-4.1", "openai/gpt-4o"]
    thinking = facts(tmp_path, "openai", "--with", "thinking")["models"]
    assert thinking
    assert "gpt-4o" not in [model["id"] for model in thinking]
    usable = facts(tmp_path, "--usable", OPENAI_API_KEY="sk-secret-secret")
    assert "groq" not in {provider["name"] for provider in usable["providers"]}
    assert said(tmp_path, "--search", "no-such-model") == "No known model fits.\n"


def test_one_provider(tmp_path: Path) -> None:
    lines = said(tmp_path, "gemini").splitlines()
    assert lines[0].startswith("google: google-genai, https://generativelanguage.googleapis.com, no key: ")
    assert next(line.split()[0] for line in lines if "window" in line).startswith("gemini-")
    mistral = said(tmp_path, "mistral").splitlines()
    assert "  PDF input                warning    their text is sent instead" in mistral


def test_a_bad_address_of_one_provider_hides_only_that_one(tmp_path: Path) -> None:
    bad = {"OPENAI_BASE_URL": "htp:/x"}
    ended = run(tmp_path, **bad)
    assert ended.code == 1
    assert ended.stderr.decode().startswith("yume-shim: bad base URL 'htp:/x' in $OPENAI_BASE_URL: ")
    shown = ended.stdout.decode()
    assert "  anthropic/claude-" in shown
    assert "  groq  " in shown
    assert "openai: " not in shown
    assert "openai/gpt" not in shown
    assert said(tmp_path, "groq", **bad).startswith("groq: ")
    ended = run(tmp_path, "openai", **bad)
    assert (ended.code, ended.stdout) == (2, b"")


def test_the_json_output(tmp_path: Path) -> None:
    config = (
        '[endpoints.acme]\napi = "openai-chat"\nbase_url = "http://h/v1"\n[endpoints.acme.quirks]\nnoToolUse = true'
    )
    listing = facts(tmp_path, "acme", config=config, ACME_API_KEY="k")
    (provider,) = listing["providers"]
    assert {key: provider[key] for key in ("name", "api", "baseUrl", "hasKey")} == {
        "name": "acme",
        "api": "openai-chat",
        "baseUrl": "http://h/v1",
        "hasKey": False,
    }
    assert provider["features"]["text streaming"] == {"level": "full"}
    assert provider["features"]["tool calls"] == {
        "level": "simulated",
        "text": "through a text protocol in the prompt, with one warning",
    }
    assert listing["models"] == []
    everything = facts(tmp_path)
    (model,) = [model for model in everything["models"] if model["id"] == "gpt-4o"]
    assert model == {
        "id": "gpt-4o",
        "provider": "openai",
        "contextWindow": 128_000,
        "maxOutputTokens": 16_384,
        "pricesPerMillion": {"input": 2.5, "output": 10, "cacheRead": 1.25, "cacheWrite": 2.5},
        "thinking": "",
        "tools": True,
        "streaming": True,
        "images": True,
    }
    assert everything["aliases"]["default"] == "claude-opus-5-5"
    assert len(everything["providers"]) > 15


@pytest.mark.parametrize(
    ("provider", "variable", "path", "body", "ids"),
    [
        ("anthropic", "ANTHROPIC_BASE_URL", "/v1/models?limit=1000", {"data": [{"id": "claude-x"}]}, ["claude-x"]),
        ("openai", "OPENAI_BASE_URL", "/models", OPENAI, ["a", "b"]),
        ("google", "GOOGLE_GEMINI_BASE_URL", "/v1/models?pageSize=1000", GEMINI, ["gemini-x"]),
        ("openrouter", "OPENROUTER_BASE_URL", "/models", TOGETHER, ["meta-llama/x"]),
        ("ollama", "OLLAMA_BASE_URL", "/api/tags", OLLAMA, ["llava:latest", "qwen3:8b"]),
    ],
)
def test_the_live_list_of_a_provider(
    provider: str, variable: str, path: str, body: Any, ids: list[str], tmp_path: Path
) -> None:
    def answer(exchange: Exchange) -> bool:
        exchange.reply(200, {"Content-Type": "application/json"}, json.dumps(body).encode())
        return False

    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"), "k-secret")
    with LoopbackServer(answer) as server:
        listing = facts(tmp_path, provider, "--live", **{variable: server.url}, **keys)
        text = said(tmp_path, provider, "--live", **{variable: server.url}, **keys)
    assert listing["live"] == ids
    assert f"models available now ({len(ids)}):\n" + "".join(f"  {name}\n" for name in ids) in text
    assert [(request.method, request.path) for request in server.requests] == [("GET", path)] * 2


def test_a_key_command_is_run_for_the_live_list(tmp_path: Path) -> None:
    def quote(exchange: Exchange) -> bool:
        key = exchange.request.headers["x-api-key"]
        body = {"error": {"type": "x", "message": f"Bad key {key}."}}
        exchange.reply(401, {"Content-Type": "application/json"}, json.dumps(body).encode())
        return False

    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text('{"apiKeyHelper": "echo of-the-helper"}')
    with LoopbackServer(quote) as server:
        refused = run(tmp_path, "anthropic", "--live", ANTHROPIC_BASE_URL=server.url)
    assert server.requests[0].headers["x-api-key"] == "of-the-helper"
    assert refused.stderr == b"yume-shim: provider 'anthropic' did not list its models (401): Bad key [redacted].\n"


def test_login_and_query_of_an_address_are_not_shown(tmp_path: Path) -> None:
    url = "http://me:pass-word@127.0.0.1:9/v1?api-key=zzz"
    for words in ((), ("openai",), ("openai", "--json")):
        text = said(tmp_path, *words, OPENAI_BASE_URL=url, OPENAI_API_KEY="k")
        assert "http://127.0.0.1:9/v1" in text
        assert "pass-word" not in text
        assert "zzz" not in text


def test_an_answer_that_is_not_a_list_is_reported(tmp_path: Path) -> None:
    def nonsense(exchange: Exchange) -> bool:
        exchange.reply(200, {"Content-Type": "text/html"}, b"<html>Welcome</html>")
        return False

    with LoopbackServer(nonsense) as server:
        ended = run(tmp_path, "openai", "--live", OPENAI_BASE_URL=server.url, OPENAI_API_KEY="k")
    assert (ended.code, ended.stdout) == (2, b"")
    assert ended.stderr.startswith(b"yume-shim: provider 'openai' did not list its models: ")


def test_requests_that_cannot_be_made_are_reported(tmp_path: Path) -> None:
    def refuse(exchange: Exchange) -> bool:
        exchange.reply(401, {"Content-Type": "application/json"}, b'{"error": {"message": "Bad key."}}')
        return False

    with LoopbackServer(refuse) as server:
        refused = run(tmp_path, "openai", "--live", OPENAI_BASE_URL=server.url, OPENAI_API_KEY="k")
    assert (refused.code, refused.stdout) == (2, b"")
    assert refused.stderr == b"yume-shim: provider 'openai' did not list its models (401): Bad key.\n"
    for words, sentence in (
        (("openai", "--live"), b"no key for provider 'openai'"),
        (("--live",), b"--live asks one provider"),
        (("opnai",), b"Did you mean 'openai'?"),
        (("compatible", "--live"), b"give --api-base"),
    ):
        ended = run(tmp_path, *words)
        assert ended.code == 2
        assert sentence in ended.stderr


@pytest.mark.parametrize("body", [{}, {"data": None}, {"data": [1, {"id": 2}, {}]}, {"data": [{"id": "a\x1b[2J"}]}])
def test_invalid_lists_are_empty(body: Any) -> None:
    assert read_ids([body]) == ()
