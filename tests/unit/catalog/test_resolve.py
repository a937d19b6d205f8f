"""Which provider a model's name means, what is known of the model, and the errors for unknown names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.settings import settings_with
from yume_shim.catalog.cost import cost_usd
from yume_shim.catalog.resolve import Catalog
from yume_shim.config.credentials import (
    find_credential,
    is_secret_name,
    missing_key,
    secrets_of,
    tool_environment,
)
from yume_shim.types.errors import BadInvocation
from yume_shim.types.models import Backoff, Cost, Credential, ModelSpec, Usage
from yume_shim.types.settings import RetrySettings, Settings


def catalog(env: dict[str, str] | None = None, **settings: Any) -> Catalog:
    made = settings_with(env=env or {}, **settings)
    return Catalog(made, lambda endpoint: find_credential(endpoint, made) is not None)


def named(spec: Any) -> tuple[str, str, str]:
    return spec.endpoint.name, spec.endpoint.api, spec.id


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("", ("anthropic", "anthropic-messages", "claude-opus-5-5")),
        ("sonnet", ("anthropic", "anthropic-messages", "claude-sonnet-5-5")),
        ("opus[1m]", ("anthropic", "anthropic-messages", "claude-opus-5-5")),
        ("claude-x-9", ("anthropic", "anthropic-messages", "claude-x-9")),
        ("gpt-5.5", ("openai", "openai-responses", "gpt-5.5")),
        ("o3-mini", ("openai", "openai-responses", "o3-mini")),
        ("opus-like", ("anthropic", "anthropic-messages", "opus-like")),
        ("gemini-3.8-flash", ("google", "google-genai", "gemini-3.8-flash")),
        ("gemini/gemini-2.5-pro", ("google", "google-genai", "gemini-2.5-pro")),
        ("openrouter/meta/llama-4", ("openrouter", "openai-chat", "meta/llama-4")),
        ("OpenAI/gpt-4o", ("openai", "openai-responses", "gpt-4o")),
    ],
)
def test_names(text: str, meant: tuple[str, str, str]) -> None:
    assert named(catalog().resolve(text)) == meant


def test_a_chosen_provider_gets_the_name_unchanged() -> None:
    assert named(catalog(provider="openrouter").resolve("anthropic/claude-x")) == (
        "openrouter",
        "openai-chat",
        "anthropic/claude-x",
    )
    assert named(catalog(provider="openai").resolve("openai/gpt-4o")) == ("openai", "openai-responses", "gpt-4o")


def test_a_hosts_alias_gets_the_providers_own_model() -> None:
    chosen = catalog(provider="openai", provider_model="gpt-5.5")
    assert chosen.resolve("sonnet").id == "gpt-5.5"
    assert chosen.resolve("").id == "gpt-5.5"
    assert chosen.resolve("gpt-4o").id == "gpt-4o"
    with pytest.raises(BadInvocation, match="no model named"):
        catalog(provider="openai").resolve("")


def test_configured_aliases() -> None:
    made = catalog(aliases={"sonnet": "google/gemini-3.8-flash", "default": "gpt-5.5"})
    assert named(made.resolve("sonnet"))[0] == "google"
    assert named(made.resolve(""))[0] == "openai"


def test_a_default_provider_is_weaker_than_names_and_aliases() -> None:
    made = catalog(default_provider="openai", provider_model="gpt-5.5", aliases={"sonnet": "google/gemini-3.8-flash"})
    assert named(made.resolve("sonnet"))[0] == "google"
    assert named(made.resolve("openrouter/x/y")) == ("openrouter", "openai-chat", "x/y")
    assert named(made.resolve("opus")) == ("openai", "openai-responses", "gpt-5.5")
    assert named(made.resolve("my/own")) == ("openai", "openai-responses", "my/own")


def test_an_unknown_provider_is_reported_with_the_nearest_name() -> None:
    with pytest.raises(BadInvocation, match="Did you mean 'openai'") as refused:
        catalog().resolve("opnai/gpt-4o")
    assert "openrouter" in refused.value.message
    with pytest.raises(BadInvocation, match="unknown provider 'nope'"):
        catalog(provider="nope").resolve("x")


def test_names_are_unchanged_with_a_foreign_base_url() -> None:
    env = {"ANTHROPIC_BASE_URL": "http://localhost:1/x/"}
    assert named(catalog(env).resolve("who/knows")) == ("anthropic", "anthropic-messages", "who/knows")
    assert named(catalog(env).resolve("gpt-5.5"))[0] == "anthropic"
    assert named(catalog({**env, "OPENAI_API_KEY": "k"}).resolve("gpt-5.5"))[0] == "openai"
    assert catalog(env).resolve("").endpoint.base_url == "http://localhost:1/x"


def test_address_and_api_can_be_given() -> None:
    made = catalog(
        provider="compatible", api_base="http://localhost:9/v1", api="openai-responses", api_key_env="MY_KEY"
    )
    endpoint = made.resolve("m").endpoint
    assert (endpoint.base_url, endpoint.api, endpoint.key_vars) == (
        "http://localhost:9/v1",
        "openai-responses",
        ("MY_KEY",),
    )


@pytest.mark.parametrize("url", ["localhost:1", "ftp://x", "http://", "http://a b", "http://h:99999", "http://h:x"])
def test_bad_addresses(url: str) -> None:
    with pytest.raises(BadInvocation, match="bad base URL"):
        catalog(provider="compatible", api_base=url).resolve("m")


def test_compatible_needs_an_address() -> None:
    with pytest.raises(BadInvocation, match="--api-base"):
        catalog(provider="compatible").resolve("m")


def test_backoff_is_data_and_can_be_overridden() -> None:
    assert catalog().resolve("gemini-x").endpoint.backoff == Backoff(initial=0.5, retries=5)
    assert catalog().resolve("gpt-x").endpoint.backoff == Backoff(cap=120)
    made = catalog(retry=RetrySettings(initial=0.1, retries=0))
    assert made.resolve("gpt-x").endpoint.backoff == Backoff(initial=0.1, cap=120, retries=0)


def test_custom_headers_go_only_to_their_vendor() -> None:
    """They may contain a key: ANTHROPIC_CUSTOM_HEADERS must not go to another vendor."""
    takers = {name for name in catalog().names() if _at(name).endpoint.takes_custom_headers}
    assert takers == {"anthropic"}


def test_arguments_are_fixed_at_every_endpoint_for_models_that_are_not_claude() -> None:
    assert all(_at(name).endpoint.quirks.fix_arguments for name in catalog().names())
    claude = ("anthropic/claude-sonnet-4-5", "openrouter/anthropic/claude-opus-5", "bedrock/us.anthropic.claude-x")
    assert all(catalog().resolve(name).is_claude for name in claude)
    others = ("openai/gpt-5.4", "google/gemini-3.5-flash", "moonshot/kimi-k3", "openrouter/z-ai/glm-5")
    assert not any(catalog().resolve(name).is_claude for name in others)


def _at(provider: str) -> ModelSpec:
    base = "http://localhost:1" if provider in ("compatible", "azure", "azure-ad") else ""
    return catalog(provider=provider, api_base=base).resolve("m")


def test_endpoints_from_the_config_file() -> None:
    rows = {
        "mine": {"api": "openai-chat", "base_url": "http://h/v1", "key_vars": ["K"], "quirks": {"strict_tools": True}}
    }
    spec = catalog(endpoints=rows).resolve("mine/m")
    assert named(spec) == ("mine", "openai-chat", "m")
    assert spec.endpoint.quirks.strict_tools
    bad = {"mine": {"api": "openai-chat", "base_url": "http://h", "quirks": {"nope": 1}}}
    with pytest.raises(BadInvocation, match="unknown quirk nope"):
        catalog(endpoints=bad).resolve("mine/m")


def test_address_flags_apply_to_one_endpoint() -> None:
    """Another provider's key must not go to the address of the first."""
    env = {"OPENAI_API_KEY": "k", "MINE": "m"}
    flags = {"api_base": "http://localhost:9/v1", "api": "openai-chat", "api_key_env": "MINE", "compat": ("noToolUse",)}
    made = catalog(env, **flags)
    first = made.resolve("groq/llama").endpoint
    assert (first.base_url, first.key_vars, first.quirks.tools) == ("http://localhost:9/v1", ("MINE",), False)
    other = made.resolve("openai/gpt-5.5").endpoint
    assert (other.base_url, other.api) == ("https://api.openai.com/v1", "openai-responses")
    assert (other.key_vars, other.quirks.tools) == (("OPENAI_API_KEY",), True)
    assert made.fallback("openai/gpt-5.5").endpoint == other
    assert made.resolve("groq/llama").endpoint == first


