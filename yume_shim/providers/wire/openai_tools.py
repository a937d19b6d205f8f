"""Tools as the OpenAI APIs and Ollama take them: names, schemas, arguments."""

from __future__ import annotations

from yume_shim.providers.fitting.schema import object_schema, reduce_schema, strict_schema, without_nulls
from yume_shim.text import codec
from yume_shim.text.characters import WORD
from yume_shim.types.blocks import ToolCall
from yume_shim.types.events import BlockEnded
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.blocks import Json, Message
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.models import Quirks, Request, ToolSpec

MAX_NAME = 64
NAME_KEPT = 55
"""Characters of a name that are kept before the hash when it has to change: 55 + "_" + 8 = 64."""


def wire_name(name: str) -> str:
    """A tool name that the APIs take; names of MCP tools may be longer or have other characters."""
    if 0 < len(name) <= MAX_NAME and WORD.issuperset(name):
        return name
    from yume_shim.providers.wire.hashing import digest

    kept = "".join(char if char in WORD else "_" for char in name)[:NAME_KEPT]
    return f"{kept}_{digest(name)[:8]}"


def own_names(tools: tuple[ToolSpec, ...]) -> dict[str, str]:
    """Wire name -> our name, of the tools whose name had to be changed."""
    return {wire: tool.name for tool in tools if (wire := wire_name(tool.name)) != tool.name}


def names_of_calls(messages: Sequence[Message]) -> dict[str, str]:
    """Call id -> wire name of the tool called."""
    return {
        block.id: wire_name(block.name)
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolCall)
    }


def parameters(tool: ToolSpec, quirks: Quirks) -> tuple[Json, bool]:
    """A tool's schema as the endpoint takes it, and whether it is in the strict form."""
    schema = reduce_schema(tool.schema, quirks.schema_drop)
    strict = strict_schema(schema) if quirks.strict_tools else None
    return (object_schema(schema), False) if strict is None else (strict, True)


def relax(events: list[ModelEvent], request: Request) -> list[ModelEvent]:
    """The events with finished calls whose nulls are removed: the strict form of their schema asks for them."""
    if BlockEnded not in map(type, events):  # nearly always: this runs for each piece of an answer
        return events
    schemas = {tool.name: tool.schema for tool in request.tools}
    return [
        replace(event, block=replace(event.block, input=without_nulls(event.block.input, schemas[event.block.name])))
        if isinstance(event, BlockEnded) and isinstance(event.block, ToolCall) and event.block.name in schemas
        else event
        for event in events
    ]


def arguments_object(call: ToolCall) -> Json:
    """A call's arguments. Text that was not JSON is sent inside an object: many servers parse the arguments."""
    return dict(call.input) if call.broken is None else {"invalid_json": call.broken}


def arguments_text(call: ToolCall) -> str:
    """The same as JSON text."""
    return codec.dumps(arguments_object(call)).decode()
