"""The price table: the same prices and windows as genai-prices for every model, found cheaply, list prices marked."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.timing import cheap
from yume_shim.catalog import prices
from yume_shim.catalog.cost import cost_usd, has_price, with_listed_window
from yume_shim.catalog.resolve import Catalog
from yume_shim.types.models import Cost, Endpoint, ModelSpec, Usage
from yume_shim.types.settings import Settings
from yume_shim.types.value import replace_in

if TYPE_CHECKING:
    from yume_shim.types.models import ModelSpec as Spec

ROOT = Path(__file__).parents[3]
USAGES = (Usage(1_000, 100), Usage(150_000, 900, 90_000, 70_000, 300, cache_write_1h=60_000, web_searches=3))
TIMES = (
    datetime(2025, 1, 5, 3, tzinfo=UTC),
    datetime(2026, 11, 1, 8, 30, tzinfo=UTC),
    datetime(2027, 5, 1, tzinfo=UTC),
)


@pytest.mark.skipif(sys.platform == "win32", reason="scripts use the environment of the checkout")
def test_the_table_is_made_from_the_installed_package() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "price_table.py", "--check"], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_every_model_costs_what_genai_prices_says() -> None:
    import genai_prices
    from genai_prices.data import providers

    table = prices._Table()
    compared = 0
    for provider in providers:
        for model in provider.models:
            row = table.find(provider.id, model.id)
            theirs = provider.find_model(model.id, all_providers=providers)
            assert (row[0] if row else None) == (theirs.id if theirs else None), (provider.id, model.id)
            if row is None or theirs is None:
                continue
            assert row[2] == theirs.context_window
            listed = prices.Listed(row[2], row[3], moved=False)
            for usage in USAGES:
                counted = genai_prices.Usage(
                    input_tokens=usage.input + usage.cache_read + usage.cache_write,
                    cache_read_tokens=usage.cache_read,
                    cache_write_tokens=usage.cache_write,
                    cache_write_1h_tokens=usage.cache_write_1h,
                    output_tokens=usage.output,
                    output_reasoning_tokens=usage.reasoning,
                    web_searches=usage.web_searches,
                )
                for moment in TIMES:
                    ours = listed.cost_usd(usage, moment.timestamp())
                    if ours is None:
                        continue
                    found = theirs.calc_price(counted, provider, genai_request_timestamp=moment)
                    assert ours == pytest.approx(float(found.total_price), rel=1e-9), (provider.id, model.id, usage)
                    compared += 1
    assert compared > 10_000


def test_a_lookup_is_cheap() -> None:
    prices._found.clear()
    with cheap(0.1, this_thread=True):
        assert has_price(ModelSpec("zzz/none", Endpoint("openrouter", "openai-chat", "", prices="openrouter"))) is False
    assert "genai_prices" not in prices.__dict__


def at(address: str, model: str, provider: str = "", **env: str) -> Spec:
    settings = replace_in(Settings(env=env), "endpoint", api_base=address)
    return Catalog(settings, lambda endpoint: True).resolve(model, provider)


@pytest.mark.parametrize(
    ("spec", "known", "marked"),
    [
        (at("", "openai/o3"), True, False),
        (at("", "deepseek/deepseek-chat"), True, False),
        (at("", "claude-3-5-haiku-20241022"), True, False),
        (at("", "openrouter/qwen/qwen3-coder"), True, False),
        (at("http://127.0.0.1:9", "openai/o3"), True, True),
        (at("http://127.0.0.1:9", "claude-3-5-haiku-20241022"), True, True),
        (at("http://127.0.0.1:9", "claude-sonnet-5-5"), True, True),
        (at("https://api.anthropic.com/", "claude-sonnet-5-5"), True, False),
        (at("http://gateway.test/v1", "o3", "compatible"), True, True),
        (at("http://gateway.test/v1", "openai/o3", "compatible"), True, True),
        (at("http://gateway.test/v1", "gpt-4o", "compatible"), True, True),
        (at("http://gateway.test/v1", "o3", "anthropic"), True, True),
        (
            at("https://api.fireworks.ai/inference/v1", "accounts/fireworks/models/deepseek-v3p2", "compatible"),
            True,
            False,
        ),
        (at("http://gateway.test/v1", "llama3", "compatible"), False, False),
        (at("http://gateway.test/v1", "deepseek-r1:7b", "compatible"), False, False),
        (at("", "gpt-oss:20b", "ollama"), False, False),
        (at("", "o3", "lmstudio"), False, False),
        (at("", "whisper-1", "openai"), False, False),
        (at("", "us.anthropic.claude-3-5-haiku-20241022-v1:0", "bedrock"), True, False),
        (at("", "claude-3-5-haiku@20241022", "vertex"), True, False),
        (ModelSpec("o3", Endpoint("replay", "openai-chat", "cassette:x")), False, False),
    ],
    ids=lambda item: f"{item.endpoint.name}:{item.id}" if isinstance(item, ModelSpec) else "",
)
def test_which_models_have_a_price_and_which_of_them_a_list_price(spec: Spec, known: bool, marked: bool) -> None:
    cost = cost_usd(spec, Usage(1_000_000, 1_000_000))
    assert (cost.known, cost.list_price) == (known, marked)
    assert bool(cost.usd) is known


def test_windows_of_unlisted_models() -> None:
    turbo = with_listed_window(at("", "openai/gpt-3.5-turbo"))
    assert (turbo.window, turbo.max_output <= turbo.window // 4) == (16_385, True)
    assert with_listed_window(at("", "mistral/mistral-large-2512")).window > 128_000
    listed, unknown = at("", "gpt-4o"), at("http://gateway.test", "llama3", "compatible")
    assert (with_listed_window(listed), with_listed_window(unknown)) == (listed, unknown)


def test_given_prices_override_every_list() -> None:
    given = replace_in(Settings(env={}), "model", price=(1.0, 2.0))
    for model in ("openai/gpt-4o", "openai/o3", "openai/unheard-of"):
        spec = Catalog(given, lambda endpoint: True).resolve(model)
        assert cost_usd(spec, Usage(1_000_000, 1_000_000, 1_000_000)) == Cost(4.0)
