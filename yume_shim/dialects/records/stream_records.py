"""The events of Anthropic's Messages stream, which `stream_event` lines carry."""

from __future__ import annotations

from yume_shim.types.record import Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import DeltaKind
    from yume_shim.types.message_records import (
        MessageUsage,
        RedactedThinkingBlock,
        TextBlock,
        ThinkingBlock,
        ToolUseBlock,
    )


@record
class MessageStart(Record):
    """The model begins to answer."""

    type: Literal["message_start"] = "message_start"
    message: StartedMessage


@record
class StartedMessage(Record):
    """A message without content yet."""

    id: str
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"
    model: str
    content: list[Json]
    stop_reason: None = None
    stop_sequence: None = None
    usage: MessageUsage


@record
class ContentBlockStart(Record):
    """A block begins, in its empty form. A kind that only Anthropic's API knows appears as the provider sent it."""

    type: Literal["content_block_start"] = "content_block_start"
    index: int
    content_block: TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock | Json


@record
class ContentBlockDelta(Record):
    """A piece of the open block."""

    type: Literal["content_block_delta"] = "content_block_delta"
    index: int
    delta: TextDelta | ThinkingDelta | InputJsonDelta | SignatureDelta


@record
class TextDelta(Record):
    """A piece of text."""

    type: Literal["text_delta"] = "text_delta"
    text: str


@record
class ThinkingDelta(Record):
    """A piece of reasoning."""

    type: Literal["thinking_delta"] = "thinking_delta"
    thinking: str


@record
class InputJsonDelta(Record):
    """A piece of a call's arguments, as raw JSON text."""

    type: Literal["input_json_delta"] = "input_json_delta"
    partial_json: str


@record
class SignatureDelta(Record):
    """The signature of a reasoning block."""

    type: Literal["signature_delta"] = "signature_delta"
    signature: str


@record
class ContentBlockStop(Record):
    """The block is complete. Its `assistant` line comes first."""

    type: Literal["content_block_stop"] = "content_block_stop"
    index: int


@record
class MessageDelta(Record):
    """The answer ends: why, and its final token counts."""

    type: Literal["message_delta"] = "message_delta"
    delta: StopFields
    usage: MessageUsage


@record
class StopFields(Record):
    """Why the answer ended; both are null when it was stopped."""

    stop_reason: str | None
    stop_sequence: str | None


@record
class MessageStop(Record):
    """The answer is over."""

    type: Literal["message_stop"] = "message_stop"


_DELTAS: Mapping[DeltaKind, tuple[str, str]] = {
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "json": ("input_json_delta", "partial_json"),
    "signature": ("signature_delta", "signature"),
}


def delta_event(index: int, kind: DeltaKind, text: str) -> Json:
    """`ContentBlockDelta` without the cost of records: most events are deltas."""
    name, field = _DELTAS[kind]
    return {"type": "content_block_delta", "index": index, "delta": {"type": name, field: text}}
