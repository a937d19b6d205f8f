"""Adds the usage of answers to the totals of a session, and notes it for those who listen to the events."""

from __future__ import annotations

from yume_shim.types.events import FactNoted
from yume_shim.types.models import Usage
from yume_shim.types.noted_facts import RequestGivenUp, UsageBooked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.engine.conversation import Conversation
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.errors import Failure
    from yume_shim.types.models import ModelSpec
    from yume_shim.types.noted_facts import Purpose


def book(
    services: EngineServices,
    conversation: Conversation,
    spec: ModelSpec,
    usage: Usage,
    purpose: Purpose = "main",
    *,
    lost: bool = False,
) -> None:
    """Add one answer, of the session or of an agent. `lost`: it broke off, and may have used nothing."""
    nothing = usage == Usage()
    if nothing and lost:
        return
    cost = 0.0
    if not nothing:
        cost = conversation.tally.add(spec, usage, services.agent_id, services.agent_type).usd
    effort = conversation.options.get().effort or "" if spec.thinking else ""
    services.emit(FactNoted(UsageBooked(spec.endpoint.name, spec.id, spec.origin, usage, cost, purpose, lost, effort)))


def note_failure(services: EngineServices, spec: ModelSpec, failure: Failure, purpose: Purpose = "main") -> None:
    """Note that a request was given up."""
    services.emit(FactNoted(RequestGivenUp(spec.endpoint.name, spec.id, spec.origin, failure, purpose)))