def test_a_fallback_may_be_at_another_provider() -> None:
    made = catalog({"OPENAI_API_KEY": "k"}, provider="openrouter", aliases={"spare": "openai/gpt-5.4"})
    assert named(made.resolve("openai/gpt-5.5"))[0] == "openrouter"
    assert named(made.fallback("openai/gpt-5.5")) == ("openai", "openai-responses", "gpt-5.5")
    assert named(made.fallback("spare")) == ("openai", "openai-responses", "gpt-5.4")
    no_key = made.fallback("google/gemini-3.5-flash")
    assert named(no_key) == ("openrouter", "openai-chat", "google/gemini-3.5-flash")
    assert named(made.fallback("some-model"))[0] == "openrouter"


def test_models_have_all_abilities_unless_the_data_says_no() -> None:
    able = catalog().resolve("google/who-knows")
    assert (able.tools, able.streaming, able.images, able.forced_choice) == (True, True, True, True)
    for name in ("google/gemma-3-27b-it", "ollama/gemma3:4b", "openrouter/google/gemma-3-12b-it", "openai/o1-mini"):
        assert not catalog().resolve(name).tools, name


def test_known_models_are_listed_at_their_vendors() -> None:
    known = {spec.id: spec.endpoint.name for spec in catalog().known_models()}
    assert (known["claude-opus-5-5"], known["gpt-4o"], known["gemini-2.5-pro"]) == ("anthropic", "openai", "google")
    assert all(spec.known and spec.prices for spec in catalog().known_models())


