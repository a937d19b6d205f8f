"""The text of stored blocks, for searching and for scripts. Pure."""

from __future__ import annotations

from yume_shim.text.codec import dumps
from yume_shim.types.blocks import Document, Image, Other, Text, Thinking, ToolCall, ToolResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Block

MAX_RESULT = 20_000
"""Characters of a tool result that are shown; the transcript has all of them."""


def plain(block: Block) -> str:
    """The text of a block, for searching."""
    match block:
        case Text() | Thinking():
            return block.text
        case ToolCall():
            return f"{block.name} {_arguments(block)}"
        case ToolResult():
            return _result_text(block)
        case Image() | Document() | Other():
            return ""


def _arguments(call: ToolCall) -> str:
    return call.broken if call.broken is not None else dumps(call.input).decode("utf-8")


def _result_text(result: ToolResult) -> str:
    if isinstance(result.content, str):
        text = result.content
    else:
        text = "\n".join(part.text if isinstance(part, Text) else f"[{_named(part)}]" for part in result.content)
    if len(text) <= MAX_RESULT:
        return text
    return f"{text[:MAX_RESULT]}\n… [{len(text) - MAX_RESULT} more characters]"


def _named(block: Image | Document | Other) -> str:
    match block:
        case Image():
            return f"image {block.url or block.media_type}".strip()
        case Document():
            return f"document {block.title or block.media_type}".strip()
        case Other():
            return str(block.data.get("type", "block"))
