"""Calls and results of the past as plain text of both sides, for endpoints that refuse them in their API's own form.

Reasoning and echo data go with them: what is left are texts and media of user and assistant. New calls come and go as
the API has them.
"""

from __future__ import annotations

from yume_shim.providers.fitting.history_as_text import tell_history
from yume_shim.text import codec
from yume_shim.types.blocks import NOTHING, Other, Text
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Message, ToolCall, ToolResult
    from yume_shim.types.models import Request


def tell_flat(request: Request) -> Request:
    """The request with its history told as text."""
    return replace(request, messages=tell_history(tuple(map(_bare, request.messages)), _tell_call, _tell_result))


def _bare(message: Message) -> Message:
    """Without what only its own API understands."""
    kept = (block for block in message.blocks if not isinstance(block, Other))
    blocks = tuple(replace(block, opaque=NOTHING) if isinstance(block, Text) else block for block in kept)
    return message if blocks == message.blocks else replace(message, blocks=blocks)


def _tell_call(call: ToolCall) -> str:
    given = codec.dumps(call.input).decode() if call.broken is None else call.broken
    return f"[tool_call {call.name} {call.id}]\n{given}"


def _tell_result(result: ToolResult, texts: list[str], media: int, name: str) -> str:
    """The words under a header."""
    failed = " error" if result.is_error else ""
    return "\n".join((f"[tool_result {name or 'unknown'} {result.call_id}{failed}]", *texts)).rstrip("\n")
