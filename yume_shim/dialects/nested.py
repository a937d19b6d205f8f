"""The nested dialect: the Claude CLI's stream-json lines.

What it remembers: the answer being printed (per parent call, since a subagent's lines come between), the session as
last told, echoes that wait for their turn's init, and the end of an abandoned answer.

The last of these because of the order the Claude CLI keeps when a turn is stopped while text streams: the kept text as
an `assistant` line, the interrupt marker, and only then the stream events that close the answer. Whatever order the
engine tells these in, they come out so.
"""

from __future__ import annotations

from yume_shim.dialects.host_lines import control_response, type_first
from yume_shim.dialects.nested_lines import (
    ask_line,
    compact_boundary_line,
    compact_status_line,
    event_line,
    fallback_line,
    init_line,
    progress_line,
    result_line,
    resume_failed_line,
    synthetic_message,
    system_line,
    task_line,
    user_uuid_fields,
)
from yume_shim.dialects.results import error_text, nested_error_category
from yume_shim.dialects.stream_events import Stream
from yume_shim.types.blocks import Text
from yume_shim.types.events import (
    ApprovalAsked,
    ApprovalWithdrawn,
    BlockDelta,
    BlockEnded,
    BlockStarted,
    CallDenied,
    CommandRefused,
    Compacted,
    CompactEnded,
    Compacting,
    ControlAnswered,
    EntriesWritten,
    InputRejected,
    Interrupted,
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
    SessionChanged,
    SessionReady,
    StartFailed,
    StateChanged,
    TaskEnded,
    TaskStarted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from yume_shim.types.models import Usage
from yume_shim.types.shapes import assistant_block, interrupt_marker, message_usage, result_block, timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import AssistantBlock, Json
    from yume_shim.types.events import ModelUsage, SessionInfo, Tagged
    from yume_shim.types.ports import Ids

BY_HOST = "host"
"""`ModelChanged.reason` when the host asked for it; any other reason is a failover."""


class _Answer:
    """The answer being printed, for one parent call (None = the main conversation)."""

    __slots__ = ("id", "model", "request_id", "usage")

    def __init__(self, id: str, model: str, usage: Usage, request_id: str) -> None:
        self.id = id
        self.model = model
        self.usage = usage
        self.request_id = request_id


class NestedDialect:
    """Events in, stream-json lines out. `version` is the `claude_code_version` that init tells,
    `spent_before` what a resumed session had used when this process began."""

    def __init__(
        self, version: str, ids: Ids, *, partial: bool = False, spent_before: tuple[ModelUsage, ...] = ()
    ) -> None:
        self._version = version
        self._ids = ids
        self._partial = partial
        self._stream = Stream()
        self._session_id = ""
        self._model = ""
        self._in_turn = False
        self._muted = False
        self._fresh_uuids: tuple[str, ...] = ()
        self._answers: dict[str | None, _Answer] = {}
        self._echoes: list[Json] = []
        self._closing: list[Json] = []
        self._beats: dict[str, int] = {}
        self._told: dict[str, ModelUsage] = {entry.model: entry for entry in spent_before}
        self._results = 0
        self._last_uuid = ""
        """Of the last message, printed or not."""

    def feed(self, tagged: Tagged) -> list[Json]:
        """The lines of one event."""
        event = tagged.event
        if type(event) is BlockDelta:  # four of five events are deltas
            return self._delta(event, tagged) if self._partial else []
        if not self._closing:
            return self._render(tagged)
        match event:
            case PartialKept() | ControlAnswered() | LineEchoed() | InputRejected() | CommandRefused() | Pong():
                return self._render(tagged)
            case Interrupted():
                return self._render(tagged) + self._take_closing()
            case _:
                return self._take_closing() + self._render(tagged)

    def _render(self, tagged: Tagged) -> list[Json]:
        event = tagged.event
        match event:
            case BlockDelta():
                return self._delta(event, tagged) if self._partial else []
            case ResponseStarted() | BlockStarted() | BlockEnded() | ResponseEnded() | ResponseDropped():
                return self._answer_event(event, tagged)
            case SessionReady():
                self._learn(event.info)
                return []
            case TurnStarted():
                return self._turn_started(event, tagged)
            case TurnEnded():
                return self._turn_ended(event, tagged)
            case PromptTaken():
                return self._prompt(event, tagged)
            case RequestStarted():
                return [self._own(system_line("status", status="requesting"), tagged)] if self._partial else []
            case PartialKept():
                return self._assistant(event.block, tagged, aborted=event.interrupted)
            case NoteAdded():
                return [self._user([{"type": "text", "text": event.text}], tagged) | {"isSynthetic": True}]
            case ToolFinished():
                line = self._user([result_block(event.result)], tagged)
                return [line if event.structured is None else line | {"tool_use_result": event.structured}]
            case Interrupted():
                return self._interrupted(event, tagged)
            case TurnFailed():
                return [self._failed(event, tagged)]
            case ModelChanged(reason="resume"):
                self._model = event.model
                return []  # init tells it
            case ModelChanged():
                return [self._model_changed(event, tagged)]
            case SessionChanged():
                return [self._session_changed(event, tagged)]
            case Compacting():
                return [self._own(system_line("status", status="compacting"), tagged)]
            case CompactEnded():
                return [self._own(compact_status_line(event), tagged)]
            case Compacted():
                return self._compacted(event, tagged)
            case LocalCommandDone():
                return [self._local_answer(event, tagged)]
            case TaskStarted() | TaskEnded():
                return [self._own(task_line(event), tagged)]
            case StateChanged():
                line = system_line("session_state_changed", state=event.state, sdk_host_only=True)
                return [self._own(line, tagged)]
            case PromptWithdrawn():
                return [self._lifecycle(event.uuid, "cancelled")]
            case CallDenied(reason_type="deniedPath"):
                return []  # a path that rules hide is refused like a wrong input there: the result says it
            case Retrying() | CallDenied() | ModeChanged() | Notice() | InputRejected() | CommandRefused():
                return [self._own(event_line(event), tagged)]
            case ToolProgress():
                beat = self._beats[event.call.id] = self._beats.get(event.call.id, -1) + 1
                return [self._own(progress_line(event, beat), tagged)]
            case ApprovalAsked():
                return [ask_line(event)]
            case ApprovalWithdrawn():
                return [{"type": "control_cancel_request", "request_id": event.ask_id}]
            case ControlAnswered():
                return [control_response(event)]
            case LineEchoed():
                return [type_first(event.line)]
            case EntriesWritten():
                return [{"type": "transcript_mirror", "filePath": event.path, "entries": list(event.entries)}]
            case ResumeFailed():
                return [resume_failed_line(event) | {"uuid": tagged.uuid}]
            case Pong():
                return [{"type": "pong"}]
            case ToolStarted() | ResponseFailed() | StartFailed():
                return []

    # ------------------------------------------------------------ the answer

    def _answer_event(
        self, event: ResponseStarted | BlockStarted | BlockEnded | ResponseEnded | ResponseDropped, tagged: Tagged
    ) -> list[Json]:
        # A subagent's answer is told in whole blocks only, as the Claude CLI does.
        streamed = self._partial and tagged.parent_call_id is None
        match event:
            case ResponseStarted():
                answer = _Answer(event.id or tagged.uuid, event.model, event.usage, event.request_id)
                self._answers[tagged.parent_call_id] = answer
                return self._wrap(self._stream.start(event, answer.id), tagged) if streamed else []
            case BlockStarted():
                return self._wrap(self._stream.block_start(event), tagged) if streamed else []
            case BlockEnded():
                lines = self._assistant(event.block, tagged)
                if streamed:
                    lines += self._wrap(self._stream.block_stop(event.index))
                return lines
            case ResponseEnded():
                return self._wrap(self._stream.end(event), tagged) if streamed else []
            case ResponseDropped():
                if streamed:
                    self._closing = self._wrap(self._stream.abandon(event))
                    if self._closing:
                        self._closing[-1]["abandoned_blocks"] = {
                            "api_message_id": self._answers[None].id,
                            "from_block_index": event.from_index,
                        }
                return []

    def _delta(self, event: BlockDelta, tagged: Tagged) -> list[Json]:
        return self._wrap(self._stream.delta(event), tagged) if tagged.parent_call_id is None else []

    def _wrap(self, events: list[Json], tagged: Tagged | None = None) -> list[Json]:
        """Stream events as lines. The first wears the event's own uuid, unless another line already does."""
        answer = self._answers.get(None)
        lines: list[Json] = []
        for event in events:
            uuid = tagged.uuid if tagged is not None and not lines else ""
            lines.append(
                {
                    "type": "stream_event",
                    "event": event,
                    "session_id": self._session_id,
                    "parent_tool_use_id": None,
                    "uuid": uuid or self._ids.uuid(),
                    "api_message_id": answer.id if answer is not None else "",
                }
            )
        return lines

    def _take_closing(self) -> list[Json]:
        lines, self._closing = self._closing, []
        return lines

    def _assistant(self, block: AssistantBlock, tagged: Tagged, *, aborted: bool = False) -> list[Json]:
        shape = assistant_block(block)
        if shape is None:
            return []
        answer = self._answers.get(tagged.parent_call_id)
        if answer is None:
            answer = self._answers[tagged.parent_call_id] = _Answer(self._ids.uuid(), self._model, Usage(), "")
        message: Json = {
            "id": answer.id,
            "type": "message",
            "role": "assistant",
            "model": answer.model,
            "content": [shape],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": message_usage(answer.usage),
            "context_management": None,
        }
        line = self._message_line("assistant", message, tagged)
        if answer.request_id:
            line["request_id"] = answer.request_id
        if aborted:
            line["aborted"] = True
        if tagged.parent_call_id is None and self._fresh_uuids:
            line |= user_uuid_fields(self._fresh_uuids)
            self._fresh_uuids = ()
        return [line]

    # ------------------------------------------------------------ turns

    def _learn(self, info: SessionInfo) -> None:
        self._session_id = info.session_id
        self._model = info.model

    def _turn_started(self, event: TurnStarted, tagged: Tagged) -> list[Json]:
        self._learn(event.info)
        self._in_turn, self._muted = True, False
        self._fresh_uuids = event.user_uuids
        self._beats.clear()
        lines = [self._lifecycle(uuid, state) for uuid in event.user_uuids for state in ("queued", "started")]
        lines.append(self._own(init_line(event.info, self._version, event.user_uuids), tagged))
        lines += self._echoes
        self._echoes = []
        return lines

    def _turn_ended(self, event: TurnEnded, tagged: Tagged) -> list[Json]:
        self._in_turn = False
        if event.info is not None:
            self._learn(event.info)
        if self._muted:
            return []
        line = self._own(result_line(event, self._results, self._told), tagged)
        self._results += 1
        self._told = {entry.model: entry for entry in event.model_usage}
        return [line, *(self._lifecycle(uuid, "completed") for uuid in event.user_uuids)]

    def _lifecycle(self, uuid: str, state: str) -> Json:
        return {
            "type": "command_lifecycle",
            "command_uuid": uuid,
            "state": state,
            "session_id": self._session_id,
            "uuid": self._ids.uuid(),
        }

    def _interrupted(self, event: Interrupted, tagged: Tagged) -> list[Json]:
        if event.reason == "shutdown":  # SIGTERM and SIGHUP end the Claude CLI without marker and without `result`
            self._muted = True
            return []
        if event.reason == "priority":  # the message that pushed in is the user's word; no marker beside it
            return []
        return [self._user([{"type": "text", "text": interrupt_marker(event.phase)}], tagged)]

    def _synthetic(self, text: str, tagged: Tagged) -> Json:
        """An `assistant` line that no model wrote."""
        return self._message_line("assistant", synthetic_message(text, tagged.uuid), tagged)

    def _failed(self, event: TurnFailed, tagged: Tagged) -> Json:
        failure = event.failure
        line = self._synthetic(error_text(failure), tagged)
        line |= {
            "error": nested_error_category(failure),
            "is_api_error_message": True,
            "api_error_status": failure.status,
        }
        if failure.provider_code:
            line["api_error_type"] = failure.provider_code
        return line

    def _compacted(self, event: Compacted, tagged: Tagged) -> list[Json]:
        boundary = self._own(compact_boundary_line(event, self._last_uuid), tagged)
        boundary["uuid"] = event.boundary_uuid
        text = "\n".join(block.text for block in event.summary.blocks if isinstance(block, Text))
        return [boundary, self._user(text, tagged) | {"isSynthetic": True}]

    def _local_answer(self, event: LocalCommandDone, tagged: Tagged) -> Json:
        if event.failed:
            return self._synthetic(event.text, tagged)
        return self._user(f"<local-command-stdout>{event.text}</local-command-stdout>", tagged) | {"isReplay": True}

    # ------------------------------------------------------------ the user's side

    def _prompt(self, event: PromptTaken, tagged: Tagged) -> list[Json]:
        if not event.repeated:
            self._last_uuid = event.uuid or tagged.uuid
        content = event.content if isinstance(event.content, str) else list(event.content)
        if tagged.parent_call_id is not None:
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            return [self._user(blocks, tagged)]
        if not event.replay:
            return []
        line = self._user(content, tagged) | {"isReplay": True}
        if event.uuid:
            line["uuid"] = event.uuid
        if self._in_turn or event.repeated:
            return [line]
        self._echoes.append(line)
        return []

    def _model_changed(self, event: ModelChanged, tagged: Tagged) -> Json:
        before, self._model = self._model, event.model
        if event.reason != BY_HOST:
            return self._own(fallback_line(event, before), tagged)
        text = f"<local-command-stdout>Set model to {event.model}</local-command-stdout>"
        return self._user(text, tagged) | {"isReplay": True}

    def _session_changed(self, event: SessionChanged, tagged: Tagged) -> Json:
        """Told under the old id; everything after it wears the new one."""
        line: Json = {"type": "conversation_reset", "new_conversation_id": event.session_id, "trigger": "clear"}
        line = self._own(line, tagged)
        line["session_id"] = event.previous_session_id
        self._session_id = event.session_id
        self._told = {}  # the figures begin anew with the conversation
        return line

    def _user(self, content: str | list[Json], tagged: Tagged) -> Json:
        return self._message_line("user", {"role": "user", "content": content}, tagged)

    def _message_line(self, kind: str, message: Json, tagged: Tagged) -> Json:
        uuid = tagged.uuid or self._ids.uuid()
        if tagged.parent_call_id is None:
            self._last_uuid = uuid
        return {
            "type": kind,
            "message": message,
            "parent_tool_use_id": tagged.parent_call_id,
            "session_id": self._session_id,
            "uuid": uuid,
            "timestamp": timestamp(tagged.at),
        }

    def _own(self, line: Json, tagged: Tagged) -> Json:
        """A line with what all lines have."""
        line["session_id"] = self._session_id
        line["uuid"] = tagged.uuid or self._ids.uuid()
        return line
