"""The Agent Client Protocol as a dialect: events become `session/update` notifications and requests to the client.

Answers to the client's own requests are not events; `app/acp/` writes them. A subagent's calls are shown with the call
that started it in `_meta`; its text is not: it would read as the main answer.
"""

from __future__ import annotations

from yume_shim.dialects import acp_state, acp_tools
from yume_shim.dialects.line_template import TEXT_GAP, TextTemplate
from yume_shim.dialects.records.acp_records import (
    AskedCall,
    CallFacts,
    CallMeta,
    CancelParams,
    CancelRequest,
    CommandsUpdate,
    ConfigUpdate,
    Cost,
    ElicitationParams,
    ElicitationRequest,
    ImageContent,
    InfoUpdate,
    MessageChunk,
    ModeUpdate,
    PermissionParams,
    PermissionRequest,
    PlanEntry,
    PlanUpdate,
    ReadFileParams,
    ReadFileRequest,
    SessionUpdate,
    ToolCallStart,
    ToolCallUpdate,
    UpdateParams,
    UsageUpdate,
    WriteFileParams,
    WriteFileRequest,
    text_update,
)
from yume_shim.types.blocks import Image, Message, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.events import (
    ApprovalAsked,
    ApprovalWithdrawn,
    BlockDelta,
    BlockStarted,
    CommandsChanged,
    LocalCommandDone,
    ModeChanged,
    ModelChanged,
    PromptTaken,
    ResponseEnded,
    ResponseStarted,
    ServersChanged,
    SessionReady,
    TitleChanged,
    ToolFinished,
    ToolStarted,
    TurnEnded,
)
from yume_shim.types.shapes import timestamp
from yume_shim.types.side_events import ElicitationAsked, FileAsked, QuestionWithdrawn
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Final, Literal

    from yume_shim.dialects.acp_state import ModelEntry
    from yume_shim.dialects.records.acp_records import CallContent, ConfigOption, Update
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import SessionInfo, Tagged
    from yume_shim.types.models import Usage

TEXT: Final = "agent_message_chunk"
THOUGHT: Final = "agent_thought_chunk"
USER: Final = "user_message_chunk"
TODOS = "TodoWrite"
EMPTY_FORM: Json = {"type": "object", "properties": {}}
MAX_PLAN = 200
MAX_TITLE = 80
NOTES = ("<system-reminder>", "<task-notification>", "[Request interrupted by user")
"""How texts begin that this program writes on the user's side."""
MAX_CHUNK = 64 * 1024
"""Characters of one chunk of text."""


