"""Builds the fields of ModelSettings for sampling and for single models. Error messages name the setting."""

from __future__ import annotations

from yume_shim.types.effort import ALL_LEVELS
from yume_shim.types.errors import BadInvocation
from yume_shim.types.models import THINKING_STYLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.config.setting_sources import SettingSources

RANGES = {"temperature": (0.0, 2.0), "top_p": (0.0, 1.0)}
VARIABLES = {"temperature": "YUME_TEMPERATURE"}
WHOLE = ("window", "max_output")
SWITCHES = ("tools", "streaming", "images", "forced_choice", "sampling")
PRICES = 4
"""USD per million tokens: input, output, cache read, cache write."""
MAX_STOPS = 64
FIELDS = (*RANGES, "stop_sequences", *WHOLE, *SWITCHES, "thinking", "efforts", "prices")
"""What `[models."name"]` may say; the check of the file reports other keys."""


def sampling_settings(sources: SettingSources) -> dict[str, Any]:
    """Fields of ModelSettings: `temperature`, `top_p`, `stop_sequences`, `overrides`. Raises BadInvocation."""
    found: dict[str, Any] = {}
    for name in RANGES:
        variable = VARIABLES.get(name, "")
        if text := sources.env.get(variable):
            found[name] = _in_range(_number(text), name, f"${variable}", text)
        elif name in sources.config:
            given = sources.config[name]
            found[name] = _in_range(given, name, f"{sources.config_path}: `{name}`", given)
    if "stop_sequences" in sources.config:
        found["stop_sequences"] = _stops(sources.config["stop_sequences"], f"{sources.config_path}: `stop_sequences`")
    rows = sources.table("models")
    if rows:
        found["overrides"] = {
            name: _row(row, f'{sources.config_path}: [models."{name}"]') for name, row in rows.items()
        }
    return found


def _row(row: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(row, dict):
        raise BadInvocation(f"{what} must be a table")
    return {key: _field(key, item, f"{what}: `{key}`") for key, item in row.items() if key in FIELDS}


def _field(key: str, item: Any, what: str) -> Any:
    if key in RANGES:
        return _in_range(item, key, what, item)
    if key in WHOLE:
        _need(isinstance(item, int) and not isinstance(item, bool) and item > 0, what, "a whole number above 0")
    elif key in SWITCHES:
        _need(isinstance(item, bool), what, "true or false")
    elif key == "thinking":
        _need(
            item in THINKING_STYLES,
            what,
            f"one of {', '.join(THINKING_STYLES[1:])}, or empty for a model that does not think",
        )
    elif key == "efforts":
        _need(
            isinstance(item, list) and all(one in ALL_LEVELS for one in item),
            what,
            f"a list of {', '.join(ALL_LEVELS)}",
        )
        return tuple(item)
    elif key == "stop_sequences":
        return _stops(item, what)
    else:
        good = isinstance(item, list) and len(item) == PRICES and all(_is_number(one) and one >= 0 for one in item)
        _need(good, what, "four numbers: USD per million tokens of input, output, cache read, cache write")
        return tuple(map(float, item))
    return item


def _stops(item: Any, what: str) -> tuple[str, ...]:
    good = isinstance(item, list) and all(isinstance(text, str) and text for text in item) and len(item) <= MAX_STOPS
    _need(good, what, f"a list of at most {MAX_STOPS} texts")
    return tuple(item)


def _in_range(number: Any, name: str, what: str, given: Any) -> float:
    least, most = RANGES[name]
    if not _is_number(number) or not least <= number <= most:
        raise BadInvocation(f"{what} must be a number from {least} to {most}, not {given!r}")
    return float(number)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _is_number(item: Any) -> bool:
    return isinstance(item, int | float) and not isinstance(item, bool)


def _need(good: bool, what: str, expected: str) -> None:
    if not good:
        raise BadInvocation(f"{what} must be {expected}")
