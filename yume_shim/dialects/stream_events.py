"""Partial messages: the events of Anthropic's Messages stream, made of ours for every provider alike.

`Stream` follows one answer. It knows what is open, so that a stopped or cut answer is closed the way the Claude CLI
closes it: the open block ends, and `message_stop` says from which block on the shown ones are void.
"""

from __future__ import annotations

from yume_shim.types.blocks import Other, Text, Thinking, ToolCall
from yume_shim.types.models import ANTHROPIC_MESSAGES, Usage
from yume_shim.types.shapes import message_usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.types.blocks import AssistantBlock, Json
    from yume_shim.types.events import (
        BlockDelta,
        BlockStarted,
        DeltaKind,
        ResponseDropped,
        ResponseEnded,
        ResponseStarted,
    )

_DELTAS: Mapping[DeltaKind, tuple[str, str]] = {
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "json": ("input_json_delta", "partial_json"),
    "signature": ("signature_delta", "signature"),
}


class Stream:
    """The stream events of one answer; each method gives the raw events, the caller wraps them into lines."""

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
        message: Json = {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": event.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": message_usage(event.usage),
        }
        return [{"type": "message_start", "message": message}]

    def block_start(self, event: BlockStarted) -> list[Json]:
        """`content_block_start` with the empty form; text that came with the start follows as a delta."""
        shape = empty_block(event.block)
        if shape is None:
            self._hidden.add(event.index)
            return []
        if isinstance(event.block, ToolCall):
            self._calls.add(event.index)
        events: list[Json] = [{"type": "content_block_start", "index": event.index, "content_block": shape}]
        if isinstance(event.block, Text | Thinking) and event.block.text:
            kind: DeltaKind = "text" if isinstance(event.block, Text) else "thinking"
            events.append(_delta(event.index, kind, event.block.text))
        return events

    def delta(self, event: BlockDelta) -> list[Json]:
        """`content_block_delta`."""
        if event.index in self._hidden:
            return []
        return [_delta(event.index, event.kind, event.text)]

    def block_stop(self, index: int) -> list[Json]:
        """`content_block_stop`; the caller prints the block's `assistant` line before it."""
        return [] if index in self._hidden else [{"type": "content_block_stop", "index": index}]

    def end(self, event: ResponseEnded) -> list[Json]:
        """`message_delta` with the final figures, `message_stop`."""
        self._open = False
        return [
            _message_delta(event.stop_reason, event.stop_sequence, message_usage(event.usage)),
            {"type": "message_stop"},
        ]

    def abandon(self, event: ResponseDropped) -> list[Json]:
        """What closes an answer that was stopped or cut; nothing if none had begun. The last of them is the
        `message_stop` whose line carries `abandoned_blocks`."""
        if not self._open:
            return []
        self._open = False
        # the Claude CLI leaves half a call without its stop when it was interrupted
        half_a_call = event.interrupted and event.open_index in self._calls
        events = [] if event.open_index is None or half_a_call else self.block_stop(event.open_index)
        if event.interrupted:
            usage = self._usage if event.usage == Usage() else event.usage
            events.append(_message_delta(None, None, message_usage(usage)))
        events.append({"type": "message_stop"})
        return events


def empty_block(block: AssistantBlock) -> Json | None:
    """The form a block has before its first delta; None for kinds that only another API knows."""
    match block:
        case Text():
            return {"type": "text", "text": ""}
        case Thinking():
            data = (block.opaque.get(ANTHROPIC_MESSAGES) or {}).get("data")
            if block.redacted and data is not None:
                return {"type": "redacted_thinking", "data": data}
            return {"type": "thinking", "thinking": "", "signature": ""}
        case ToolCall():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}
        case Other():
            return dict(block.data) if block.api == ANTHROPIC_MESSAGES else None


def _delta(index: int, kind: DeltaKind, text: str) -> Json:
    name, field = _DELTAS[kind]
    return {"type": "content_block_delta", "index": index, "delta": {"type": name, field: text}}


def _message_delta(stop_reason: str | None, stop_sequence: str | None, usage: Json) -> Json:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason, "stop_sequence": stop_sequence},
        "usage": usage,
    }
