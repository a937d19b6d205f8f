"""The budget of `--max-budget-usd`: when it is used up, and the warning before that."""

from __future__ import annotations

import threading

from yume_shim.types.events import Notice
from yume_shim.types.models import COST_DECIMALS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.engine.tally import Tally
    from yume_shim.types.ports import Emit

WARN_AT = 0.8
"""The part of the budget at which the user is warned, once."""


class BudgetUsedUp(Exception):
    """No further request may be sent. `limit` is the budget as text."""

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit


class Budget:
    """One per conversation, shared with its children. Used by the threads of all their loops; the lock guards the
    warnings given."""

    def __init__(self, limit_usd: float | None, tally: Tally, emit: Emit, max_calls: int = 0) -> None:
        """`max_calls`: the tool calls of the whole run; 0 = no limit."""
        self._limit = None if limit_usd is None else round(limit_usd, COST_DECIMALS)
        self._tally, self._emit = tally, emit
        self.max_calls, self._calls = max_calls, 0
        self._lock = threading.Lock()
        self._warned: set[str] = set()

    def check(self) -> None:
        """Raises BudgetUsedUp. What earlier processes of the session spent does not count."""
        if self._limit is not None and self._tally.spent_usd() >= self._limit:
            raise BudgetUsedUp(f"${self._limit:g}")

    def take_calls(self, count: int) -> int:
        """How many of so many tool calls may still run."""
        if not self.max_calls:
            return count
        with self._lock:
            allowed = max(0, min(count, self.max_calls - self._calls))
            self._calls += allowed
        return allowed

    @property
    def calls_reached(self) -> str:
        """What the end of a turn says when no further call may run."""
        return f"Reached maximum number of tool calls ({self.max_calls})"

    def warn(self) -> None:
        """Say once that most of the budget is spent, and once for each model whose cost cannot be counted."""
        if self._limit is None:
            return
        spent = self._tally.spent_usd()
        if round(self._limit * WARN_AT, COST_DECIMALS) <= spent < self._limit:
            self._warn_once("budget", f"${spent:.4g} of the ${self._limit:g} budget has been spent.")
        for model in self._tally.unpriced():
            self._warn_once(f"price of {model}", f"No price is known for {model}: its cost counts as zero.")

    def _warn_once(self, what: str, text: str) -> None:
        with self._lock:
            if what in self._warned:
                return
            self._warned.add(what)
        self._emit(Notice("budget", text))
