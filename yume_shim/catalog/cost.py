"""Computes the cost of usage from the catalogue's prices, or from those of genai-prices once it is loaded.

genai-prices knows far more models, but importing it takes 300 ms of CPU, so nothing waits for it: the first response
of a model without a price starts the import on a thread; until it is done, that model's price is unknown.
"""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.models import ModelSpec, Usage

    Pricer = Callable[[ModelSpec, Usage], float | None]

MILLION = 1_000_000
HOUR_WRITE = 2.0
"""A cache write for one hour costs twice the input price; the usual one for five minutes costs 1.25 times."""


def cost_usd(spec: ModelSpec, usage: Usage) -> tuple[float, bool]:
    """(USD, whether the price is known). Reasoning is part of the output and costs the same."""
    if spec.prices is None:
        found = _genai_prices.price(spec, usage)
        return (0.0, False) if found is None else (found, True)
    per_input, per_output, cache_read, cache_write = spec.prices
    more_input = more_output = 1.0
    if spec.long_context is not None:
        above, times_input, times_output = spec.long_context
        if usage.input + usage.cache_read + usage.cache_write > above:
            more_input, more_output = times_input, times_output
    input_cost = (
        usage.input * per_input
        + usage.cache_read * cache_read
        + (usage.cache_write - usage.cache_write_1h) * cache_write
        + usage.cache_write_1h * per_input * HOUR_WRITE
    )
    return (input_cost * more_input + usage.output * per_output * more_output) / MILLION, True


class _GenaiPrices:
    """Prices of models that are not in the catalogue. The threads of the session and of child loops ask for prices; a
    thread of its own loads them and sets `_pricer` once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loader: threading.Thread | None = None
        self._pricer: Pricer | None = None

    def price(self, spec: ModelSpec, usage: Usage) -> float | None:
        """None if the price is unknown, or not loaded yet."""
        pricer = self._pricer
        if pricer is not None:
            return pricer(spec, usage)
        if "://" in spec.endpoint.base_url:  # without an address, the vendor cannot be recognised
            with self._lock:
                if self._loader is None:
                    self._loader = threading.Thread(target=self._load, name="prices", daemon=True)
                    self._loader.start()
        return None

    def _load(self) -> None:
        try:
            self._pricer = load_pricer()
        except Exception:  # a broken installation only makes prices unknown, and the result says so
            self._pricer = lambda spec, usage: None


def load_pricer() -> Pricer:
    """genai-prices as a function. The address identifies the vendor, so models of local servers have no price."""
    import genai_prices

    def price(spec: ModelSpec, usage: Usage) -> float | None:
        counted = genai_prices.Usage(
            input_tokens=usage.input + usage.cache_read + usage.cache_write,
            cache_read_tokens=usage.cache_read,
            cache_write_tokens=usage.cache_write,
            output_tokens=usage.output,
        )
        try:
            found = genai_prices.calc_price(counted, spec.id, provider_api_url=spec.endpoint.base_url)
        except (LookupError, ValueError):
            return None
        return float(found.total_price)

    return price


_genai_prices = _GenaiPrices()
