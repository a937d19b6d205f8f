"""The images and documents of a message: listed and replaced."""

from __future__ import annotations

from yume_shim.types.blocks import Document, Image, Text, ToolResult
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.providers.fitting.media.fit_part import Part
    from yume_shim.types.blocks import Block, Message


def media_of(message: Message) -> Iterator[Image | Document]:
    """The images and documents of a message, also those in tool results."""
    for block in message.blocks:
        if isinstance(block, Image | Document):
            yield block
        elif isinstance(block, ToolResult) and not isinstance(block.content, str):
            yield from (part for part in block.content if not isinstance(part, Text))


def map_media(message: Message, place: Callable[[Part], Part]) -> Message:
    """The message with each image and document replaced; the same value if nothing changes."""
    blocks = tuple(_map_block(block, place) for block in message.blocks)
    if all(new is old for new, old in zip(blocks, message.blocks, strict=True)):
        return message
    return replace(message, blocks=blocks)


def _map_block(block: Block, place: Callable[[Part], Part]) -> Block:
    if isinstance(block, Image | Document):
        return place(block)
    if not isinstance(block, ToolResult) or isinstance(block.content, str):
        return block
    parts = tuple(place(part) for part in block.content)
    if all(new is old for new, old in zip(parts, block.content, strict=True)):
        return block
    return replace(block, content=parts)
