"""Tokens and money by model over the whole session, with what earlier processes of it spent.

Threads: the session's thread and those of child loops add to it and read it; the lock is here.
"""

from __future__ import annotations

import threading

from yume_shim.types.events import ModelUsage
from yume_shim.types.models import COST_DECIMALS
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from yume_shim.types.models import ModelSpec, Usage


MAX_UNPRICED = 1_000
"""Responses that wait for a price; older ones stay at zero."""


class Tally:
    """Totals of the session, by requested model."""

    def __init__(self, cost: Callable[[ModelSpec, Usage], tuple[float, bool]]) -> None:
        self._cost = cost
        self._lock = threading.RLock()
        self._models: dict[str, ModelUsage] = {}
        self._unpriced: list[tuple[ModelSpec, Usage]] = []
        self._carried = 0.0
        self._never_known: set[str] = set()

    def add(self, spec: ModelSpec, usage: Usage) -> None:
        """Add one response."""
        with self._lock:
            self._add(spec, usage)

    def _add(self, spec: ModelSpec, usage: Usage) -> None:
        spent, known = self._cost(spec, usage)
        if not known:
            self._unpriced = [*self._unpriced, (spec, usage)][-MAX_UNPRICED:]
        before = self._models.get(spec.id)
        if before is not None:
            usage, spent, known = before.usage + usage, before.cost_usd + spent, before.cost_known and known
        self._models[spec.id] = ModelUsage(
            spec.id,
            usage,
            round(spent, COST_DECIMALS),
            spec.window,
            spec.max_output,
            spec.endpoint.name,
            cost_known=known,
        )

    def carry(self, models: Iterable[ModelUsage]) -> None:
        """Start from the totals of a stored session. They do not count towards this run's budget."""
        with self._lock:
            for entry in models:
                self._models[entry.model] = entry
                self._carried += entry.cost_usd
                if not entry.cost_known:
                    self._never_known.add(entry.model)

    def total_usd(self) -> float:
        """What everything cost so far."""
        with self._lock:
            self._price_late()
            return round(sum(entry.cost_usd for entry in self._models.values()), COST_DECIMALS)

    def spent_usd(self) -> float:
        """What this process spent."""
        with self._lock:
            return round(self.total_usd() - self._carried, COST_DECIMALS)

    def unpriced(self) -> tuple[str, ...]:
        """The models used in this process whose price is not known."""
        with self._lock:
            return tuple(dict.fromkeys(spec.id for spec, _ in self._unpriced))

    def by_model(self) -> tuple[ModelUsage, ...]:
        """The totals of each model."""
        with self._lock:
            self._price_late()
            return tuple(self._models.values())

    def _price_late(self) -> None:
        """Add the cost of responses whose price has become known since."""
        waiting, self._unpriced = self._unpriced, []
        for spec, usage in waiting:
            spent, known = self._cost(spec, usage)
            if not known:
                self._unpriced.append((spec, usage))
                continue
            entry = self._models[spec.id]
            self._models[spec.id] = replace(entry, cost_usd=round(entry.cost_usd + spent, COST_DECIMALS))
        for name in {spec.id for spec, _ in waiting}.difference(self.unpriced(), self._never_known):
            self._models[name] = replace(self._models[name], cost_known=True)
