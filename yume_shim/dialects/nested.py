"""The nested dialect: the Claude CLI's stream-json lines.

It remembers the session's facts, the answers being printed (`nested_answers.py`), echoes that wait for their turn's
init, and the figures of the last result.
A subagent's messages carry the call that runs it as `parent_tool_use_id`. A subagent has no turn of its own: it prints
no `init`, `status`, interrupt marker, compaction or `result`.
"""

from __future__ import annotations

from yume_shim.dialects.nested_answers import Answers
from yume_shim.dialects.nested_lines import (
    ask_line,
    compact_boundary_line,
    fallback_line,
    init_line,
    progress_line,
    state_line,
    status_line,
    system_line,
)
from yume_shim.dialects.nested_messages import Messages
from yume_shim.dialects.records.nested_records import (
    CommandLifecycleLine,
    ControlCancel,
    ConversationResetLine,
    TranscriptMirrorLine,
)
from yume_shim.dialects.records.shared_records import Pong as PongLine
from yume_shim.dialects.records.shared_records import echo
from yume_shim.types.blocks import Text
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
from yume_shim.types.message_records import TextBlock
from yume_shim.types.shapes import interrupt_marker, result_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import Event, ModelUsage, SessionInfo, Tagged
    from yume_shim.types.ports import Ids

BY_HOST = "host"
"""`ModelChanged.reason` when the host requested it; any other reason is a failover."""


