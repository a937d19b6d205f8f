"""Computes the cost of a session from its transcript: the last `cost-state` line plus the answers after it."""

from __future__ import annotations

from yume_shim.text.codec import loads
from yume_shim.types.events import ModelUsage
from yume_shim.types.models import Usage
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from yume_shim.types.blocks import Json


class CostReader:
    """Collects the costs while a transcript is read. It adds up only at the end, because a later `cost-state` line
    replaces everything before it."""

    def __init__(self) -> None:
        self._state_line = b""
        self._responses: list[tuple[str, str, Any, float]] = []

    def add_state(self, line: bytes) -> None:
        """A `cost-state` line: the total up to here."""
        self._state_line = line
        self._responses.clear()

    def add_answer(self, answer: str, model: str, usage: Any, cost: float) -> None:
        """A line of the answer with this name. An answer has one line per block, all with the same figures."""
        self._responses.append((answer, model, usage, cost))

    def packed(self) -> list[Any]:
        """What was collected, as JSON."""
        return [self._state_line.decode("utf-8"), self._responses]

    def unpack(self, packed: list[Any]) -> None:
        """Go on from there."""
        self._state_line, self._responses = packed[0].encode("utf-8"), [tuple(each) for each in packed[1]]

    def by_model(self) -> tuple[ModelUsage, ...]:
        """What each model has cost."""
        models = _state_models(self._state_line)
        counted = ""
        for answer, model, usage, cost in self._responses:
            if answer == counted:
                continue
            counted = answer
            before = models.get(model, ModelUsage(model, Usage(), 0.0, 0, 0))
            models[model] = replace(
                before,
                usage=before.usage + _usage(usage if isinstance(usage, dict) else {}),
                cost_usd=before.cost_usd + cost,
            )
        return tuple(models.values())


def cost_state_line(session_id: str, total_usd: float, used: Iterable[ModelUsage]) -> Json:
    """A `cost-state` line, from which a resumed session continues counting."""
    return {
        "type": "cost-state",
        "sessionId": session_id,
        "totalCostUSD": total_usd,
        "modelUsage": {entry.model: _shape(entry) for entry in used},
    }


_FIELDS = (
    ("inputTokens", "input"),
    ("outputTokens", "output"),
    ("cacheReadInputTokens", "cache_read"),
    ("cacheCreationInputTokens", "cache_write"),
    ("cacheCreationEphemeral1hInputTokens", "cache_write_1h"),
    ("thinkingTokens", "reasoning"),
    ("webSearchRequests", "web_searches"),
)


def _state_models(line: bytes) -> dict[str, ModelUsage]:
    try:
        state = loads(line) if line else {}
    except ValueError:
        return {}
    models = state.get("modelUsage") if isinstance(state, dict) else None
    entries = models.items() if isinstance(models, dict) else ()
    return {name: _model(name, entry) for name, entry in entries if isinstance(entry, dict)}


def _shape(entry: ModelUsage) -> Json:
    shape: Json = {name: getattr(entry.usage, field) for name, field in _FIELDS}
    shape |= {"costUSD": entry.cost_usd, "contextWindow": entry.window, "maxOutputTokens": entry.max_output}
    if entry.provider:
        shape["provider"] = entry.provider
    if not entry.cost_known:
        shape["costBasis"] = "unknown"
    elif entry.list_price:
        shape["costBasis"] = "list_price"
    if entry.usage.estimated:
        shape["estimated"] = True
    return shape


def _model(name: str, entry: Json) -> ModelUsage:
    figures: Json = {field: _whole(entry.get(key)) for key, field in _FIELDS}
    cost, provider = entry.get("costUSD"), entry.get("provider")
    return ModelUsage(
        name,
        Usage(**figures, estimated=entry.get("estimated") is True),
        float(cost) if isinstance(cost, (int, float)) else 0.0,
        _whole(entry.get("contextWindow")),
        _whole(entry.get("maxOutputTokens")),
        provider if isinstance(provider, str) else "",
        entry.get("costBasis") != "unknown",
        entry.get("costBasis") == "list_price",
    )


def _usage(shape: Json) -> Usage:
    parts = shape.get("cache_creation")
    hour = parts.get("ephemeral_1h_input_tokens") if isinstance(parts, dict) else 0
    return Usage(
        input=_whole(shape.get("input_tokens")),
        output=_whole(shape.get("output_tokens")),
        cache_read=_whole(shape.get("cache_read_input_tokens")),
        cache_write=_whole(shape.get("cache_creation_input_tokens")),
        cache_write_1h=_whole(hour),
    )


def _whole(found: Any) -> int:
    return found if isinstance(found, int) else 0