def test_aliases_of_the_config_file_override_ours() -> None:
    assert catalog(aliases={"sonnet": "x/y", "mine": "z"}).aliases() == {
        **catalog().aliases(),
        "sonnet": "x/y",
        "mine": "z",
    }


def test_every_endpoint_the_readme_promises() -> None:
    promised = {"anthropic", "openai", "google", "openrouter", "ollama", "azure", "groq", "deepseek", "mistral", "xai"}
    promised |= {"lmstudio", "vllm", "together", "zai", "moonshot", "qwen", "compatible"}
    promised |= {"bedrock", "vertex", "vertex-gemini", "azure-ad"}
    assert promised <= set(catalog().names())
    assert catalog().provider("Kimi") == "moonshot"


def test_what_is_known_of_models() -> None:
    spec = catalog().resolve("claude-sonnet-4-5-20250929")
    assert (spec.window, spec.max_output, spec.thinking, spec.known) == (200_000, 64_000, "budget", True)
    spec = catalog().resolve("gpt-9-new")
    assert (spec.window, spec.max_output, spec.thinking, spec.known, spec.prices) == (
        128_000,
        8_192,
        "effort",
        False,
        None,
    )
    assert catalog(provider="groq").resolve("llama").window == 128_000


def test_unknown_models_get_what_the_document_says() -> None:
    text = (Path(__file__).parents[3] / "docs" / "providers.md").read_text("utf-8")
    table = text.partition("<!-- families:")[2].partition("<!-- end of families")[0]
    rows = re.findall(r"^\| (.+?) \| ([\d,]+) \| ([\d,]+) \|$", table, re.MULTILINE)
    assert len(rows) > 15
    for name, window, most in rows:
        special = {"`o` and a digit": "o9-x", "anything else": "zeta-1"}
        model = special.get(str(name)) or f"{str(name).strip('`')}-zz"
        spec = catalog(provider="openrouter").resolve(model)
        expected = (int(window.replace(",", "")), int(most.replace(",", "")))
        assert (spec.window, spec.max_output, spec.known) == (*expected, False), name


@pytest.mark.parametrize(("name", "limits"), [("gpt-3.5-turbo", (16_385, 4_096)), ("gpt-9", (128_000, 8_192))])
def test_no_unknown_model_is_asked_for_more_than_its_family_can(name: str, limits: tuple[int, int]) -> None:
    spec = catalog().resolve(name)
    assert (spec.window, spec.max_output) == limits


