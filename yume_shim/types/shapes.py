"""JSON shapes of blocks, usage and time in Anthropic's form: what the nested dialect prints and the store writes."""

from __future__ import annotations

import time

from yume_shim.types.blocks import Document, Image, Other, Text, Thinking, ToolCall
from yume_shim.types.models import ANTHROPIC_MESSAGES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import AssistantBlock, Json, ToolResult
    from yume_shim.types.events import Phase
    from yume_shim.types.models import Usage

SYNTHETIC_MODEL = "<synthetic>"
"""The `model` of messages that this program wrote: usage counters skip them, and they are not history."""
NO_CONTENT = "(no content)"
"""What the model reads in place of an empty prompt, as the Claude CLI has it: APIs refuse empty messages."""


def timestamp(at: float) -> str:
    """Wall-clock seconds as ISO 8601 in UTC with milliseconds, `2023-11-14T22:13:20.000Z`."""
    seconds, millis = divmod(round(at * 1000), 1000)
    t = time.gmtime(seconds)
    return f"{t[0]:04d}-{t[1]:02d}-{t[2]:02d}T{t[3]:02d}:{t[4]:02d}:{t[5]:02d}.{millis:03d}Z"


def interrupt_marker(phase: Phase) -> str:
    """The user message that stands in the history where a turn was stopped."""
    return "[Request interrupted by user for tool use]" if phase == "tools" else "[Request interrupted by user]"


def assistant_block(block: AssistantBlock) -> Json | None:
    """A block of an answer; None for what has no shape here (nothing in it, or another API's own kind)."""
    match block:
        case Text():
            return {"type": "text", "text": block.text} if block.text else None
        case Thinking():
            return _thinking(block)
        case ToolCall():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": call_input(block)}
        case Other():
            return dict(block.data) if block.api == ANTHROPIC_MESSAGES else None


def _thinking(block: Thinking) -> Json:
    private: Json = block.opaque.get(ANTHROPIC_MESSAGES) or {}
    if block.redacted and "data" in private:
        return {"type": "redacted_thinking", "data": private["data"]}
    # The Python Agent SDK raises on a thinking block without `signature`, so providers that have none show "".
    return {"type": "thinking", "thinking": block.text, "signature": private.get("signature", "")}


def call_input(call: ToolCall) -> Json:
    """The input as shown; arguments that were not a JSON object are shown raw, in the Claude CLI's wrapping."""
    if call.broken is None:
        return call.input
    return {"__unparsedToolInput": {"raw": call.broken, "len": len(call.broken)}}


def result_block(result: ToolResult) -> Json:
    """A `tool_result` block; `is_error` only where the tool said something about it."""
    content: Any = result.content
    if not isinstance(content, str):
        content = [part_block(part) for part in content]
    shape: Json = {"type": "tool_result", "tool_use_id": result.call_id, "content": content}
    if result.is_error is not None:
        shape["is_error"] = result.is_error
    return shape


def part_block(part: Text | Image | Document) -> Json:
    """Text or media as it stands in a prompt or in a tool result."""
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image():
            if part.url and not part.data:
                return {"type": "image", "source": {"type": "url", "url": part.url}}
            return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": part.data}}
        case Document():
            kind = "text" if part.media_type == "text/plain" else "base64"
            shape: Json = {
                "type": "document",
                "source": {"type": kind, "media_type": part.media_type, "data": part.data},
            }
            if part.title:
                shape["title"] = part.title
            return shape


def message_usage(usage: Usage) -> Json:
    """`message.usage`. The two members of `cache_creation` sum to `cache_creation_input_tokens`: ccusage 20 adds up
    the members and ignores the sum."""
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write - usage.cache_write_1h,
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
        },
        "output_tokens": usage.output,
        "service_tier": "standard",
    }
