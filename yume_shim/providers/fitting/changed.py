"""The result of an action on a refusal: new adaptations, with notices for the user."""

from __future__ import annotations

from yume_shim.types.events import Notice
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.providers.fitting.adaptations import Adaptations
    from yume_shim.types.models import Request


class Changed(Value):
    """New adaptations, and what changed in a few words for the log."""

    adaptations: Adaptations
    summary: str


def with_notice(adaptations: Adaptations, request: Request, code: str, text: str) -> Adaptations:
    """The adaptations with one more notice; `{model}` and `{endpoint}` in its text are replaced."""
    model = request.model
    notice = Notice(code, text.format(model=model.id, endpoint=model.endpoint.name))
    return replace(adaptations, notices=(*adaptations.notices, notice))
