"""Tokens and money by model over the whole session, with what earlier processes of it spent.

Threads: the session's thread and those of child loops add to it and read it; the lock is here.
"""

from __future__ import annotations

import threading

from yume_shim.types.events import AgentUsage, ModelUsage
from yume_shim.types.models import COST_DECIMALS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from yume_shim.types.models import Cost, ModelSpec, Usage

MAX_AGENTS = 500
"""Agents and models that are listed one by one; the rest is added up by model."""


class Tally:
    """Totals of the session, by requested model."""

    def __init__(self, cost: Callable[[ModelSpec, Usage], Cost]) -> None:
        self._cost = cost
        self._lock = threading.Lock()
        self._models: dict[str, ModelUsage] = {}
        self._carried = 0.0
        self._unpriced: dict[str, None] = {}
        self._agents: dict[tuple[str, str], AgentUsage] = {}

    def add(self, spec: ModelSpec, usage: Usage, agent_id: str = "", agent_type: str = "") -> Cost:
        """Add one response, of the session or of one of its agents; returns what it cost."""
        cost = self._cost(spec, usage)
        with self._lock:
            if agent_id:
                self._add_agent(spec, usage, cost, agent_id, agent_type)
            if not cost.known:
                self._unpriced[spec.id] = None
            spent, known, list_price = cost.usd, cost.known, cost.list_price
            before = self._models.get(spec.id)
            if before is not None:
                usage, spent = before.usage + usage, before.cost_usd + spent
                known, list_price = before.cost_known and known, before.list_price or list_price
            self._models[spec.id] = ModelUsage(
                spec.id,
                usage,
                round(spent, COST_DECIMALS),
                spec.window,
                spec.max_output,
                spec.endpoint.name,
                cost_known=known,
                list_price=list_price,
            )
        return cost

    def _add_agent(self, spec: ModelSpec, usage: Usage, cost: Cost, agent_id: str, agent_type: str) -> None:
        place = (agent_id, spec.id)
        if place not in self._agents and len(self._agents) >= MAX_AGENTS:
            place, agent_id, agent_type = ("", spec.id), "", ""
        before = self._agents.get(place)
        total = usage if before is None else before.usage + usage
        spent = cost.usd if before is None else before.cost_usd + cost.usd
        name = spec.endpoint.name
        self._agents[place] = AgentUsage(agent_id, agent_type, spec.id, name, total, round(spent, COST_DECIMALS))

    def by_agent(self) -> tuple[AgentUsage, ...]:
        """What each agent of this process has used, by model."""
        with self._lock:
            return tuple(self._agents.values())

    def carry(self, models: Iterable[ModelUsage]) -> None:
        """Start from the totals of a stored session. They do not count towards this run's budget."""
        with self._lock:
            for entry in models:
                self._models[entry.model] = entry
                self._carried += entry.cost_usd

    def total_usd(self) -> float:
        """What everything cost so far."""
        with self._lock:
            return round(sum(entry.cost_usd for entry in self._models.values()), COST_DECIMALS)

    def spent_usd(self) -> float:
        """What this process spent."""
        return round(self.total_usd() - self._carried, COST_DECIMALS)

    def unpriced(self) -> tuple[str, ...]:
        """The models used in this process whose price is not known."""
        with self._lock:
            return tuple(self._unpriced)

    def by_model(self) -> tuple[ModelUsage, ...]:
        """The totals of each model."""
        with self._lock:
            return tuple(self._models.values())
