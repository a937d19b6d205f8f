"""`list_models`: catalogue, lists of endpoints, only providers with a key, no secrets, bounded questions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fake_server import LoopbackServer
from tests.helpers.settings import settings_with
from tests.helpers.timing import soon
from yume_shim.app import model_requests
from yume_shim.app.model_requests import ModelParts, list_models
from yume_shim.app.models import EndpointKeys, ModelResolver
from yume_shim.dialects.schema_check import SchemaCheck, load_schema
from yume_shim.types.errors import BadLine

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.fake_server import Exchange

ANSWERS = SchemaCheck(load_schema("control-answers"), strict=True)
KEY = "sk-very-secret"


def ask(home: Path, body: dict[str, Any] | None = None, /, **env: str) -> Any:
    settings = settings_with(cwd=str(home), env={"HOME": str(home), **env})
    keys = EndpointKeys(settings)
    models = ModelResolver(settings, keys)
    spec = models.catalog.resolve("anthropic/claude-sonnet-5-5")
    parts = ModelParts(models.catalog, keys, settings, lambda: spec, lambda: 1_000.0, lambda level, text: None)
    said = list_models(body or {}, parts).work()
    assert ANSWERS.member("list_models", said) == []
    assert KEY not in json.dumps(said)
    return said


def test_only_providers_with_a_key_are_listed(tmp_path: Path) -> None:
    alone = ask(tmp_path)["models"]
    assert [(model["value"], model.get("current")) for model in alone] == [("anthropic/claude-sonnet-5-5", True)]
    models = ask(tmp_path, OPENAI_API_KEY=KEY)["models"]
    assert {model["provider"] for model in models} == {"anthropic", "openai"}
    [entry] = [model for model in models if model["value"] == "openai/gpt-4o"]
    assert entry == {
        "value": "openai/gpt-4o",
        "resolvedModel": "gpt-4o",
        "displayName": "gpt-4o",
        "description": "openai · $2.5/$10 per Mtok",
        "provider": "openai",
        "contextWindow": 128_000,
        "maxOutputTokens": 16_384,
        "prices": {"input": 2.5, "output": 10, "cacheRead": 1.25, "cacheWrite": 2.5},
        "inputModalities": ["text", "image"],
        "tools": True,
        "known": True,
    }
    aliases = [model["value"] for model in ask(tmp_path, ANTHROPIC_API_KEY=KEY)["models"] if "/" not in model["value"]]
    assert {"default", "opus", "sonnet", "haiku"} <= set(aliases)


def test_efforts_are_those_that_the_model_takes(tmp_path: Path) -> None:
    models = {model["value"]: model for model in ask(tmp_path, ANTHROPIC_API_KEY=KEY, OPENAI_API_KEY=KEY)["models"]}
    assert models["opus"]["supportsEffort"] is True
    assert "high" in models["opus"]["supportedEffortLevels"]
    assert "supportsEffort" not in models["openai/gpt-4o"]


def test_one_provider_and_pages(tmp_path: Path) -> None:
    models = ask(tmp_path, {"provider": "openai"}, OPENAI_API_KEY=KEY)["models"]
    assert {model["provider"] for model in models} == {"openai"}
    assert ask(tmp_path, {"provider": "openai", "offset": 2}, OPENAI_API_KEY=KEY)["models"] == models[2:]
    for body, code in (({"provider": "opnai"}, "not_found"), ({"provider": 5}, "invalid_value")):
        with pytest.raises(BadLine) as caught:
            ask(tmp_path, body)
        assert caught.value.code == code


def test_refresh_asks_endpoints_and_keeps_their_lists(tmp_path: Path) -> None:
    def answer(exchange: Exchange) -> bool:
        body = {"data": [{"id": "acme/new-model"}, {"id": "bad\x1bname"}]}
        exchange.reply(200, {"Content-Type": "application/json"}, json.dumps(body).encode())
        return False

    def refuse(exchange: Exchange) -> bool:
        exchange.reply(
            401, {"Content-Type": "application/json"}, b'{"error": {"message": "Bad key %s."}}' % KEY.encode()
        )
        return False

    with LoopbackServer(answer) as router, LoopbackServer(refuse) as vendor:
        env = {
            "OPENROUTER_API_KEY": KEY,
            "OPENROUTER_BASE_URL": router.url,
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": vendor.url,
        }
        said = ask(tmp_path, {"refresh": True}, **env)
        assert (len(router.requests), len(vendor.requests)) == (1, 1)
    assert said["refreshed"] == ["openrouter"]
    assert said["errors"] == {"openai": "provider 'openai' did not list its models (401): Bad key [redacted]."}
    [entry] = [model for model in said["models"] if model["value"] == "openrouter/acme/new-model"]
    assert (entry["known"], "prices" in entry) == (False, False)
    again = ask(tmp_path, None, **env)
    assert [model["value"] for model in again["models"]] == [model["value"] for model in said["models"]]
    assert "refreshed" not in again
    elsewhere = ask(tmp_path, None, **env | {"OPENROUTER_BASE_URL": "http://127.0.0.1:9"})
    assert "openrouter/acme/new-model" not in [model["value"] for model in elsewhere["models"]]
    assert KEY not in (tmp_path / ".yume" / "models.json").read_text()


def test_an_endpoint_that_hangs_ends_the_refresh_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(exchange: Exchange) -> bool:
        exchange.wait_for_close()
        return False

    monkeypatch.setattr(model_requests, "REFRESH_SECONDS", 0.3)
    with LoopbackServer(hang) as server, soon():
        env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}
        said = ask(tmp_path, {"refresh": True, "provider": "openai"}, **env)
    assert (said["refreshed"], said["errors"]) == ([], {"openai": "no answer within 0.3 seconds"})
