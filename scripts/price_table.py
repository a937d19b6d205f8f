"""Writes yume_shim/catalog/prices.jsonl from the installed genai-prices; with `--check` only compares.

The package takes 300 ms to import, so a turn reads this table instead. A line that is an object begins a vendor: its
id, the pattern of its addresses, and the vendors whose models it also sells. The arrays after it are its models: id,
how names match it, context window, prices. `catalog/prices.py` reads the table and explains the short forms.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import metadata

import _venv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

TABLE = os.path.join(_venv.ROOT, "yume_shim", "catalog", "prices.jsonl")
PRICES = {
    "input_mtok": "in",
    "output_mtok": "out",
    "cache_read_mtok": "read",
    "cache_write_mtok": "write",
    "cache_write_1h_mtok": "hour",
    "output_reasoning_mtok": "think",
    "web_searches_kcount": "search",
    "requests_kcount": "request",
}
"""Prices of what our usage counts, and their names in the table. Audio, video, pages and batches are left out."""
MARKS = {"equals": "=", "starts_with": "^", "contains": "*", "ends_with": "$", "regex": "~"}


def main() -> int:
    """Exit code 1 if the table is out of date and was only compared."""
    _venv.ready()
    text = "".join(lines())
    try:
        with open(TABLE, encoding="utf-8") as file:
            old = file.read()
    except FileNotFoundError:
        old = ""
    if text == old:
        return 0
    if "--check" in sys.argv[1:]:
        print("the price table does not match the installed genai-prices; run scripts/price_table.py", file=sys.stderr)
        return 1
    with open(TABLE, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    print(f"{TABLE}: {text.count(chr(10))} lines, {len(text)} bytes")
    return 0


def lines() -> Iterator[str]:
    """The lines of the table."""
    from genai_prices.data import providers

    yield _line({"genai_prices": metadata.version("genai-prices")})
    for provider in providers:
        yield _line(
            {
                "vendor": provider.id,
                "address": provider.api_pattern,
                "also": list(provider.fallback_model_providers or ()),
            }
        )
        yield from (_line(_model(model)) for model in provider.models)


def _line(item: Any) -> str:
    return json.dumps(item, ensure_ascii=True, separators=(",", ":")) + "\n"


def _model(model: Any) -> list[Any]:
    """The row of a model; one without a price for tokens (speech, pictures) stays, because rows match in order."""
    if isinstance(model.prices, list):
        prices: Any = [[_condition(each.constraint), _prices(each.prices)] for each in model.prices]
    else:
        prices = _prices(model.prices)
    return [model.id, _match(model.match), model.context_window, prices]


def _match(clause: Any) -> Any:
    for name, mark in MARKS.items():
        if hasattr(clause, name):
            text = getattr(clause, name)
            return mark + (text if name == "regex" else text.lower())
    if hasattr(clause, "or_"):
        return [_match(each) for each in clause.or_]
    return {"all": [_match(each) for each in clause.and_]}


def _condition(constraint: Any) -> str:
    """ "" = always; a date = from then on; two times of the day (UTC) = between them."""
    if constraint is None:
        return ""
    if hasattr(constraint, "start_date"):
        return str(constraint.start_date.isoformat())
    if any(time.utcoffset() for time in (constraint.start_time, constraint.end_time)):
        raise SystemExit("a time of day that is not UTC: teach _condition to convert it")
    return f"{constraint.start_time:%H:%M:%S}-{constraint.end_time:%H:%M:%S}"


def _prices(prices: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for theirs, ours in PRICES.items():
        price = getattr(prices, theirs)
        if price is None:
            continue
        if hasattr(price, "tiers"):
            found[ours] = [_number(price.base), *([tier.start, _number(tier.price)] for tier in price.tiers)]
        else:
            found[ours] = _number(price)
    return found


def _number(price: Any) -> int | float:
    number = float(price)
    return int(number) if number == int(number) else number


if __name__ == "__main__":
    sys.exit(main())
