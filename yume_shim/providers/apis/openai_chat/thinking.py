"""How thinking is requested in a Chat Completions dialect: by the field that `Quirks.effort_field` names."""

from __future__ import annotations

from yume_shim.providers.wire.openai_body import effort_of
from yume_shim.providers.wire.thinking import requested_effort, switched_off

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.models import Request

OPENAI_FIELD = "reasoning_effort"


def thinking_fields(request: Request) -> Json:
    """Fields of the body. Without a setting the model's own default applies."""
    quirks = request.model.endpoint.quirks
    field = quirks.effort_field
    if field == OPENAI_FIELD:
        effort = effort_of(request)
        return {field: effort} if effort else {}
    if not quirks.thinking or not field:
        return {}
    off = switched_off(request)
    if not off and request.thinking == "default" and not request.effort and not request.thinking_budget:
        return {}
    match field:
        case "reasoning":
            return {field: _reasoning(request, off)}
        case "thinking":
            return {field: {"type": "disabled" if off else "enabled"}}
        case "chat_template_kwargs":
            return {field: {"enable_thinking": not off}}
        case _:
            return {field: not off}


def _reasoning(request: Request, off: bool) -> Json:
    """OpenRouter's form: by effort, or by tokens for models with a budget."""
    if off:
        return {"enabled": False}
    if request.thinking_budget:
        return {"max_tokens": request.thinking_budget}
    effort = requested_effort(request)
    return {"effort": effort} if effort else {"enabled": True}
