"""A model's answer in the nested dialect: one `assistant` line per block, and stream events if the host requested them.

The end of an abandoned answer is held back. When a turn is stopped while text streams, the Claude CLI prints the kept
text as an `assistant` line, then the interrupt marker, and only then the stream events that close the answer. The
engine may emit these in another order; `closing` holds the stream events until their turn comes.
"""

from __future__ import annotations

from yume_shim.dialects.line_template import ID_GAP, TEXT_GAP, TextTemplate
from yume_shim.dialects.records.nested_records import (
    AbandonedBlocks,
    AssistantMessage,
    StreamEventLine,
    stream_event_line,
)
from yume_shim.types.blocks import ToolCall, ToolResult
from yume_shim.types.events import BlockDelta, BlockEnded, BlockStarted, ResponseDropped, ResponseEnded, ResponseStarted
from yume_shim.types.models import Usage
from yume_shim.types.shapes import assistant_block, message_usage, result_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.dialects.nested_messages import Messages
    from yume_shim.dialects.stream_events import Stream
    from yume_shim.types.blocks import AssistantBlock, Json
    from yume_shim.types.events import Tagged
    from yume_shim.types.ports import Ids

VOID_CALL = "This call was not run: the answer that contains it failed."


class Answers:
    """The answers being printed, one per parent call (None = the main conversation)."""

    def __init__(self, messages: Messages, ids: Ids, *, partial: bool) -> None:
        self._messages = messages
        self._ids = ids
        self._stream = _new_stream() if partial else None
        self._answers: dict[str | None, _Answer] = {}
        self.user_uuids: tuple[str, ...] = ()
        """The uuids of the turn's prompts, until the turn's first `assistant` line carries them."""
        self.template_for: tuple[int, str] | None = None
        """Block and kind of the deltas that `_template` is for; None after any other event."""
        self._template: TextTemplate | None = None
        self.closing: list[Json] = []
        """Stream events that close an abandoned answer."""

    def take_closing(self) -> list[Json]:
        """The lines that were held back."""
        lines, self.closing = self.closing, []
        return lines

    def forget(self, parent: str) -> None:
        """The subagent of this call has ended."""
        self._answers.pop(parent, None)

    def feed(
        self, event: ResponseStarted | BlockStarted | BlockEnded | ResponseEnded | ResponseDropped, tagged: Tagged
    ) -> list[Json]:
        """The lines of one event of a response."""
        # A subagent's answer is printed in whole blocks only, as in the Claude CLI.
        stream = self._stream if tagged.parent_call_id is None else None
        match event:
            case ResponseStarted():
                answer = _Answer(event.id or tagged.uuid, event.model, event.usage, event.request_id)
                self._answers[tagged.parent_call_id] = answer
                return self._wrap(stream.start(event, answer.id), tagged) if stream is not None else []
            case BlockStarted():
                return self._wrap(stream.block_start(event), tagged) if stream is not None else []
            case BlockEnded():
                lines = self.block(event.block, tagged)
                if isinstance(event.block, ToolCall) and lines:
                    self._answers[tagged.parent_call_id].calls.append((event.index, event.block.id))
                if stream is not None:
                    lines += self._wrap(stream.block_stop(event.index))
                return lines
            case ResponseEnded():
                return self._wrap(stream.end(event), tagged) if stream is not None else []
            case ResponseDropped():
                if stream is not None:
                    self.closing = self._abandon(stream, event)
                return self._void_results(event, tagged)

    def delta(self, event: BlockDelta, tagged: Tagged) -> list[Json]:
        """The stream event of a delta."""
        if self._stream is None or tagged.parent_call_id is not None:
            return []
        shown = self._stream.delta(event)
        if shown is None:
            return []
        answer = self._answers.get(None)
        message_id = answer.id if answer is not None else ""
        return [stream_event_line(shown, self._messages.session_id, tagged.uuid or self._ids.uuid(), message_id)]

    def delta_lines(self, event: BlockDelta, uuids: Sequence[str]) -> list[bytes]:
        """The same for each piece of a delta of the main conversation, as finished lines."""
        if self.template_for != (event.index, event.kind):
            self.template_for = (event.index, event.kind)
            self._template = self._template_of(event)
        return [] if self._template is None else self._template.named_lines(event.pieces or (event.text,), uuids)

    def _template_of(self, event: BlockDelta) -> TextTemplate | None:
        """The line of a piece; None if pieces of this block are not shown."""
        shown = None
        if self._stream is not None:
            shown = self._stream.delta(BlockDelta(event.index, event.kind, TEXT_GAP))
        if shown is None:
            return None
        answer = self._answers.get(None)
        message_id = answer.id if answer is not None else ""
        return TextTemplate(stream_event_line(shown, self._messages.session_id, ID_GAP, message_id))

    def block(self, block: AssistantBlock, tagged: Tagged, *, aborted: bool = False) -> list[Json]:
        """The `assistant` line of a complete block, or of the text that was kept of one."""
        shape = assistant_block(block)
        if shape is None:
            return []
        answer = self._answers.get(tagged.parent_call_id)
        if answer is None:
            answer = self._answers[tagged.parent_call_id] = _Answer(self._ids.uuid(), self._messages.model, Usage(), "")
        message = AssistantMessage(
            id=answer.id,
            model=answer.model,
            content=[shape],
            stop_reason=None,
            stop_sequence=None,
            usage=message_usage(answer.usage),
        )
        user_uuids = self.user_uuids if tagged.parent_call_id is None else ()
        if user_uuids:
            self.user_uuids = ()
        line = self._messages.assistant(
            message, tagged, request_id=answer.request_id, aborted=aborted, user_uuids=user_uuids
        )
        return [line]

    def _wrap(self, events: list[Json], tagged: Tagged | None = None) -> list[Json]:
        """Stream events as lines. The first has the event's own uuid, unless another line has it already."""
        answer = self._answers.get(None)
        message_id = answer.id if answer is not None else ""
        session_id = self._messages.session_id
        lines: list[Json] = []
        for event in events:
            uuid = tagged.uuid if tagged is not None and not lines else ""
            lines.append(stream_event_line(event, session_id, uuid or self._ids.uuid(), message_id))
        return lines

    def _void_results(self, event: ResponseDropped, tagged: Tagged) -> list[Json]:
        """Results of calls that were printed and are void because the answer failed: nothing runs them, and a host
        waits for the result of every call that it has seen. After an interrupt the engine closes them."""
        answer = self._answers.get(tagged.parent_call_id)
        if event.interrupted or answer is None:
            return []
        void = [call for index, call in answer.calls if index >= event.from_index]
        blocks = [result_block(ToolResult(call, VOID_CALL, is_error=True)) for call in void]
        return [self._messages.user([block], tagged, uuid=self._ids.uuid()) for block in blocks]

    def _abandon(self, stream: Stream, event: ResponseDropped) -> list[Json]:
        from yume_shim.dialects.records.stream_records import MessageStop

        events = stream.abandon(event)
        if events is None:
            return []
        lines = self._wrap(events)
        message_id = self._answers[None].id
        stop = StreamEventLine(
            event=MessageStop(),
            session_id=self._messages.session_id,
            uuid=self._ids.uuid(),
            api_message_id=message_id,
            abandoned_blocks=AbandonedBlocks(api_message_id=message_id, from_block_index=event.from_index),
        )
        return [*lines, stop]


class _Answer:
    """One response."""

    __slots__ = ("calls", "id", "model", "request_id", "usage")

    def __init__(self, id: str, model: str, usage: Usage, request_id: str) -> None:
        self.id = id
        self.model = model
        self.usage = usage
        self.request_id = request_id
        self.calls: list[tuple[int, str]] = []
        """Block index and id of the calls that were printed."""


def _new_stream() -> Stream:
    from yume_shim.dialects.stream_events import Stream

    return Stream()
