"""One tool that must be called: forced where that is allowed, else asked for in words."""

from __future__ import annotations

from yume_shim.types.blocks import Text
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.models import Request

WISH = "Your next answer must be a call of the tool {name}, and of no other tool."


def settle_choice(request: Request, wire_name: Callable[[str], str], *, forcing: bool = True) -> Request:
    """The request with a choice that its endpoint takes: "auto" and a wish behind the last words where the API (by
    `forcing`), the endpoint or the model refuses to be forced. The wish stands at the very end, because what comes
    before is cached, and the newest models' reasoning is bound to it."""
    name = request.tool_choice
    if name in ("auto", "none"):
        return request
    if all(tool.name != name for tool in request.tools):
        return replace(request, tool_choice="auto")
    if forcing and request.model.forced_choice and request.model.endpoint.quirks.forced_choice:
        return request
    wish = WISH.format(name=wire_name(name))
    last = request.messages[-1] if request.messages else None
    if last is None or last.role != "user":
        return replace(request, tool_choice="auto", system=(*request.system, wish))
    told = replace(last, blocks=(*last.blocks, Text(wish)))
    return replace(request, tool_choice="auto", messages=(*request.messages[:-1], told))
