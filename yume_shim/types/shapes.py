"""Blocks, usage and time in Anthropic's JSON form, which the nested dialect prints and the store writes."""

from __future__ import annotations

import time

from yume_shim.types.blocks import Document, Image, Other, Text, Thinking, ToolCall
from yume_shim.types.message_records import (
    Base64Source,
    CacheCreation,
    DocumentBlock,
    ImageBlock,
    MessageUsage,
    RawInput,
    RedactedThinkingBlock,
    TextBlock,
    TextSource,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
)
from yume_shim.types.models import ANTHROPIC_MESSAGES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import AssistantBlock, Json, ToolResult
    from yume_shim.types.events import Phase
    from yume_shim.types.models import Usage

SYNTHETIC_MODEL = "<synthetic>"
"""The `model` of messages that this program wrote: usage counters skip them, and they are not history."""
NO_CONTENT = "(no content)"
"""The model reads this in place of an empty prompt, as with the Claude CLI: APIs refuse empty messages."""


def timestamp(at: float) -> str:
    """Wall-clock seconds as ISO 8601 in UTC with milliseconds, `2023-11-14T22:13:20.000Z`."""
    seconds, millis = divmod(round(at * 1000), 1000)
    t = time.gmtime(seconds)
    return f"{t[0]:04d}-{t[1]:02d}-{t[2]:02d}T{t[3]:02d}:{t[4]:02d}:{t[5]:02d}.{millis:03d}Z"


def interrupt_marker(phase: Phase) -> str:
    """The user message that marks in the history where a turn was stopped."""
    return "[Request interrupted by user for tool use]" if phase == "tools" else "[Request interrupted by user]"


def assistant_block(block: AssistantBlock) -> Json | None:
    """A block of an answer; None for what has no shape here: an empty text, or a block that only another API knows."""
    match block:
        case Text():
            return TextBlock(text=block.text) if block.text else None
        case Thinking():
            return _thinking(block)
        case ToolCall():
            return ToolUseBlock(id=block.id, name=block.name, input=call_input(block))
        case Other():
            return dict(block.data) if block.api == ANTHROPIC_MESSAGES else None


def _thinking(block: Thinking) -> Json:
    private: Json = block.opaque.get(ANTHROPIC_MESSAGES) or {}
    if block.redacted and "data" in private:
        return RedactedThinkingBlock(data=private["data"])
    # The Python Agent SDK raises on a thinking block without `signature`, so providers that have none show "".
    return ThinkingBlock(thinking=block.text, signature=private.get("signature", ""))


def call_input(call: ToolCall) -> Json:
    """The input as shown; arguments that were not a JSON object are shown raw, wrapped as the Claude CLI does."""
    if call.broken is None:
        return call.input
    return {"__unparsedToolInput": RawInput(raw=call.broken, len=len(call.broken))}


def result_block(result: ToolResult) -> ToolResultBlock:
    """A `tool_result` block."""
    content = result.content
    return ToolResultBlock(
        tool_use_id=result.call_id,
        content=content if isinstance(content, str) else [part_block(part) for part in content],
        is_error=result.is_error,
    )


def part_block(part: Text | Image | Document) -> TextBlock | ImageBlock | DocumentBlock:
    """Text or media in the form of a prompt or a tool result."""
    match part:
        case Text():
            return TextBlock(text=part.text)
        case Image():
            if part.url and not part.data:
                return ImageBlock(source=UrlSource(url=part.url))
            return ImageBlock(source=Base64Source(media_type=part.media_type, data=part.data))
        case Document():
            if part.media_type == "text/plain":
                return DocumentBlock(source=TextSource(data=part.data), title=part.title or None)
            source = Base64Source(media_type=part.media_type, data=part.data)
            return DocumentBlock(source=source, title=part.title or None)


def message_usage(usage: Usage) -> MessageUsage:
    """`message.usage`."""
    return MessageUsage(
        input_tokens=usage.input,
        cache_creation_input_tokens=usage.cache_write,
        cache_read_input_tokens=usage.cache_read,
        cache_creation=CacheCreation(
            ephemeral_5m_input_tokens=usage.cache_write - usage.cache_write_1h,
            ephemeral_1h_input_tokens=usage.cache_write_1h,
        ),
        output_tokens=usage.output,
    )
