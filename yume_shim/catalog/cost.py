"""What a usage costs: the catalogue's own prices."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.models import ModelSpec, Usage

_MILLION = 1_000_000


def cost_usd(spec: ModelSpec, usage: Usage) -> tuple[float, bool]:
    """(USD, whether the price is known)."""
    prices = spec.prices
    if prices is None:
        return 0.0, False
    paid_input, paid_output, cache_read, cache_write = prices
    # an hour's cache write costs twice the input price where the usual five minutes cost 1.25 times
    short = usage.cache_write - usage.cache_write_1h
    total = (
        usage.input * paid_input
        + usage.output * paid_output
        + usage.cache_read * cache_read
        + short * cache_write
        + usage.cache_write_1h * paid_input * 2
    )
    return total / _MILLION, True
