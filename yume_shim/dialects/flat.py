"""The flat dialect: one small object per event, for hosts that only read lines.

Long text is split here, because one line becomes several. The writer shortens every other line over the cap with
`line_shrinking.py`.

A subagent's events render as lines with `parent_tool_use_id`. A subagent has no turn of its own: it prints no `init`,
`interrupt`, `result` or `message_stop`.
"""

from __future__ import annotations

from yume_shim.dialects.flat_lines import (
    approval_line,
    failure_line,
    init_line,
    result_line,
    system_line,
    tool_result_line,
    tool_use_line,
    turn_started_line,
    usage_line,
)
from yume_shim.dialects.line_template import TEXT_GAP, TextTemplate
from yume_shim.dialects.records.flat_records import (
    ErrorLine,
    InterruptLine,
    MessageStopLine,
    ThinkingEndLine,
    set_parent,
    text_line,
    thinking_line,
)
from yume_shim.types.blocks import Text, Thinking, ToolCall
from yume_shim.types.events import (
    ApprovalAsked,
    ApprovalWithdrawn,
    BlockDelta,
    BlockEnded,
    BlockStarted,
    CallDenied,
    CommandRefused,
    CommandsChanged,
    Compacted,
    CompactEnded,
    Compacting,
    ContextMeasured,
    ControlAnswered,
    EntriesWritten,
    FactNoted,
    InputRejected,
    Interrupted,
    LimitsReported,
    LineEchoed,
    LocalCommandDone,
    ModeChanged,
    ModelChanged,
    NoteAdded,
    Notice,
    PartialKept,
    Pong,
    PromptTaken,
    PromptWithdrawn,
    RequestStarted,
    ResponseDropped,
    ResponseEnded,
    ResponseFailed,
    ResponseStarted,
    ResumeFailed,
    Retrying,
    ServersChanged,
    SessionChanged,
    SessionEnding,
    SessionReady,
    StartFailed,
    StateChanged,
    TitleChanged,
    TodosChanged,
    ToolFinished,
    ToolOutputAdded,
    ToolProgress,
    ToolQueued,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from yume_shim.types.models import Usage
from yume_shim.types.settings import FLAT_LINE_BYTES
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.blocks import Json
    from yume_shim.types.errors import Failure
    from yume_shim.types.events import SessionInfo, Tagged
    from yume_shim.types.ports import Ids

LINE_OVERHEAD = 512
"""Bytes reserved for the other fields of a `text` or `thinking` line."""
SMALLEST_PIECE = 64
"""Text is never split into pieces of fewer bytes, however low the cap."""
WORST_ESCAPE = 6
"""Bytes a single character can take in JSON: `\\u0001`."""


class FlatDialect:
    """Renders events as flat lines."""

    def __init__(
        self, info_version: str, ids: Ids, max_line: int = FLAT_LINE_BYTES, *, tool_deltas: bool = False
    ) -> None:
        """`tool_deltas`: show the arguments of calls as they stream."""
        self._version = info_version
        self._ids = ids
        self._room = max(max_line - LINE_OVERHEAD, SMALLEST_PIECE)
        self._info: SessionInfo | None = None
        self._answers: dict[str | None, _Answer] = {}
        self._tool_deltas = tool_deltas
        self._prompt_id = ""
        """Of the turn that runs, or of the prompt whose turn is about to begin."""
        self._in_turn = False
        self._asks: dict[str, str] = {}
        """Open questions: their id, and the call that they are about."""
        self._template_for: tuple[int, str] | None = None
        """Block and kind of the deltas that `_template` is for; None after any other event."""
        self._template: TextTemplate

    def feed(self, tagged: Tagged) -> list[Json]:
        """The lines of one event, usually one or none."""
        event = tagged.event
        parent = tagged.parent_call_id
        if type(event) is BlockDelta:  # four of five events are deltas
            lines = self._delta(event, parent)
        else:
            self._template_for = None
            lines = self._render(tagged)
        if parent is not None:
            set_parent(lines, parent, "" if tagged.child is None else tagged.child.agent_id)
        return lines

    def delta_lines(self, event: BlockDelta, uuids: Sequence[str]) -> list[bytes] | None:
        """The same for a delta of the main conversation, quickly."""
        kind = event.kind
        if kind != "text" and kind != "thinking":
            return None if self._tool_deltas and kind == "json" else []
        pieces = event.pieces or (event.text,)
        if len(event.text) * WORST_ESCAPE > self._room and max(map(len, pieces)) * WORST_ESCAPE > self._room:
            return None
        if "" in pieces:
            return None
        if self._template_for != (event.index, kind):
            self._template_for = (event.index, kind)
            self._template = self._template_of(event)
        return self._template.lines(pieces)

    def _template_of(self, event: BlockDelta) -> TextTemplate:
        """The line of a piece of this block."""
        answer = self._answer(None)
        block_id = f"{answer.id}:{event.index}"
        if event.kind == "text":
            return TextTemplate(text_line(TEXT_GAP, block_id))
        answer.thinking = event.index
        return TextTemplate(thinking_line(TEXT_GAP, block_id))

    def _render(self, tagged: Tagged) -> list[Json]:
        event, parent = tagged.event, tagged.parent_call_id
        match event:
            case BlockDelta():
                return self._delta(event, parent)
            case BlockStarted():
                return self._started(event, parent)
            case BlockEnded():
                return self._answer(parent).close(event.index)
            case ResponseStarted():
                self._answers[parent] = _Answer(event.id or tagged.uuid)
                return []
            case ResponseEnded():
                return [usage_line(event.usage if event.usage_given else replace(event.usage, estimated=True))]
            case ResponseDropped():
                return self._dropped(event, parent)
            case ToolStarted(call):
                return [tool_use_line(call)]
            case ToolFinished():
                self._answers.pop(event.call.id, None)  # the call's subagent has ended with it
                return [tool_result_line(event, self._room)]
            case TurnFailed():
                return [failure_line(event.failure, self._provider())]
            case SessionReady() | Interrupted() | TurnEnded():
                return self._turn_line(event) if parent is None else self._answer(parent).close_open()
            case (
                Retrying()
                | ToolProgress()
                | CallDenied()
                | ModeChanged()
                | ModelChanged()
                | SessionChanged()
                | Notice()
                | Compacted()
                | StartFailed()
                | ServersChanged()
                | TitleChanged()
                | PromptTaken(joined=True)
            ):
                return [system_line(event)]
            case TurnStarted():
                return self._turn_started(event, tagged.uuid) if parent is None else []
            case PromptTaken():
                return self._prompt_taken(event, tagged)
            case Compacting() | CompactEnded() | ContextMeasured() | TodosChanged() | ToolOutputAdded() | ToolQueued():
                from yume_shim.dialects.live_lines import live_line

                return [live_line(event)]
            case ApprovalAsked():
                return self._approval_asked(event)
            case ApprovalWithdrawn():
                return self._approval_withdrawn(event)
            case LimitsReported() | CommandsChanged():
                return [_rare_line(event, tagged.at)]
            case InputRejected() | CommandRefused() | ControlAnswered() | Pong() | LineEchoed():
                return [self._host_line(event)]
            case LocalCommandDone():
                return self._command_done(event, tagged.uuid)
            case (
                SessionEnding()
                | FactNoted()
                | RequestStarted()
                | ResponseFailed()
                | PartialKept()
                | NoteAdded()
                | StateChanged()
                | PromptWithdrawn()
                | EntriesWritten()
                | ResumeFailed()
            ):
                return []
            case _:
                from yume_shim.dialects.flat_side_lines import side_lines

                return side_lines(event, tagged.at, lambda call_id: self._answers.pop(call_id, None))

    def _approval_asked(self, event: ApprovalAsked) -> list[Json]:
        self._asks[event.ask_id] = event.call.id
        return [approval_line(event, self._room)]

    def _command_done(self, event: LocalCommandDone, uuid: str) -> list[Json]:
        if event.answers:
            from yume_shim.dialects.records.flat_records import TextLine

            return [TextLine(content=event.text, id=uuid)]
        return [self._refusal(event.text, event.failed, failure=event.failure)] if event.failed else []

    def _prompt_taken(self, event: PromptTaken, tagged: Tagged) -> list[Json]:
        if not event.repeated and tagged.parent_call_id is None and not self._in_turn:
            self._prompt_id = event.uuid or tagged.uuid
        return []

    def _approval_withdrawn(self, event: ApprovalWithdrawn) -> list[Json]:
        from yume_shim.dialects.live_lines import withdrawn_line

        call_id = self._asks.pop(event.ask_id, "")
        return [withdrawn_line(call_id)] if call_id else []

    def _turn_line(self, event: SessionReady | Interrupted | TurnEnded) -> list[Json]:
        """The session's own lines: its start, a stop, the end of a turn."""
        match event:
            case SessionReady():
                self._info = event.info
                return [init_line(event.info, self._version)]
            case Interrupted():
                # A priority message stops the turn on the user's behalf: the flat dialect has no reason of its own for
                # that.
                reason = "user" if event.reason == "priority" else event.reason
                return [*self._answer(None).close_open(), InterruptLine(reason=reason)]
            case TurnEnded():
                self._info = event.info or self._info
                session_id = self._info.session_id if self._info is not None else ""
                prompt_id, self._prompt_id, self._in_turn = self._prompt_id, "", False
                self._asks.clear()
                return [result_line(event, session_id, prompt_id), MessageStopLine()]

    def _turn_started(self, event: TurnStarted, uuid: str) -> list[Json]:
        """The turn's id is that of its prompt, also of one that is not kept (a local command, a refused prompt)."""
        self._prompt_id = self._prompt_id or next(iter(event.user_uuids), uuid)
        self._in_turn = True
        return [turn_started_line(self._prompt_id, event.origin)]

    def _host_line(self, event: InputRejected | CommandRefused | ControlAnswered | Pong | LineEchoed) -> Json:
        from yume_shim.dialects.host_lines import control_response
        from yume_shim.dialects.records.shared_records import Pong as PongLine
        from yume_shim.dialects.records.shared_records import echo

        match event:
            case InputRejected():
                quoted = f"{event.message} [{event.quote}]" if event.quote else event.message
                return self._refusal(quoted, "bad_input")
            case CommandRefused():
                return self._refusal(event.message, event.code, event.provider, event.failure)
            case ControlAnswered():
                return control_response(event)
            case Pong():
                return PongLine()
            case LineEchoed():
                return echo(event.line)

    def _refusal(self, message: str, code: str, provider: str = "", failure: Failure | None = None) -> Json:
        """An `error` line about something that the host asked for; `failure`: the provider is the reason."""
        if failure is not None:
            return failure_line(failure, self._provider())
        return ErrorLine(message=message, code=code, provider=provider or self._provider(), retryable=False)

    def _provider(self) -> str:
        return self._info.provider if self._info is not None else ""

    # ------------------------------------------------------------ the answer

    def _answer(self, parent: str | None) -> _Answer:
        answer = self._answers.get(parent)
        if answer is None:
            answer = self._answers[parent] = _Answer(self._ids.uuid())
        return answer

    def _started(self, event: BlockStarted, parent: str | None) -> list[Json]:
        block = event.block
        if isinstance(block, Text) and block.text:
            return self._text(block.text, event.index, parent)
        if isinstance(block, Thinking) and block.text:
            return self._thought(block.text, event.index, parent)
        if isinstance(block, ToolCall) and self._tool_deltas:
            self._answer(parent).call = (block.id, block.name)
            return self._arguments("", parent)
        return []

    def _delta(self, event: BlockDelta, parent: str | None) -> list[Json]:
        if event.kind == "text":
            return self._text(event.text, event.index, parent)
        if event.kind == "thinking":
            return self._thought(event.text, event.index, parent)
        if event.kind == "json" and self._tool_deltas:
            return self._arguments(event.text, parent)
        return []

    def _arguments(self, delta: str, parent: str | None) -> list[Json]:
        from yume_shim.dialects.records.live_records import ToolUseDeltaLine

        call_id, name = self._answer(parent).call
        pieces = self._pieces(delta) if delta else [""]
        return [ToolUseDeltaLine(id=call_id, name=name, delta=piece) for piece in pieces]

    def _text(self, text: str, index: int, parent: str | None) -> list[Json]:
        block_id = f"{self._answer(parent).id}:{index}"
        return [text_line(piece, block_id) for piece in self._pieces(text)]

    def _thought(self, text: str, index: int, parent: str | None) -> list[Json]:
        answer = self._answer(parent)
        answer.thinking = index
        return [thinking_line(piece, f"{answer.id}:{index}") for piece in self._pieces(text)]

    def _pieces(self, text: str) -> list[str]:
        if not text:
            return []
        if len(text) * WORST_ESCAPE <= self._room:
            return [text]
        from yume_shim.text.clip import split_text

        return split_text(text, self._room)

    def _dropped(self, event: ResponseDropped, parent: str | None) -> list[Json]:
        lines = self._answer(parent).close(event.open_index)
        # A stopped turn ends with `interrupt`, `result`, `message_stop` and nothing between them; the tokens of its
        # last answer are in `result.usage`.
        if event.usage != Usage() and not event.interrupted:
            lines.append(usage_line(event.usage))
        return lines


def _rare_line(event: LimitsReported | CommandsChanged, at: float) -> Json:
    """A line whose module is loaded with the first of its kind."""
    if isinstance(event, CommandsChanged):
        from yume_shim.dialects.records.flat_records import CommandsLine

        return CommandsLine(commands=list(event.commands))
    from yume_shim.dialects.limit_lines import flat_limits_line

    return flat_limits_line(event, at)


class _Answer:
    """The response that is being printed: its id, and the thinking block that was shown and not yet closed."""

    __slots__ = ("call", "id", "thinking")

    def __init__(self, id: str) -> None:
        self.id = id
        self.thinking: int | None = None
        self.call: tuple[str, str] = ("", "")
        """Id and name of the call whose arguments stream."""

    def close(self, index: int | None) -> list[Json]:
        """The line that closes the thinking block of this index, if it is open."""
        if index is None or self.thinking != index:
            return []
        self.thinking = None
        return [ThinkingEndLine(id=f"{self.id}:{index}")]

    def close_open(self) -> list[Json]:
        """The line that closes an open thinking block."""
        return self.close(self.thinking)