class AcpDialect:
    """Renders the events of one session. `models` is the client's menu; `bypass`: bypassPermissions may be switched on;
    `titled`: the session has a title already; `elicits`: the client shows forms of MCP servers.

    Nothing is printed before `SessionReady`: the client does not know the session."""

    def __init__(
        self,
        session_id: str,
        cwd: str,
        models: Sequence[ModelEntry] = (),
        *,
        bypass: bool = False,
        titled: bool = False,
        elicits: bool = False,
    ) -> None:
        self._session_id, self._cwd = session_id, cwd
        self._choices = acp_state.Choices(models=tuple(models), bypass=bypass)
        self._titled, self._elicits = titled, elicits
        self._ready = False
        self._commands: tuple[str, ...] = ()
        self._described: tuple[Json, ...] = ()
        self._message = ""
        self._used = 0

    def start(self, info: SessionInfo, commands: tuple[Json, ...] = ()) -> None:
        """Take the facts of a session that was opened; `commands` are its slash commands with descriptions."""
        model = f"{info.provider}/{info.model}"
        self._choices = replace(self._choices, mode=info.permission_mode, model=model)
        self._commands, self._described = info.slash_commands, commands or self._described

    def state(self) -> Json:
        """`modes` and `configOptions` as they are now, for answers."""
        return acp_state.session_state(self._choices)

    def options(self) -> list[ConfigOption]:
        """`configOptions` as they are now."""
        return acp_state.config_options(self._choices)

    def choose_effort(self, effort: str) -> None:
        """The client chose this effort: there is no event for it."""
        self._choices = replace(self._choices, effort=effort)

    def feed(self, tagged: Tagged) -> list[Json]:
        """The messages of one event, usually one or none."""
        made = self._render(tagged)
        return made if self._ready else []

    def delta_lines(self, event: BlockDelta, uuids: Sequence[str]) -> list[bytes] | None:
        """The same for a delta of the main conversation, quickly."""
        kind = event.kind
        if not self._ready or (kind != "text" and kind != "thinking"):
            return []
        pieces = event.pieces or (event.text,)
        if len(max(pieces, key=len)) > MAX_CHUNK or "" in pieces:
            return None
        shown = text_update(self._session_id, THOUGHT if kind == "thinking" else TEXT, TEXT_GAP, self._message)
        return TextTemplate(shown).lines(pieces)

    def _render(self, tagged: Tagged) -> list[Json]:
        event, parent = tagged.event, tagged.parent_call_id
        match event:
            case BlockDelta() if parent is None and event.kind in ("text", "thinking"):
                return self._text(event.text, thought=event.kind == "thinking")
            case BlockStarted(block=Text() | Thinking() as block) if parent is None:
                return self._text(block.text, thought=isinstance(block, Thinking))
            case ResponseStarted() if parent is None:
                self._message = event.id or tagged.uuid
                return []
            case ResponseEnded() if parent is None:
                self._used = _context_of(event.usage)
                return []
            case ToolStarted():
                return [] if event.call.name == TODOS else [self._update(self._started(event.call, parent))]
            case ToolFinished():
                return [self._update(update) for update in self._finished(event, parent)]
            case ApprovalAsked():
                return [self._question(event)]
            case ApprovalWithdrawn() | QuestionWithdrawn():
                return [CancelRequest(params=CancelParams(requestId=event.ask_id))]
            case FileAsked():
                return [self._file_request(event)]
            case ElicitationAsked():
                return [self._elicitation(event)] if self._elicits else []
            case _ if parent is None:
                return self._session_event(tagged)
            case _:
                return []

    def replay(self, history: Iterable[Message]) -> list[Json]:
        """A stored conversation as updates, for a client that loads the session."""
        calls: dict[str, ToolCall] = {}
        made: list[Json] = []
        for place, message in enumerate(history):
            self._message = f"history-{place}"
            for block in message.blocks:
                match block:
                    case Text() if message.role == "user":
                        made += [] if _is_note(block.text) else self._chunks(USER, block.text)
                    case Text():
                        made += self._chunks(TEXT, block.text)
                    case Thinking():
                        made += self._chunks(THOUGHT, block.text)
                    case Image() if message.role == "user" and block.data:
                        made.append(self._update(self._image(block)))
                    case ToolCall():
                        calls[block.id] = block
                        if block.name != TODOS:
                            made.append(self._update(self._started(block, None)))
                    case ToolResult() if block.call_id in calls:
                        finished = ToolFinished(calls.pop(block.call_id), block)
                        made += [self._update(update) for update in self._finished(finished, None)]
                    case _:
                        pass
        self._message = ""
        return made

    # ------------------------------------------------------------ text

    def _text(self, text: str, *, thought: bool) -> list[Json]:
        return self._chunks(THOUGHT if thought else TEXT, text)

    def _chunks(self, kind: str, text: str) -> list[Json]:
        pieces = [text] if len(text) <= MAX_CHUNK else _split(text)
        return [text_update(self._session_id, kind, piece, self._message) for piece in pieces if piece]

    def _image(self, image: Image) -> MessageChunk:
        content = ImageContent(data=image.data, mimeType=image.media_type)
        return MessageChunk(sessionUpdate=USER, content=content, messageId=self._message)

    def _update(self, update: Update) -> Json:
        return SessionUpdate(params=UpdateParams(sessionId=self._session_id, update=update))

    # ------------------------------------------------------------ calls

    def _started(self, call: ToolCall, parent: str | None) -> ToolCallStart:
        return ToolCallStart(
            toolCallId=call.id,
            title=acp_tools.title_of(call, self._cwd),
            kind=acp_tools.kind_of(call.name),
            status="in_progress",
            content=acp_tools.proposed_content(call, self._cwd) or None,
            locations=acp_tools.locations(call, self._cwd) or None,
            rawInput=acp_tools.shown_input(call.input),
            _meta=_meta(call, parent),
        )

    def _finished(self, event: ToolFinished, parent: str | None) -> list[Update]:
        failed = event.result.is_error is True
        if event.call.name == TODOS:
            return [] if failed or parent is not None else [PlanUpdate(entries=_plan(event.call.input))]
        return [
            ToolCallUpdate(
                toolCallId=event.call.id,
                status="failed" if failed else "completed",
                content=acp_tools.finished_content(event, self._cwd) or None,
                _meta=_meta(event.call, parent),
            )
        ]

    # ------------------------------------------------------------ questions

    def _question(self, event: ApprovalAsked) -> Json:
        call = event.call
        asked = AskedCall(
            toolCallId=call.id,
            title=acp_tools.title_of(call, self._cwd),
            kind=acp_tools.kind_of(call.name),
            content=[*acp_tools.proposed_content(call, self._cwd), *_reason(event)] or None,
            locations=acp_tools.locations(call, self._cwd) or None,
            rawInput=acp_tools.shown_input(call.input),
        )
        options = acp_state.permission_options(event)
        params = PermissionParams(sessionId=self._session_id, toolCall=asked, options=options)
        return PermissionRequest(id=event.ask_id, params=params)

    def _file_request(self, event: FileAsked) -> Json:
        session = self._session_id
        if event.text is None:
            return ReadFileRequest(id=event.ask_id, params=ReadFileParams(sessionId=session, path=event.path))
        params = WriteFileParams(sessionId=session, path=event.path, content=event.text)
        return WriteFileRequest(id=event.ask_id, params=params)

    def _elicitation(self, event: ElicitationAsked) -> Json:
        schema = event.params.get("requestedSchema")
        params = ElicitationParams(
            sessionId=self._session_id,
            message=str(event.params.get("message") or f"{event.server} asks"),
            requestedSchema=schema if isinstance(schema, dict) else EMPTY_FORM,
        )
        return ElicitationRequest(id=event.ask_id, params=params)

    # ------------------------------------------------------------ the session

    def _session_event(self, tagged: Tagged) -> list[Json]:
        event = tagged.event
        match event:
            case LocalCommandDone():
                self._message = tagged.uuid
                return self._chunks(TEXT, event.text)
            case TurnEnded():
                self._message = tagged.uuid
                said = self._chunks(TEXT, event.text) if event.outcome == "prompt_blocked" else []
                return [*said, *(self._update(update) for update in self._usage(event))]
            case _:
                return [self._update(update) for update in self._state_updates(tagged)]

    def _state_updates(self, tagged: Tagged) -> list[Update]:
        event = tagged.event
        match event:
            case SessionReady():
                self.start(event.info)
                self._ready = True
                return [CommandsUpdate(availableCommands=acp_state.command_list(self._commands, self._described))]
            case ServersChanged() if event.commands:
                names = (*self._commands, *event.commands)
                return [CommandsUpdate(availableCommands=acp_state.command_list(names, self._described))]
            case CommandsChanged():
                self._described = event.commands
                return [CommandsUpdate(availableCommands=acp_state.command_list((), event.commands))]
            case TitleChanged():
                self._titled = True
                return [InfoUpdate(title=event.title, updatedAt=timestamp(tagged.at))]
            case PromptTaken() if event.origin is None:
                return self._title(event.message, tagged.at)
            case ModeChanged():
                self._choices = replace(self._choices, mode=event.mode)
                return [ModeUpdate(currentModeId=event.mode), ConfigUpdate(configOptions=self.options())]
            case ModelChanged():
                self._choices = replace(self._choices, model=f"{event.provider}/{event.model}")
                return [ConfigUpdate(configOptions=self.options())]
            case _:
                return []

    def _title(self, message: Message, at: float) -> list[Update]:
        text = next((block.text for block in message.blocks if isinstance(block, Text) and block.text.strip()), "")
        if self._titled or not text or text.lstrip().startswith("/"):
            return []
        self._titled = True
        line = text.strip().splitlines()[0]
        title = line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE - 1]}…"
        return [InfoUpdate(title=title, updatedAt=timestamp(at))]

    def _usage(self, event: TurnEnded) -> list[Update]:
        name = self._choices.model.partition("/")[2]
        size = next((used.window for used in event.model_usage if used.model == name), 0)
        size = size or (event.model_usage[-1].window if event.model_usage else 0)
        if not size or not self._used:
            return []
        return [UsageUpdate(used=self._used, size=size, cost=Cost(amount=event.total_cost_usd))]


