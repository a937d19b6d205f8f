"""Counting: tokens and money, per turn and since the process began."""

from __future__ import annotations

from yume_shim.types.events import ModelUsage
from yume_shim.types.models import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.models import ModelSpec


DECIMALS = 12
"""A token of the cheapest model costs 1e-8 dollars; what is behind these digits is the rounding of floats."""


class Tally:
    """Totals of the process, by requested model."""

    def __init__(self, cost: Callable[[ModelSpec, Usage], tuple[float, bool]]) -> None:
        self._cost = cost
        self._models: dict[str, ModelUsage] = {}

    def add(self, spec: ModelSpec, usage: Usage) -> None:
        """Book one response."""
        before = self._models.get(spec.id)
        spent, known = self._cost(spec, usage)
        if before is not None:
            usage, spent, known = before.usage + usage, before.cost_usd + spent, before.cost_known and known
        self._models[spec.id] = ModelUsage(
            spec.id, usage, round(spent, DECIMALS), spec.window, spec.max_output, spec.endpoint.name, cost_known=known
        )

    def total_usd(self) -> float:
        """What everything cost so far."""
        return round(sum(entry.cost_usd for entry in self._models.values()), DECIMALS)

    def by_model(self) -> tuple[ModelUsage, ...]:
        """The totals of each model."""
        return tuple(self._models.values())