@pytest.mark.parametrize(
    "name",
    [
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "global.anthropic.claude-sonnet-4-5",
        "claude-sonnet-4-5@20250929",
    ],
)
def test_models_under_their_names_in_clouds(name: str) -> None:
    spec = catalog(provider="bedrock").resolve(name)
    plain = catalog().resolve("claude-sonnet-4-5")
    assert (spec.id, spec.known) == (name, True)
    assert (spec.window, spec.prices, spec.thinking) == (plain.window, plain.prices, plain.thinking)


def test_the_variable_of_a_cloud_selects_it_for_claude() -> None:
    env = {"CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_DEFAULT_SONNET_MODEL": "us.anthropic.claude-sonnet-9-v1:0"}
    spec = catalog(env).resolve("sonnet")
    assert named(spec) == ("bedrock", "anthropic-messages", "us.anthropic.claude-sonnet-9-v1:0")
    assert (spec.endpoint.sign_in, spec.endpoint.base_url) == ("bedrock", "")
    assert named(catalog({"CLAUDE_CODE_USE_VERTEX": "true"}).resolve("claude-x"))[0] == "vertex"
    assert named(catalog({"CLAUDE_CODE_USE_BEDROCK": "0"}).resolve("claude-x"))[0] == "anthropic"
    assert named(catalog(env).resolve("gpt-5.5"))[0] == "openai"


def test_an_address_of_a_cloud_can_be_given() -> None:
    env = {"ANTHROPIC_BEDROCK_BASE_URL": "https://bedrock.example.test/x"}
    assert catalog(env).resolve("bedrock/m").endpoint.base_url == "https://bedrock.example.test/x"
    with pytest.raises(BadInvocation, match="no default address"):
        catalog().resolve("azure-ad/my-deployment")


def test_a_local_model_with_a_vendors_model_name_is_not_that_model() -> None:
    """Users name their own model as the name that their program requests."""
    spec = catalog(provider="ollama").resolve("claude-opus-5")
    assert (spec.known, spec.window, spec.prices) == (False, 32_768, None)


def test_costs() -> None:
    spec = catalog().resolve("opus")
    usage = Usage(input=1_000_000, output=100_000, cache_read=1_000_000, cache_write=200_000, cache_write_1h=100_000)
    cost = cost_usd(spec, usage)
    assert cost.known
    assert cost.usd == pytest.approx(4 + 2 + 0.2 + 0.5 + 0.8)
    assert cost_usd(catalog().resolve("gpt-9-new"), usage) == Cost(0.0, known=False)


# ---------------------------------------------------------------- keys


def test_keys_are_found_in_order() -> None:
    env = {"GEMINI_API_KEY": "g1", "GOOGLE_API_KEY": "g2", "ANTHROPIC_AUTH_TOKEN": "tok"}
    made = catalog(env)
    settings = Settings(env=env)
    assert find_credential(made.resolve("gemini-x").endpoint, settings) == Credential("g1", "key", "GEMINI_API_KEY")
    token = find_credential(made.resolve("opus").endpoint, settings)
    assert token == Credential("tok", "token", "ANTHROPIC_AUTH_TOKEN")
    assert find_credential(made.resolve("gpt-x").endpoint, settings) is None
    local = catalog(provider="ollama").resolve("llama").endpoint
    assert find_credential(local, Settings()) == Credential("", "none", "none")


def test_the_error_for_a_missing_key_names_the_places() -> None:
    endpoint = catalog().resolve("gemini-x").endpoint
    error = missing_key(endpoint, Settings(config_file="~/.yume/config.toml"))
    assert error.kind == "auth"
    for name in ("$GEMINI_API_KEY", "$GOOGLE_API_KEY", "[keys] google", "~/.yume/config.toml"):
        assert name in error.message


def test_secrets_never_reach_tools() -> None:
    env = {"OPENAI_API_KEY": "12345678", "AWS_SECRET_ACCESS_KEY": "s3cr3t-s3cr3t", "PATH": "/bin", "MY_KEY": "abc"}
    settings = settings_with(env=env, api_key_env="MY_KEY", keys={"x": "in-the-file"})
    assert tool_environment(settings) == {"PATH": "/bin"}
    secrets = secrets_of(settings, Credential("in-use-key", "key", "MY_KEY"))
    assert secrets == ("12345678", "s3cr3t-s3cr3t", "in-the-file", "in-use-key")
    assert not is_secret_name("KEYBOARD")
    assert "in-use-key" not in repr(Credential("in-use-key", "key", "MY_KEY"))
