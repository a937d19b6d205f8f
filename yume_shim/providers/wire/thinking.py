"""Whether and how hard a model is asked to think, for all adapters."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.models import Request


def switched_off(request: Request) -> bool:
    """Is thinking switched off?"""
    return request.thinking == "disabled" or request.thinking_budget == 0


def thinks_now(request: Request) -> bool:
    """Will the model think before it answers this request, as far as we can control that?"""
    spec = request.model
    if not spec.endpoint.quirks.thinking:
        return spec.always_thinks
    if switched_off(request):
        return spec.always_thinks
    return spec.thinking not in ("", "budget") or request.thinking != "default" or bool(request.thinking_budget)


def requested_effort(request: Request) -> str | None:
    """The requested effort, or the nearest that the model accepts; None = the model's own default."""
    if not request.effort:
        return None
    from yume_shim.types.effort import nearest_effort

    return nearest_effort(request.effort, request.model.efforts)


def least_effort(request: Request) -> str:
    """The level nearest to no thinking. Half of the models refuse "none", half "minimal", so only models that are
    known to accept one get it; "low" is the lowest that all accept."""
    from yume_shim.types.effort import OFF_LEVELS, nearest_effort

    taken = request.model.efforts
    return next((level for level in OFF_LEVELS if level in taken), None) or nearest_effort("low", taken)