def _meta(call: ToolCall, parent: str | None) -> CallMeta:
    return CallMeta(yume=CallFacts(toolName=call.name, parentToolCallId=parent))


def _is_note(text: str) -> bool:
    """A text on the user's side that this program wrote: the user never saw it."""
    return text.startswith(NOTES)


def _reason(event: ApprovalAsked) -> list[CallContent]:
    """Why the question is asked, for calls whose content does not show it."""
    if event.call.name in ("ExitPlanMode", "EnterPlanMode") or not event.reason:
        return []
    return [acp_tools.text_content(event.reason)]


def _plan(given: Json) -> list[PlanEntry]:
    todos = given.get("todos")
    return [
        PlanEntry(content=str(todo.get("content", "")), status=_status(todo.get("status")))
        for todo in (todos[:MAX_PLAN] if isinstance(todos, list) else ())
        if isinstance(todo, dict)
    ]


def _status(status: object) -> Literal["pending", "in_progress", "completed"]:
    match status:
        case "in_progress":
            return "in_progress"
        case "completed":
            return "completed"
        case _:
            return "pending"


def _context_of(usage: Usage) -> int:
    return usage.input + usage.cache_read + usage.cache_write + usage.output


def _split(text: str) -> list[str]:
    return [text[start : start + MAX_CHUNK] for start in range(0, len(text), MAX_CHUNK)]