class NestedDialect:
    """Renders events as stream-json lines. `version` is the `claude_code_version` of init, `spent_before` what a
    resumed session had used when this process started."""

    def __init__(
        self, version: str, ids: Ids, *, partial: bool = False, spent_before: tuple[ModelUsage, ...] = ()
    ) -> None:
        self._version = version
        self._ids = ids
        self._partial = partial
        self._messages = Messages(ids)
        self._answers = Answers(self._messages, ids, partial=partial)
        self.delta_lines = self._answers.delta_lines
        self._in_turn = False
        self._muted = False
        self._echoes: list[Json] = []
        self._beats: dict[str, int] = {}
        self._reported: dict[str, ModelUsage] = {entry.model: entry for entry in spent_before}
        self._results = 0
        self._child_models: dict[str, str] = {}

    def feed(self, tagged: Tagged) -> list[Json]:
        """The lines of one event."""
        event = tagged.event
        if type(event) is BlockDelta:  # four of five events are deltas
            return self._answers.delta(event, tagged)
        self._answers.template_for = None
        if not self._answers.closing:
            return self._render(tagged)
        match event:
            case PartialKept() | ControlAnswered() | LineEchoed() | InputRejected() | CommandRefused() | Pong():
                return self._render(tagged)
            case Interrupted():
                return self._render(tagged) + self._answers.take_closing()
            case _:
                return self._answers.take_closing() + self._render(tagged)

    def _render(self, tagged: Tagged) -> list[Json]:
        if tagged.parent_call_id is not None and (_is_of_turn(tagged.event) or self._hides(tagged)):
            return []
        event = tagged.event
        match event:
            case BlockDelta():
                return self._answers.delta(event, tagged)
            case ResponseStarted() | BlockStarted() | BlockEnded() | ResponseEnded() | ResponseDropped():
                return self._answers.feed(event, tagged)
            case SessionReady():
                self._remember_session(event.info)
                return []
            case TurnStarted():
                return self._turn_started(event, tagged)
            case TurnEnded():
                return self._turn_ended(event, tagged)
            case PromptTaken():
                return self._prompt(event, tagged)
            case PartialKept():
                return self._answers.block(event.block, tagged, aborted=event.interrupted)
            case NoteAdded():
                return [] if event.hidden else [self._messages.text(event.text, tagged, synthetic=True)]
            case ToolFinished():
                return [self._tool_result(event, tagged)]
            case Interrupted():
                return self._interrupted(event, tagged)
            case TurnFailed():
                return [self._messages.api_error(event.failure, tagged)]
            case ModelChanged():
                return self._model_changed(event, tagged)
            case SessionChanged():
                return [self._session_changed(event, tagged)]
            case Compacted():
                return self._compacted(event, tagged)
            case LocalCommandDone():
                return [self._command_done(event, tagged)]
            case PromptWithdrawn():
                return [self._lifecycle(event.uuid, "cancelled")]
            case (
                ApprovalAsked()
                | ApprovalWithdrawn()
                | ControlAnswered()
                | LineEchoed()
                | EntriesWritten()
                | ResumeFailed()
                | Pong()
            ):
                return [self._host_line(event, tagged)]
            case CommandsChanged() | TitleChanged() | LimitsReported():
                return [self._extension_line(event, tagged)]
            case SessionEnding() | ToolStarted() | ResponseFailed() | StartFailed() | ServersChanged():
                return []
            case ToolQueued() | ToolOutputAdded() | TodosChanged() | ContextMeasured() | FactNoted():
                return []  # for flat hosts
            case CallDenied(reason_type="deniedPath" | "hookDenied"):
                return []  # hidden by a rule, or refused by a hook: in the Claude CLI only the result says so
            case (
                RequestStarted()
                | Compacting()
                | CompactEnded()
                | ModeChanged()
                | StateChanged()
                | Retrying()
                | CallDenied()
                | Notice()
                | InputRejected()
                | CommandRefused()
                | ToolProgress()
            ):
                return self._system(event, tagged)
            case _:
                from yume_shim.dialects.nested_side_lines import side_lines

                return side_lines(event, tagged, self._messages.session_id, self._answers)

    def _host_line(
        self,
        event: ApprovalAsked | ApprovalWithdrawn | ControlAnswered | LineEchoed | EntriesWritten | ResumeFailed | Pong,
        tagged: Tagged,
    ) -> Json:
        """A question about a call, or an answer to the host."""
        match event:
            case ApprovalAsked():
                return ask_line(event, None if tagged.child is None else tagged.child.agent_id)
            case ApprovalWithdrawn():
                return ControlCancel(request_id=event.ask_id)
            case ControlAnswered():
                from yume_shim.dialects.host_lines import control_response

                return control_response(event)
            case LineEchoed():
                return echo(event.line)
            case EntriesWritten():
                return TranscriptMirrorLine(filePath=event.path, entries=list(event.entries))
            case ResumeFailed():
                from yume_shim.dialects.nested_results import resume_failed_line

                return resume_failed_line(event, tagged.uuid)
            case Pong():
                return PongLine()

    def _extension_line(
        self,
        event: CommandsChanged | TitleChanged | LimitsReported,
        tagged: Tagged,
    ) -> Json:
        session = self._messages.session_id
        if isinstance(event, LimitsReported):
            from yume_shim.dialects.limit_lines import nested_limits_line

            return nested_limits_line(event, tagged.at, self._messages.session_id, tagged.uuid)
        if isinstance(event, TitleChanged):
            from yume_shim.dialects.records.nested_system_records import SessionTitleLine

            return SessionTitleLine(title=event.title, session_id=session, uuid=tagged.uuid)
        from yume_shim.dialects.records.nested_system_records import CommandsChangedLine

        return CommandsChangedLine(commands=list(event.commands), session_id=session, uuid=tagged.uuid)

    def _command_done(self, event: LocalCommandDone, tagged: Tagged) -> Json:
        if event.failure is not None:
            from yume_shim.dialects.results import compaction_error

            return self._messages.synthetic(compaction_error(event.failure), tagged)
        if event.failed or event.answers:
            return self._messages.synthetic(event.text, tagged)
        return self._messages.command_output(event.text, tagged)

    def _system(
        self,
        event: RequestStarted
        | Compacting
        | CompactEnded
        | ModeChanged
        | StateChanged
        | Retrying
        | CallDenied
        | Notice
        | InputRejected
        | CommandRefused
        | ToolProgress,
        tagged: Tagged,
    ) -> list[Json]:
        """An event that is one line of the session."""
        if isinstance(event, RequestStarted) and not self._shows_request(event, tagged.parent_call_id):
            return []
        session, uuid = self._messages.session_id, self._messages.uuid_of(tagged)
        match event:
            case RequestStarted() | Compacting() | CompactEnded() | ModeChanged():
                return [status_line(event, session, uuid)]
            case StateChanged():
                return [state_line(event, session, uuid)]
            case Retrying() | CallDenied() | Notice() | InputRejected() | CommandRefused():
                agent_id = None if tagged.child is None else tagged.child.agent_id
                return [system_line(event, tagged.parent_call_id, session, uuid, agent_id)]
            case ToolProgress():
                beat = self._beats[event.call.id] = self._beats.get(event.call.id, -1) + 1
                return [progress_line(event, beat, session, uuid)]

    def _hides(self, tagged: Tagged) -> bool:
        if tagged.child is None:
            return False
        from yume_shim.dialects.child_lines import is_hidden

        return is_hidden(tagged.event, tagged.child)

    def _shows_request(self, event: RequestStarted, parent: str | None) -> bool:
        if parent is not None:
            self._child_models[parent] = event.model
        return self._partial and parent is None

    # ------------------------------------------------------------ turns

    def _remember_session(self, info: SessionInfo) -> None:
        self._messages.session_id = info.session_id
        self._messages.model = info.model

    def _turn_started(self, event: TurnStarted, tagged: Tagged) -> list[Json]:
        self._remember_session(event.info)
        self._in_turn, self._muted = True, False
        self._answers.user_uuids = event.user_uuids
        self._beats.clear()
        lines = [self._lifecycle(uuid, state) for uuid in event.user_uuids for state in ("queued", "started")]
        lines.append(init_line(event.info, self._version, event.user_uuids, self._messages.uuid_of(tagged)))
        lines += self._echoes
        self._echoes = []
        return lines

    def _turn_ended(self, event: TurnEnded, tagged: Tagged) -> list[Json]:
        self._in_turn = False
        if event.info is not None:
            self._remember_session(event.info)
        if self._muted:
            return []
        from yume_shim.dialects.nested_results import result_line

        session, uuid = self._messages.session_id, self._messages.uuid_of(tagged)
        line = result_line(event, self._results, self._reported, session, uuid)
        self._results += 1
        self._reported = {entry.model: entry for entry in event.model_usage}
        return [line, *(self._lifecycle(uuid, "completed") for uuid in event.user_uuids)]

    def _lifecycle(self, uuid: str, state: Literal["queued", "started", "completed", "cancelled"]) -> Json:
        return CommandLifecycleLine(
            command_uuid=uuid, state=state, session_id=self._messages.session_id, uuid=self._ids.uuid()
        )

    def _interrupted(self, event: Interrupted, tagged: Tagged) -> list[Json]:
        if event.reason == "shutdown":  # SIGTERM and SIGHUP end the Claude CLI without marker and without `result`
            self._muted = True
            return []
        if event.reason == "priority":  # the user's next message follows; it needs no marker
            return []
        return [self._messages.text(interrupt_marker(event.phase), tagged)]

    def _compacted(self, event: Compacted, tagged: Tagged) -> list[Json]:
        boundary = compact_boundary_line(event, self._messages.last_uuid, self._messages.session_id)
        text = "\n".join(block.text for block in event.summary.blocks if isinstance(block, Text))
        return [boundary, self._messages.user(text, tagged, synthetic=True)]

    def _session_changed(self, event: SessionChanged, tagged: Tagged) -> Json:
        self._messages.session_id = event.session_id
        self._reported = {}  # the counts restart with the new conversation
        return ConversationResetLine(
            new_conversation_id=event.session_id,
            session_id=event.previous_session_id,
            uuid=self._messages.uuid_of(tagged),
        )

    # ------------------------------------------------------------ messages

    def _prompt(self, event: PromptTaken, tagged: Tagged) -> list[Json]:
        content = event.content if isinstance(event.content, str) else list(event.content)
        if tagged.parent_call_id is not None:
            blocks = [TextBlock(text=content)] if isinstance(content, str) else content
            return [self._messages.user(blocks, tagged)]
        if not event.repeated:
            self._messages.last_uuid = event.uuid or tagged.uuid
        if not event.replay:
            return []
        line = self._messages.user(content, tagged, uuid=event.uuid, replay=True)
        if self._in_turn or event.repeated:
            return [line]
        self._echoes.append(line)
        return []

    def _tool_result(self, event: ToolFinished, tagged: Tagged) -> Json:
        self._answers.forget(event.call.id)
        self._child_models.pop(event.call.id, None)
        return self._messages.user([result_block(event.result)], tagged, structured=event.structured)

    def _model_changed(self, event: ModelChanged, tagged: Tagged) -> list[Json]:
        parent, messages = tagged.parent_call_id, self._messages
        if parent is not None:
            before = self._child_models.get(parent, messages.model)
        else:
            before, messages.model = messages.model, event.model
        if event.reason == "resume":
            return []  # the next init line reports it
        if event.reason == BY_HOST:
            return [messages.command_output(f"Set model to {event.model}", tagged)]
        return [fallback_line(event, before, parent, messages.session_id, messages.uuid_of(tagged))]


_OF_TURN = (SessionReady, TurnStarted, TurnEnded, Interrupted, SessionChanged, LocalCommandDone)
_OF_COMPACTION = (Compacting, CompactEnded, Compacted)


def _is_of_turn(event: Event) -> bool:
    """Is this an event of a turn or of the session, which a subagent does not have?"""
    return isinstance(event, _OF_TURN + _OF_COMPACTION)
