"""A tool that must be called: forced where the endpoint allows that, otherwise requested in the prompt."""

from __future__ import annotations

from yume_shim.types.blocks import Text
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.models import Request

INSTRUCTION = "Your next answer must be a call of the tool {name}, and of no other tool."


def settle_choice(request: Request, wire_name: Callable[[str], str], *, forcing: bool = True) -> Request:
    """The request with a tool choice that its endpoint takes. Where the API (`forcing`), the endpoint or the model does
    not allow a forced tool, the choice is "auto" and an instruction is added. It comes at the very end, because what is
    before it is cached, and the newest models' reasoning is bound to that."""
    name = request.tool_choice
    if name in ("auto", "none"):
        return request
    if all(tool.name != name for tool in request.tools):
        return replace(request, tool_choice="auto")
    if forcing and request.model.forced_choice and request.model.endpoint.quirks.forced_choice:
        return request
    instruction = INSTRUCTION.format(name=wire_name(name))
    last = request.messages[-1] if request.messages else None
    if last is None or last.role != "user":
        return replace(request, tool_choice="auto", system=(*request.system, instruction))
    instructed = replace(last, blocks=(*last.blocks, Text(instruction)))
    return replace(request, tool_choice="auto", messages=(*request.messages[:-1], instructed))
