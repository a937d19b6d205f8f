"""How many tokens a request has, roughly: without a tokenizer, by its characters."""

from __future__ import annotations

from yume_shim.text import codec
from yume_shim.types.blocks import Document, Image, Other, Text, Thinking, ToolCall, ToolResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Block
    from yume_shim.types.models import Request

TOKENS_PER_CHARACTER = 0.3
IMAGE_TOKENS = 1_600


def estimate(request: Request) -> int:
    """Tokens of a request, by its characters."""
    characters = sum(map(len, request.system))
    for tool in request.tools:
        characters += len(tool.name) + len(tool.description) + len(codec.dumps(tool.schema))
    images = 0
    for message in request.messages:
        for block in message.blocks:
            more, seen = _weight(block)
            characters += more
            images += seen
    return round(characters * TOKENS_PER_CHARACTER) + images * IMAGE_TOKENS


def _weight(block: Block) -> tuple[int, int]:
    """(characters, images) of a block."""
    match block:
        case Text(text) | Thinking(text):
            return len(text), 0
        case ToolCall():
            return len(block.name) + len(codec.dumps(block.input)), 0
        case ToolResult():
            if isinstance(block.content, str):
                return len(block.content), 0
            parts = [_weight(part) for part in block.content]
            return sum(part[0] for part in parts), sum(part[1] for part in parts)
        case Image():
            return 0, 1
        case Document():
            return (len(block.data) if block.media_type.startswith("text/") else 0), 0
        case Other():
            return 0, 0
