"""Fits the length of an answer to the limits that a refusal names. Pure."""

from __future__ import annotations

from yume_shim.providers.fitting.changed import Changed, with_notice
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.providers.fitting.adaptations import Adaptations
    from yume_shim.types.errors import TokenLimits
    from yume_shim.types.models import Request

MIN_ANSWER = 1_024
"""If the prompt leaves less than this for the answer, the prompt must become shorter (the engine does that)."""
MIN_ANSWER_SHARE = 16
"""In a small window, the window divided by this is enough."""
MIN_PAID = 128
"""An account that can pay for less has no credit left."""
SAFETY_SHARE = 20
"""A prompt that we count ourselves may be this part larger."""


def fit_limits(adaptations: Adaptations, request: Request, limits: TokenLimits) -> Changed | None:
    """The adaptations with a shorter answer; None if that does not help. Each limit changes a request once: a second
    refusal that names no lower number changes nothing."""
    now = adaptations.longest_answer(request)
    if 0 < limits.max_output < now:
        made = replace(adaptations, max_output=limits.max_output)
        return Changed(made, f"answers of at most {limits.max_output} tokens")
    if MIN_PAID <= limits.affordable < now:
        text = f"The account at {{endpoint}} can pay for {limits.affordable} tokens only: answers are that short."
        made = with_notice(replace(adaptations, affordable=limits.affordable), request, "credit_low", text)
        return Changed(made, f"an answer of at most {limits.affordable} tokens")
    if not limits.window or (adaptations.fitted is not None and adaptations.fitted[0] is request):
        return None
    left = limits.window - _prompt_size(request, limits)
    if limits.input_at_least:  # the prompt is longer than that, but not known how much
        left = min(left, (limits.window - limits.input_at_least) // 2)
    if min(MIN_ANSWER, limits.window // MIN_ANSWER_SHARE) <= left < now:
        return Changed(replace(adaptations, fitted=(request, left)), f"an answer of at most {left} tokens")
    return None


def _prompt_size(request: Request, limits: TokenLimits) -> int:
    """The provider's count; where it is not exact, our estimate with a margin."""
    if limits.input:
        return limits.input
    from yume_shim.providers.fitting.estimate import estimate

    ours = estimate(request)
    return ours + ours // SAFETY_SHARE
