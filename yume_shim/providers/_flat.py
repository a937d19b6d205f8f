"""Calls and results of the past as plain text of both sides, for endpoints that refuse them in their API's own form.

Reasoning and echo data go with them: what is left are texts and media of user and assistant. New calls come and go as
the API has them. The same history gives the same text, so that prompt caches hold.
"""

from __future__ import annotations

from yume_shim.text import codec
from yume_shim.types.blocks import Document, Image, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.types.blocks import Block
    from yume_shim.types.models import Request


def tell_flat(request: Request) -> Request:
    """The request with its history told as text."""
    names: dict[str, str] = {}
    messages = []
    for message in request.messages:
        blocks = tuple(_told(message.blocks, names))
        if blocks:
            messages.append(replace(message, blocks=blocks))
    return replace(request, messages=tuple(messages))


def _told(blocks: tuple[Block, ...], names: dict[str, str]) -> Iterator[Block]:
    for block in blocks:
        match block:
            case Text():
                yield Text(block.text)
            case ToolCall():
                names[block.id] = block.name
                given = codec.dumps(block.input).decode() if block.broken is None else block.broken
                yield Text(f"[tool_call {block.name} {block.id}]\n{given}")
            case ToolResult():
                yield from _told_result(block, names.get(block.call_id, "unknown"))
            case Image() | Document():
                yield block
            case Thinking() | Other():
                pass


def _told_result(result: ToolResult, name: str) -> Iterator[Block]:
    """The words under a header, then the media."""
    parts = (Text(result.content),) if isinstance(result.content, str) else result.content
    words = "\n".join(part.text for part in parts if isinstance(part, Text))
    failed = " error" if result.is_error else ""
    yield Text(f"[tool_result {name} {result.call_id}{failed}]\n{words}".rstrip("\n"))
    yield from (part for part in parts if not isinstance(part, Text))
