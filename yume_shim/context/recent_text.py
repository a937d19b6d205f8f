"""The newest messages of a conversation as plain text, within a limit: for a model that is asked about them. Pure."""

from __future__ import annotations

from yume_shim.text import codec
from yume_shim.types.blocks import Text, ToolCall, ToolResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.blocks import Block, Message

MAX_PART = 4_000
"""Characters of one block: a long result must not hide the messages before it."""
CUT = "… (cut)"


def recent_text(messages: Sequence[Message], limit: int) -> str:
    """One paragraph per block, `role: text`; the oldest messages are left out first."""
    parts: list[str] = []
    for message in reversed(messages):
        shown = [f"{message.role}: {text}" for block in message.blocks if (text := _text(block))]
        limit -= sum(map(len, shown))
        if limit < 0:
            break
        parts[:0] = shown
    return "\n\n".join(parts)


def _text(block: Block) -> str:
    match block:
        case Text(text=text):
            found = text
        case ToolCall(name=name, input=given):
            found = f"calls {name} with {codec.dumps(given).decode('utf-8')}"
        case ToolResult(content=content):
            texts = (content,) if isinstance(content, str) else (getattr(part, "text", "") for part in content)
            found = "result: " + "\n".join(texts)
        case _:
            return ""
    return found if len(found) <= MAX_PART else found[:MAX_PART] + CUT
