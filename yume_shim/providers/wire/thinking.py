"""How much a model is asked to think, in words that all adapters share."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.models import Request

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""From least to most; the first two only switch thinking off."""


def switched_off(request: Request) -> bool:
    """No thinking is wanted."""
    return request.thinking == "disabled" or request.thinking_budget == 0


def thinks_now(request: Request) -> bool:
    """The answer to this request is thought about, as far as we have a say in it."""
    spec = request.model
    if not spec.endpoint.quirks.thinking:
        return spec.always_thinks
    if switched_off(request):
        return spec.always_thinks
    return spec.thinking not in ("", "budget") or request.thinking != "default" or bool(request.thinking_budget)


def asked_effort(request: Request) -> str | None:
    """The effort asked for, or the nearest that the model takes; None = the model's own default."""
    return nearest_effort(request.effort, request.model.efforts) if request.effort else None


def nearest_effort(asked: str, taken: tuple[str, ...]) -> str:
    """The highest level that is not above what was asked, else the lowest above it."""
    levels = [level for level in EFFORTS[2:] if level in taken]
    if not levels or asked in levels:
        return asked
    below = [level for level in levels if EFFORTS.index(level) < EFFORTS.index(asked)]
    return below[-1] if below else levels[0]


def least_effort(request: Request) -> str:
    """What comes nearest to no thinking. "none" and "minimal" each fail at half of the models, so they are said only to
    those that are known to take them; "low" is the least that all take."""
    taken = request.model.efforts
    return next((level for level in EFFORTS[:2] if level in taken), None) or nearest_effort("low", taken)
