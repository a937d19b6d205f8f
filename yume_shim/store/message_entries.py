"""Messages of the history -> contents of transcript lines: what a compaction keeps in sight is written again."""

from __future__ import annotations

from yume_shim.types.blocks import Document, Image, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.models import Usage
from yume_shim.types.shapes import assistant_block, message_usage, part_block, result_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json, Message


def user_content(message: Message) -> str | list[Json]:
    """The content of a user's message; one plain text is a string."""
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
                pass  # not the user's to say
    return content


def answer_fields(message: Message, message_id: str) -> list[Json]:
    """What each line of an answer adds to a bare line: one per block, without usage, since the answer was counted when
    it came."""
    fields: list[Json] = []
    for block in message.blocks:
        private: Json = {"origin": message.origin}
        shape = None
        match block:
            case Text() | Thinking() | ToolCall():
                shape = assistant_block(block)
                if block.opaque:
                    private["opaque"] = dict(block.opaque)
                if isinstance(block, ToolCall) and block.broken is not None:
                    private["broken"] = block.broken
            case Other():
                private["block"] = {"api": block.api, "data": block.data}
            case ToolResult() | Image() | Document():
                continue  # not the model's to say
        content: Json = {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": message.origin.partition("/")[2],
            "content": [] if shape is None else [shape],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": message_usage(Usage()),
        }
        fields.append({"yume": private, "message": content})
    return fields
