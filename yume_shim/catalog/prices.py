"""Looks models up in the price table (`prices.jsonl`, written by scripts/price_table.py from genai-prices).

Loaded when a cost is computed for a model that the catalogue does not list, or when its window is needed. The file is
read as text and only the lines of one vendor are parsed.

A row matches names as genai-prices does: "=" equal, "^" begins with, "*" contains, "$" ends with, "~" regular
expression; a list = any of them, {"all": …} = all of them. Its prices are USD per million tokens (`search`, `request`:
per thousand); a list is the base price and then [input tokens above which another price holds, that price]. A list of
[condition, prices] has the strongest condition last.
"""

from __future__ import annotations

import os
import re
import threading
import time
from itertools import takewhile

from yume_shim.text import codec
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.types.models import ModelSpec, Usage

    Row = list[Any]

_HERE = os.path.dirname(__file__)
_COMPACT_DATE = re.compile(r"-(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")
NO_LIST = "none"
"""`prices` of an endpoint whose models have no list price: a server of the user."""
MILLION = 1_000_000
THOUSAND = 1_000


class Listed(Value):
    """A model's entry in the table. `moved`: the address is not the vendor's, so this is its list price."""

    window: int | None
    prices: Any
    moved: bool

    def cost_usd(self, usage: Usage, now: float | None = None) -> float | None:
        """What one response costs at a time (default: now), by the rules of genai-prices: what has no price of its own
        costs as much as what it is a part of. None if the model has no price for tokens."""
        prices = _in_force(self.prices, time.time() if now is None else now)
        if not prices.keys() & {"in", "out"}:
            return None
        asked = usage.input + usage.cache_read + usage.cache_write
        price = {name: _tier(given, asked) for name, given in prices.items()}
        base, out = price.get("in", 0.0), price.get("out", 0.0)
        write = price.get("write", base)
        tokens = (
            usage.input * base
            + usage.cache_read * price.get("read", base)
            + (usage.cache_write - usage.cache_write_1h) * write
            + usage.cache_write_1h * price.get("hour", write)
            + (usage.output - usage.reasoning) * out
            + usage.reasoning * price.get("think", out)
        )
        counted = usage.web_searches * price.get("search", 0.0) + price.get("request", 0.0)
        return float(tokens / MILLION + counted / THOUSAND)


def look_up(spec: ModelSpec) -> Listed | None:
    """The entry of a model; None if the table has none."""
    end = spec.endpoint
    key = (spec.id, end.name, end.prices, end.base_url)
    with _lock:
        if key not in _found:
            if len(_found) >= MAX_FOUND:
                _found.clear()
            _found[key] = _look_up(spec)
        return _found[key]


MAX_FOUND = 1_000
_lock = threading.Lock()
_found: dict[tuple[str, str, str, str], Listed | None] = {}
"""Models looked up so far; the threads of all loops ask."""


def _look_up(spec: ModelSpec) -> Listed | None:
    end = spec.endpoint
    if end.prices == NO_LIST or (not end.prices and "://" not in end.base_url):  # a server of the user, a cassette
        return None
    table = _Table()
    vendor = end.prices or table.vendor_at(end.base_url)
    name = spec.id.removesuffix("[1m]")
    if vendor:
        row = table.find(vendor, name)
        if row is not None:
            return Listed(row[2], row[3], moved="://" in end.base_url and not table.is_at(vendor, end.base_url))
        if "://" not in end.base_url or table.is_at(vendor, end.base_url):
            return None
    # another address: a gateway that may serve the models of any vendor
    bare = name.rpartition("/")[2]
    for vendor in _vendors_by_shape(bare):
        row = table.find(vendor, bare)
        if row is not None:
            return Listed(row[2], row[3], moved=True)
    return None


class _Table:
    """The lines of the file."""

    def __init__(self) -> None:
        with open(os.path.join(_HERE, "prices.jsonl"), encoding="utf-8") as file:
            self._lines = file.read().splitlines()
        self._vendors: dict[str, tuple[dict[str, Any], int]] = {}
        for number, line in enumerate(self._lines):
            if line.startswith('{"vendor"'):
                head = codec.loads(line)
                self._vendors[head["vendor"]] = (head, number)

    def vendor_at(self, address: str) -> str:
        """The vendor that an address belongs to, or ""."""
        return next((name for name in self._vendors if "://" in address and self.is_at(name, address)), "")

    def is_at(self, vendor: str, address: str) -> bool:
        """Is this an address of the vendor?"""
        return vendor in self._vendors and re.match(self._vendors[vendor][0]["address"], address) is not None

    def find(self, vendor: str, name: str) -> Row | None:
        """The vendor's row for a model, or that of a vendor whose models it also sells."""
        if vendor not in self._vendors:
            return None
        lowered = name.lower()
        dashed = _COMPACT_DATE.sub(r"-\1-\2-\3", lowered)
        for text in dict.fromkeys((lowered, dashed)):
            for seller in (vendor, *self._vendors[vendor][0]["also"]):
                for row in self._rows(seller):
                    if _matches(row[1], text):
                        return row
        return None

    def _rows(self, vendor: str) -> list[Row]:
        if vendor not in self._vendors:
            return []
        own = takewhile(lambda line: line.startswith("["), self._lines[self._vendors[vendor][1] + 1 :])
        rows: list[Row] = codec.loads(f"[{','.join(own)}]")
        return rows


def _matches(rule: Any, name: str) -> bool:
    if isinstance(rule, list):
        return any(_matches(each, name) for each in rule)
    if isinstance(rule, dict):
        return all(_matches(each, name) for each in rule["all"])
    mark, text = rule[0], rule[1:]
    match mark:
        case "=":
            return bool(name == text)
        case "^":
            return name.startswith(text)
        case "*":
            return text in name
        case "$":
            return name.endswith(text)
        case _:
            return name.startswith(_literal_start(text)) and re.search(text, name) is not None


def _literal_start(pattern: str) -> str:
    """Text that every match begins with: spares compiling most patterns, which takes longer than all else here."""
    if not pattern.startswith("^") or "|" in pattern:
        return ""
    run = "".join(takewhile(lambda char: char.isalnum() or char == "-", pattern[1:]))
    return run[:-1]  # a quantifier may follow the last character


def _in_force(prices: Any, now: float) -> Mapping[str, Any]:
    """The prices that hold at a time."""
    if isinstance(prices, dict):
        return prices
    moment = time.gmtime(now)
    day, hour = time.strftime("%Y-%m-%d", moment), time.strftime("%H:%M:%S", moment)
    for condition, figures in reversed(prices):
        if _holds(condition, day, hour):
            return figures  # type: ignore[no-any-return]  # rows of our own file
    return prices[0][1]  # type: ignore[no-any-return]  # likewise


def _holds(condition: str, day: str, hour: str) -> bool:
    if ":" not in condition:
        return day >= condition  # "" = always
    begin, _, end = condition.partition("-")
    return begin <= hour < end if begin <= end else hour >= begin or hour < end


def _tier(price: Any, asked: int) -> float:
    if not isinstance(price, list):
        return float(price)
    base, *tiers = price
    return float(next((above for start, above in reversed(tiers) if asked > start), base))


def _vendors_by_shape(model: str) -> list[str]:
    """The price lists of the built-in endpoints whose models have names of this shape."""
    from yume_shim.catalog.resolve import has_shape

    with open(os.path.join(_HERE, "endpoints.json"), encoding="utf-8") as file:
        rows = codec.loads(file.read()).values()
    return [row["prices"] for row in rows if any(has_shape(model, shape) for shape in row.get("shapes", ()))]
