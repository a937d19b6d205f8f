"""Builds LimitSettings and HistorySettings: turns, money, time, and the size of the history."""

from __future__ import annotations

from yume_shim.types.errors import BadInvocation
from yume_shim.types.settings import HistorySettings, LimitSettings, Timeouts
from yume_shim.types.value import fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.config.setting_sources import SettingSources
    from yume_shim.config.settings_files import Layer

MIN_COMPACT_TOKENS = 1_000
REPEATS = ("repeat_warn", "repeat_stop")


FLAT_HEARTBEAT_S = 5.0
"""Between signs of life of a running tool in the flat dialect."""


def limit_settings(sources: SettingSources) -> LimitSettings:
    """Raises BadInvocation."""
    given = {name: number for name in REPEATS if (number := sources.conf_number(name, least=0)) is not None}
    return LimitSettings(
        max_turns=sources.whole("max-turns", ""),
        max_budget_usd=_budget(sources),
        timeouts=_timeouts(sources),
        **given,
    )


def _budget(sources: SettingSources) -> float | None:
    raw = sources.text("max-budget-usd")
    if raw is None:
        return None
    try:
        amount = float(raw)
    except ValueError:
        amount = 0.0
    if not 0 < amount < float("inf"):
        raise BadInvocation(f"Error: --max-budget-usd must be a positive number, not '{raw}'")
    return amount


def _timeouts(sources: SettingSources) -> Timeouts:
    seconds: dict[str, Any] = dict(sources.table_of("timeouts", fields(Timeouts)))
    for field, flag, variable in (
        ("idle", "idle-timeout", "YUME_IDLE_TIMEOUT"),
        ("total", "response-timeout", "YUME_RESPONSE_TIMEOUT"),
        ("approval", "approval-timeout", "YUME_APPROVAL_TIMEOUT"),
        ("background", "background-timeout", "YUME_BACKGROUND_TIMEOUT"),
    ):
        given = sources.number(flag, variable, least=0 if field == "approval" else 0.001)
        if given is not None:
            seconds[field] = given
    if sources.flat:  # a host that draws what happens wants to know it every few seconds
        seconds.setdefault("tool_heartbeat", FLAT_HEARTBEAT_S)
    return Timeouts(**seconds)


def history_settings(sources: SettingSources) -> HistorySettings:
    """Raises BadInvocation."""
    keep = sources.conf_number("keep_recent_user_turns_in_chained_tool_calls")
    return HistorySettings(
        trimming=sources.config.get("history_trimming", True) is not False,
        max_tokens=sources.conf_number("max_history_tokens"),
        keep_recent_user_turns_in_chained_tool_calls=keep or 1,
        trim_caps=tuple(sources.config.get("trim_caps", ())),
        auto_compact=_auto_compact(sources),
        compact_small=not sources.flat,
        compact_tokens=_compact_tokens(sources),
    )


def _auto_compact(sources: SettingSources) -> bool:
    if sources.is_true("DISABLE_AUTO_COMPACT"):
        return False
    in_layers = [layer.data["autoCompactEnabled"] for layer in sources.layers if "autoCompactEnabled" in layer.data]
    return sources.config.get("auto_compact", in_layers[-1] if in_layers else True) is not False


def _window_of_files(sources: SettingSources) -> int | None:
    """`autoCompactWindow` of the strongest trusted file: a number of tokens, or "auto"."""
    given = [layer.data["autoCompactWindow"] for layer in sources.layers if _sets_window(layer)]
    return given[-1] if given and type(given[-1]) is int else None


def _sets_window(layer: Layer) -> bool:
    given = layer.data.get("autoCompactWindow")
    return layer.trusted and (given == "auto" or (type(given) is int and given >= MIN_COMPACT_TOKENS))


def _compact_tokens(sources: SettingSources) -> int | None:
    """`--autocompact`: "auto", or a size such as 200000 or 200k."""
    raw = sources.text("autocompact")
    if raw is None:
        return _window_of_files(sources)
    if raw == "auto":
        return None
    factor = {"k": 1_000, "m": 1_000_000}.get(raw[-1:].lower(), 1)
    digits = raw if factor == 1 else raw[:-1]
    try:
        tokens = round(float(digits) * factor)
    except (ValueError, OverflowError):
        tokens = 0
    if tokens < MIN_COMPACT_TOKENS:
        raise BadInvocation(f"--autocompact must be auto or a number of tokens such as 200k, not '{raw}'")
    return tokens
