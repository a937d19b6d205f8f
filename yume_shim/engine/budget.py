"""The budget of `--max-budget-usd`: when it is used up, and the warning before."""

from __future__ import annotations

from yume_shim.engine.tally import DECIMALS
from yume_shim.types.events import Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.engine.conversation import Conversation

WARN_AT = 0.8
"""The part of the budget at which the user is warned, once."""


class BudgetUsedUp(Exception):
    """No further request may be sent. `limit` is the budget in words."""

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit


def check_budget(conversation: Conversation) -> None:
    """Raises BudgetUsedUp. What earlier processes of the session spent does not count."""
    budget = _budget(conversation)
    if budget is not None and conversation.tally.spent_usd() >= budget:
        raise BudgetUsedUp(f"${budget:g}")


def warn_of_budget(conversation: Conversation) -> None:
    """Say once that most of the budget is spent, and once that a model's cost cannot be counted."""
    budget = _budget(conversation)
    if budget is None:
        return
    spent = conversation.tally.spent_usd()
    if round(budget * WARN_AT, DECIMALS) <= spent < budget:
        _tell(conversation, "budget", f"${spent:.4g} of the budget of ${budget:g} are spent.")
    for model in conversation.tally.unpriced():
        _tell(conversation, f"price of {model}", f"No price is known for {model}: its cost counts as zero.")


def _budget(conversation: Conversation) -> float | None:
    budget = conversation.services.settings.limits.max_budget_usd
    return None if budget is None else round(budget, DECIMALS)


def _tell(conversation: Conversation, what: str, text: str) -> None:
    if what not in conversation.warned_of:
        conversation.warned_of.add(what)
        conversation.services.emit(Notice("budget", text))
