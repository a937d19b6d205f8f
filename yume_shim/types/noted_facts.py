"""Facts of a session that no line shows and no transcript keeps: they are for those who listen to the events, as
telemetry does. Part of `types/events.py`, from which other modules import `FactNoted`."""

from __future__ import annotations

from yume_shim.types.blocks import ToolCall
from yume_shim.types.errors import Failure
from yume_shim.types.models import Usage
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    DecisionSource = Literal["config", "hook", "user_permanent", "user_temporary", "user_abort", "user_reject"]
    Purpose = Literal["main", "compact", "side_question", "title"]


class CallDecided(Value):
    """Whether a call may run, and who said so, in the Claude CLI's words: settings and mode ("config"), a hook, or the
    host (for good, once, without an answer, refused)."""

    call: ToolCall
    accepted: bool
    source: DecisionSource


class UsageBooked(Value):
    """The usage of one answer was added to the totals of the session. `lost`: of an answer that broke off."""

    provider: str
    model: str
    origin: str
    """The "api/model" of the answer."""
    usage: Usage
    cost_usd: float
    purpose: Purpose = "main"
    lost: bool = False
    effort: str = ""


class RequestGivenUp(Value):
    """A request failed and is not sent again to this model."""

    provider: str
    model: str
    origin: str
    failure: Failure
    purpose: Purpose = "main"


class FactNoted(Value):
    """One of these facts."""

    fact: CallDecided | UsageBooked | RequestGivenUp
