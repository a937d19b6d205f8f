"""Partial messages: the events of Anthropic's Messages stream, rendered from our events for every provider.

`Stream` follows one answer and knows what is open, so that a stopped or cut answer is closed as the Claude CLI closes
it: the open block ends, then comes `message_stop`, whose line says from which block on the shown ones are void.
"""

from __future__ import annotations

from yume_shim.dialects.records.stream_records import (
    ContentBlockStart,
    ContentBlockStop,
    MessageDelta,
    MessageStart,
    MessageStop,
    StartedMessage,
    StopFields,
    delta_event,
)
from yume_shim.types.blocks import Other, Text, Thinking, ToolCall
from yume_shim.types.message_records import RedactedThinkingBlock, TextBlock, ThinkingBlock, ToolUseBlock
from yume_shim.types.models import ANTHROPIC_MESSAGES, Usage
from yume_shim.types.shapes import message_usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import AssistantBlock, Json
    from yume_shim.types.events import (
        BlockDelta,
        BlockStarted,
        DeltaKind,
        ResponseDropped,
        ResponseEnded,
        ResponseStarted,
    )


class Stream:
    """The stream events of one answer. Each method returns raw events, which the caller wraps into lines."""

    def __init__(self) -> None:
        self._open = False
        self._usage = Usage()
        self._hidden: set[int] = set()
        self._calls: set[int] = set()

    def start(self, event: ResponseStarted, message_id: str) -> list[Json]:
        """`message_start`."""
        self._open = True
        self._usage = event.usage
        self._hidden.clear()
        self._calls.clear()
        message = StartedMessage(id=message_id, model=event.model, content=[], usage=message_usage(event.usage))
        return [MessageStart(message=message)]

    def block_start(self, event: BlockStarted) -> list[Json]:
        """`content_block_start` with the empty form; text that came with the start follows as a delta."""
        shape = empty_block(event.block)
        if shape is None:
            self._hidden.add(event.index)
            return []
        if isinstance(event.block, ToolCall):
            self._calls.add(event.index)
        events: list[Json] = [ContentBlockStart(index=event.index, content_block=shape)]
        if isinstance(event.block, Text | Thinking) and event.block.text:
            kind: DeltaKind = "text" if isinstance(event.block, Text) else "thinking"
            events.append(delta_event(event.index, kind, event.block.text))
        return events

    def delta(self, event: BlockDelta) -> Json | None:
        """`content_block_delta`; None for a block that is not shown."""
        if event.index in self._hidden:
            return None
        return delta_event(event.index, event.kind, event.text)

    def block_stop(self, index: int) -> list[Json]:
        """`content_block_stop`; the caller prints the block's `assistant` line before it."""
        return [] if index in self._hidden else [ContentBlockStop(index=index)]

    def end(self, event: ResponseEnded) -> list[Json]:
        """`message_delta` with the final figures, `message_stop`."""
        self._open = False
        return [_message_delta(event.stop_reason, event.stop_sequence, event.usage), MessageStop()]

    def abandon(self, event: ResponseDropped) -> list[Json] | None:
        """The events that close a stopped or cut answer, without its `message_stop`; None if no answer had begun."""
        if not self._open:
            return None
        self._open = False
        # the Claude CLI prints no stop for a call that was interrupted in the middle of its arguments
        half_a_call = event.interrupted and event.open_index in self._calls
        events = [] if event.open_index is None or half_a_call else self.block_stop(event.open_index)
        if event.interrupted:
            events.append(_message_delta(None, None, self._usage if event.usage == Usage() else event.usage))
        return events


def empty_block(block: AssistantBlock) -> Json | None:
    """The form a block has before its first delta; None for a block that only another API knows."""
    match block:
        case Text():
            return TextBlock(text="")
        case Thinking():
            data = (block.opaque.get(ANTHROPIC_MESSAGES) or {}).get("data")
            if block.redacted and data is not None:
                return RedactedThinkingBlock(data=data)
            return ThinkingBlock(thinking="", signature="")
        case ToolCall():
            return ToolUseBlock(id=block.id, name=block.name, input={})
        case Other():
            return dict(block.data) if block.api == ANTHROPIC_MESSAGES else None


def _message_delta(stop_reason: str | None, stop_sequence: str | None, usage: Usage) -> Json:
    return MessageDelta(
        delta=StopFields(stop_reason=stop_reason, stop_sequence=stop_sequence), usage=message_usage(usage)
    )
