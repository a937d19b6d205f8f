"""Prices of the catalogue: cache, reasoning, long requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from yume_shim.catalog.cost import cost_usd
from yume_shim.catalog.resolve import Catalog
from yume_shim.types.models import Cost, ModelSpec, Usage
from yume_shim.types.settings import Settings
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

M = 1_000_000
CATALOG = Catalog(Settings(env={}), lambda endpoint: True)


def spec(name: str) -> ModelSpec:
    return CATALOG.resolve(name)


@pytest.mark.parametrize(
    ("model", "usage", "usd"),
    [
        ("claude-sonnet-5-5", Usage(1_000, 100), (1_000 * 2 + 100 * 10) / M),
        ("claude-sonnet-5-5", Usage(1, 0, 1_000, 500), (2 + 1_000 * 0.1 + 500 * 2.5) / M),
        ("claude-sonnet-5-5", Usage(0, 0, 0, 500, cache_write_1h=200), (300 * 2.5 + 200 * 4) / M),
        ("claude-sonnet-5-5", Usage(900_000, 10), (900_000 * 2 + 100) / M),
        ("claude-haiku-5-5", Usage(100_000, 10), (100_000 * 0.1 + 10 * 0.5) / M),
        ("claude-haiku-5-5", Usage(100_001, 10), (100_001 * 0.5 + 10 * 2.5) / M),
        ("claude-haiku-5-5", Usage(1, 10, 100_000), (0.5 + 100_000 * 0.05 + 10 * 2.5) / M),
        ("gpt-6-sol", Usage(272_000, 10, reasoning=9), (272_000 * 2 + 10 * 10) / M),
        ("gpt-6-sol", Usage(272_001, 10, 1_000, 4), (272_001 * 4 + 10 * 15 + 1_000 * 0.4 + 4 * 5) / M),
        ("gpt-5.4-mini", Usage(300_000, 10), (300_000 * 0.75 + 10 * 4.5) / M),
        ("gemini-3.1-pro-preview", Usage(200_001, 10), (200_001 * 4 + 10 * 18) / M),
        ("gemini-3.5-flash", Usage(500_000, 10), (500_000 * 1.5 + 10 * 9) / M),
    ],
)
def test_prices(model: str, usage: Usage, usd: float) -> None:
    cost = cost_usd(spec(model), usage)
    assert cost == Cost(cost.usd)
    assert cost.usd == pytest.approx(usd, rel=1e-12)


NO_CACHE_WRITES = ("gpt-4", "gpt-5.4", "gpt-5.5", "gemini")
PRICED = [spec.id for spec in CATALOG.known_models() if not spec.id.startswith(NO_CACHE_WRITES)]
SAMPLES: Mapping[str, Usage] = {
    "short": Usage(1_000, 100, 2_000, 300),
    "long": Usage(250_000, 100, 60_000, 300),
}


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("model", PRICED)
def test_the_catalogue_agrees_with_genai_prices(model: str, sample: str) -> None:
    """Where the vendor sells cache writes; elsewhere genai-prices has no price for them."""
    unlisted = replace(spec(model), prices=None)
    found = cost_usd(unlisted, SAMPLES[sample])
    assert found.known
    assert cost_usd(spec(model), SAMPLES[sample]).usd == pytest.approx(found.usd, rel=1e-9)


def test_each_family_has_its_thresholds() -> None:
    names = ("claude-new", "gpt-5.4-mini", "gpt-4o", "o4")
    shares = {name: spec(name).shares(spec(name).window) for name in names}
    assert shares == {"claude-new": (0.7, 0.85), "gpt-5.4-mini": (0.7, 0.85), "gpt-4o": (0.6, 0.8), "o4": (0.6, 0.8)}
    assert CATALOG.resolve("my-own", "groq").shares(128_000) == (0.55, 0.7)


@pytest.mark.parametrize("name", ["gemini-2.5-pro", "gemini-9", "claude-opus-5-5", "gpt-4.1", "gpt-5.4"])
def test_a_window_of_half_a_million_compacts_late(name: str) -> None:
    made = spec(name)
    assert made.shares(made.window) == (0.8, 0.9)
    assert made.shares(500_000) == (0.8, 0.9)
    assert made.shares(499_999) == (made.trim_at, made.compact_at)
