"""How many tokens a text, a history or a request has, roughly, where the provider does not say.

Characters times 0.3, rounded up: a little high for English, about right for code and JSON. `count` may be a better
counter for texts; `write` is the JSON encoder (`text.codec.dumps`), because this floor does not import `text`.
"""

from __future__ import annotations

from yume_shim.types.blocks import Document, Image, Other, Text, Thinking, ToolCall, ToolResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeAlias

    from yume_shim.types.blocks import Block, Message
    from yume_shim.types.models import ToolSpec

    Count: TypeAlias = Callable[[str], int]
    Write: TypeAlias = Callable[[Any], bytes]

IMAGE_TOKENS = 1_600
"""An image, whatever its bytes: vendors scale it down to about this much."""
DOCUMENT_CHARS_PER_TOKEN = 30
"""Base64 characters of a PDF per token: a page is some 50 KB of file and 2,000 tokens of content."""


def by_characters(text: str) -> int:
    """Three tokens for ten characters, rounded up."""
    return (len(text) * 3 + 9) // 10


def size_of_frame(system: Iterable[str], tools: Iterable[ToolSpec], count: Count, write: Write) -> int:
    """Tokens of everything but the history: system prompt and tools."""
    total = sum(map(count, system))
    for tool in tools:
        total += count(f"{tool.name}\n{tool.description}\n{write(tool.schema).decode()}")
    return total


def size_of_messages(messages: Iterable[Message], count: Count, write: Write) -> int:
    """Tokens of a history, or of a part of one."""
    return sum(size_of_block(block, count, write) for message in messages for block in message.blocks)


def size_of_block(block: Block, count: Count, write: Write) -> int:
    """Tokens of one block."""
    match block:
        case Text(text) | Thinking(text):
            return count(text)
        case ToolCall():
            arguments = block.broken if block.broken is not None else write(block.input).decode()
            return count(f"{block.name}{arguments}")
        case ToolResult():
            if isinstance(block.content, str):
                return count(block.content)
            return sum(size_of_block(part, count, write) for part in block.content)
        case Image():
            return IMAGE_TOKENS
        case Document():
            if block.media_type == "text/plain":
                return count(block.data)
            return -(-len(block.data) // DOCUMENT_CHARS_PER_TOKEN)
        case Other():
            return count(write(block.data).decode())
