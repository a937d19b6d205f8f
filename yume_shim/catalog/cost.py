"""Computes the cost of usage: from the prices that the user gave or the catalogue lists, else from the price table."""

from __future__ import annotations

from yume_shim.types.models import Cost, Usage
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.models import ModelSpec

MILLION = 1_000_000
HOUR_WRITE = 2.0
"""A cache write for one hour costs twice the input price; the usual one for five minutes costs 1.25 times."""


def cost_usd(spec: ModelSpec, usage: Usage) -> Cost:
    """What one response cost. Reasoning is part of the output; it costs the same unless the table says otherwise."""
    if spec.prices is None:
        from yume_shim.catalog.prices import look_up

        listed = look_up(spec)
        found = None if listed is None else listed.cost_usd(usage)
        if listed is None or found is None:
            return Cost(0.0, known=False)
        return Cost(found, list_price=listed.moved)
    per_input, per_output, cache_read, cache_write = spec.prices
    more_input = more_output = 1.0
    if spec.long_context is not None and not spec.prices_given:
        above, times_input, times_output = spec.long_context
        if usage.input + usage.cache_read + usage.cache_write > above:
            more_input, more_output = times_input, times_output
    input_cost = (
        usage.input * per_input
        + usage.cache_read * cache_read
        + (usage.cache_write - usage.cache_write_1h) * cache_write
        + usage.cache_write_1h * per_input * HOUR_WRITE
    )
    usd = (input_cost * more_input + usage.output * per_output * more_output) / MILLION
    return Cost(usd, list_price=not spec.prices_given and spec.endpoint.moved)


def has_price(spec: ModelSpec) -> bool:
    """Is a price of this model known?"""
    return cost_usd(spec, Usage()).known


def with_listed_window(spec: ModelSpec) -> ModelSpec:
    """A model that the catalogue does not list, with the context window that the price table has for it."""
    if spec.known:
        return spec
    from yume_shim.catalog.prices import look_up

    listed = look_up(spec)
    if listed is None or not listed.window:
        return spec
    # the table has no output limits: in a smaller window, an answer may take only a part of it
    return spec.with_window(listed.window) if listed.window < spec.window else replace(spec, window=listed.window)
