"""Notes who allowed or refused a call, for those who listen to the events. (`CallDenied` is such a note already.)"""

from __future__ import annotations

from yume_shim.types.events import FactNoted
from yume_shim.types.noted_facts import CallDecided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.outputs import Answer, Decision

SAVED_IN = ("userSettings", "projectSettings", "localSettings")
"""Where a permission update of an answer goes if it outlives the session."""


def by_decision(call: ToolCall, decision: Decision) -> FactNoted:
    """A call that was allowed without a question to the host."""
    return FactNoted(CallDecided(call, accepted=True, source="hook" if decision.reason_type == "hook" else "config"))


def by_answer(call: ToolCall, answer: Answer) -> FactNoted:
    """A call that the host was asked about."""
    if answer.verdict == "allow":
        saved = answer.remember in ("user", "project") or any(
            update.get("destination") in SAVED_IN for update in answer.updates
        )
        return FactNoted(CallDecided(call, accepted=True, source="user_permanent" if saved else "user_temporary"))
    return FactNoted(
        CallDecided(call, accepted=False, source="user_reject" if answer.verdict == "deny" else "user_abort")
    )
