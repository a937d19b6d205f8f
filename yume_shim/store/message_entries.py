"""Turns messages of the history into transcript lines: a compaction writes the messages that it keeps again."""

from __future__ import annotations

from yume_shim.store.answer_lines import private_fields
from yume_shim.types.blocks import Document, Image, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.models import Usage
from yume_shim.types.shapes import assistant_block, message_usage, part_block, result_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json, Message


def user_content(message: Message) -> str | list[Json]:
    """The content of a user message; a single text is a string."""
    if len(message.blocks) == 1 and isinstance(message.blocks[0], Text):
        return message.blocks[0].text
    content: list[Json] = []
    for block in message.blocks:
        match block:
            case ToolResult():
                content.append(result_block(block))
            case Text() | Image() | Document():
                content.append(part_block(block))
            case Other():
                content.append(block.data)
            case Thinking() | ToolCall():
                pass  # these occur only in assistant messages
    return content


def answer_fields(message: Message, message_id: str) -> list[Json]:
    """The fields to add to the lines of an answer, one line per block. Without usage: the answer was counted when it
    was received."""
    fields: list[Json] = []
    for block in message.blocks:
        if isinstance(block, (ToolResult, Image, Document)):
            continue  # these occur only in user messages
        shape = assistant_block(block)
        content: Json = {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": message.origin.partition("/")[2],
            "content": [] if shape is None or isinstance(block, Other) else [shape],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": message_usage(Usage()),
        }
        fields.append({"yume": {"origin": message.origin} | private_fields(block), "message": content})
    return fields
