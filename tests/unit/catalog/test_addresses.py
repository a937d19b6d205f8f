"""Addresses of the user's own server, in all the forms that users write."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.settings import settings_with
from yume_shim.catalog.addresses import full_address, with_path
from yume_shim.catalog.resolve import Catalog
from yume_shim.types.errors import BadInvocation


def base(env: dict[str, str] | None = None, **settings: Any) -> str:
    made = settings_with(env=env or {}, provider="ollama", **settings)
    return Catalog(made, lambda endpoint: True).resolve("qwen3:8b").endpoint.base_url


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("box", "http://box:11434"),
        ("box:9000", "http://box:9000"),
        (":9000", "http://127.0.0.1:9000"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:9000", "http://127.0.0.1:9000"),
        ("http://0.0.0.0:9000", "http://127.0.0.1:9000"),
        ("[::]:9000", "http://[::1]:9000"),
        ("[::1]", "http://[::1]:11434"),
        ("::1", "http://[::1]:11434"),
        ("fe80::1:2", "http://[fe80::1:2]:11434"),
        ("http://box", "http://box"),
        ("https://box.example", "https://box.example"),
        ("https://box.example/ollama/v1", "https://box.example/ollama/v1"),
        (" 'box:1' ", "http://box:1"),
        ("box/path", "http://box:11434/path"),
        ("http://me:secret@box:9000", "http://me:secret@box:9000"),
        ("me:secret@0.0.0.0", "http://me:secret@127.0.0.1:11434"),
        ("https://me@[::1]:9000/x", "https://me@[::1]:9000/x"),
    ],
)
def test_forms(text: str, address: str) -> None:
    assert full_address(text, 11_434) == address


def test_paths() -> None:
    paths = {"own": "", "other": "/v1"}
    assert with_path("http://h", paths, "own") == "http://h"
    assert with_path("http://h/v1/", paths, "own") == "http://h"
    assert with_path("http://h/v1", paths, "other") == "http://h/v1"
    assert with_path("http://h", paths, "other") == "http://h/v1"
    assert with_path("http://h/v1", paths, "unheard of") == "http://h"


@pytest.mark.parametrize(
    ("env", "address"),
    [
        ({}, "http://localhost:11434"),
        ({"OLLAMA_HOST": "0.0.0.0"}, "http://127.0.0.1:11434"),
        ({"OLLAMA_HOST": "box:9000"}, "http://box:9000"),
        ({"OLLAMA_BASE_URL": "http://box:9000/v1"}, "http://box:9000"),
        ({"OLLAMA_BASE_URL": "http://box:9000/", "OLLAMA_HOST": "0.0.0.0"}, "http://box:9000"),
    ],
)
def test_the_environment_of_ollama(env: dict[str, str], address: str) -> None:
    assert base(env) == address
    assert base(env, api="openai-chat") == address + "/v1"


def test_a_flag_overrides_the_environment() -> None:
    assert base({"OLLAMA_HOST": "box"}, api_base="http://here:1/v1") == "http://here:1"


def test_an_invalid_address_is_refused_and_quoted() -> None:
    with pytest.raises(BadInvocation, match="is not a port number"):
        base({"OLLAMA_HOST": "box:port"})


def test_what_is_known_of_a_local_model() -> None:
    def spec(**settings: Any) -> Any:
        return Catalog(settings_with(provider="ollama", **settings), lambda endpoint: True).resolve("gpt-oss:20b")

    local = spec()
    assert (local.window, local.max_output, local.known) == (32_768, 8_192, False)
    assert local.endpoint.tells_limits == "ollama-show"
    assert spec(api="openai-chat").endpoint.tells_limits == ""


@pytest.mark.parametrize("variable", ["ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OPENROUTER_BASE_URL"])
def test_only_the_vendors_own_address_is_asked_for_limits(variable: str) -> None:
    name = {"ANTHROPIC_BASE_URL": "anthropic", "GOOGLE_GEMINI_BASE_URL": "google"}.get(variable, "openrouter")

    def limits_form(env: dict[str, str]) -> str:
        made = Catalog(settings_with(env=env, provider=name), lambda endpoint: True)
        return made.resolve("some-model").endpoint.tells_limits

    assert limits_form({})
    assert limits_form({variable: "http://proxy.example"}) == ""
