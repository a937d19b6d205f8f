"""The flat dialect: one small object per happening, for hosts that read lines and nothing else.

Long text is split here, because one line becomes several; every other line over the cap is cut by `shrink.py` on its
way out.
"""

from __future__ import annotations

from yume_shim.dialects.host_lines import control_response, type_first
from yume_shim.dialects.results import (
    ENDINGS,
    denial_list,
    error_list,
    flat_usage,
    model_usage,
)
from yume_shim.types.blocks import Document, Image, Text, Thinking
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
from yume_shim.types.settings import FLAT_LINE_BYTES
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json, ToolResult
    from yume_shim.types.errors import Failure
    from yume_shim.types.events import SessionInfo, Tagged
    from yume_shim.types.ports import Ids

PROTOCOL = "flat/1"
LINE_OVERHEAD = 512
"""Room left for everything of a `text` or `thinking` line but the text itself."""
SMALLEST_PIECE = 64
"""Text is never split into less than this many bytes, however low the cap."""
WORST_ESCAPE = 6
"""Bytes a single character can take in JSON: `\\u0001`."""


class FlatDialect:
    """Events in, flat lines out."""

    def __init__(self, info_version: str, ids: Ids, max_line: int = FLAT_LINE_BYTES) -> None:
        self._version = info_version
        self._ids = ids
        self._room = max(max_line - LINE_OVERHEAD, SMALLEST_PIECE)
        self._info: SessionInfo | None = None
        self._answers: dict[str | None, _Answer] = {}

    def feed(self, tagged: Tagged) -> list[Json]:
        """The lines of one event, mostly one or none."""
        event = tagged.event
        parent = tagged.parent_call_id
        if type(event) is BlockDelta:  # four of five events are deltas
            lines = self._delta(event, parent)
        else:
            lines = self._render(tagged)
        if parent is not None:
            for line in lines:
                line["parent_tool_use_id"] = parent
        return lines

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
                usage = event.usage if event.usage_given else replace(event.usage, estimated=True)
                return [{"type": "usage", **flat_usage(usage)}]
            case ResponseDropped():
                lines = self._answer(parent).close(event.open_index)
                # A stopped turn ends with `interrupt`, `result`, `message_stop` and nothing between them; what its last
                # answer used is in `result.usage`.
                if event.usage != Usage() and not event.interrupted:
                    lines.append({"type": "usage", **flat_usage(event.usage)})
                return lines
            case ToolStarted():
                return [{"type": "tool_use", "id": event.call.id, "name": event.call.name, "input": event.call.input}]
            case ToolFinished():
                return [_tool_result(event.result)]
            case TurnFailed():
                return [self._error(event.failure)]
            case Interrupted():
                # A message sent with priority stops the turn for the user; the flat dialect has no fourth word for it.
                reason = "user" if event.reason == "priority" else event.reason
                answer = self._answer(parent)
                return [*answer.close(answer.thinking), {"type": "interrupt", "reason": reason}]
            case TurnEnded():
                return [self._result(event), {"type": "message_stop"}]
            case (
                SessionReady()
                | Retrying()
                | ToolProgress()
                | CallDenied()
                | ApprovalAsked()
                | ModelChanged()
                | SessionChanged()
                | Notice()
                | Compacted()
                | StartFailed()
            ):
                return [self._system(event)]
            case InputRejected() | CommandRefused() | ControlAnswered() | Pong() | LineEchoed():
                return [self._host_line(event)]
            case LocalCommandDone():
                return [self._plain_error(event.text, event.failed)] if event.failed else []
            case (
                PromptTaken()
                | TurnStarted()
                | RequestStarted()
                | ResponseFailed()
                | PartialKept()
                | NoteAdded()
                | ApprovalWithdrawn()
                | ModeChanged()
                | StateChanged()
                | TaskStarted()
                | TaskEnded()
                | PromptWithdrawn()
                | Compacting()
                | CompactEnded()
                | EntriesWritten()
                | ResumeFailed()
            ):
                return []

    def _host_line(self, event: InputRejected | CommandRefused | ControlAnswered | Pong | LineEchoed) -> Json:
        match event:
            case InputRejected():
                quoted = f"{event.message} [{event.quote}]" if event.quote else event.message
                return self._plain_error(quoted, "bad_input")
            case CommandRefused():
                return self._plain_error(event.message, event.code)
            case ControlAnswered():
                return control_response(event)
            case Pong():
                return {"type": "pong"}
            case LineEchoed():
                return type_first(event.line)

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
        return []

    def _delta(self, event: BlockDelta, parent: str | None) -> list[Json]:
        if event.kind == "text":
            return self._text(event.text, event.index, parent)
        if event.kind == "thinking":
            return self._thought(event.text, event.index, parent)
        return []

    def _text(self, text: str, index: int, parent: str | None) -> list[Json]:
        block_id = f"{self._answer(parent).id}:{index}"
        return [{"type": "text", "content": piece, "id": block_id} for piece in self._pieces(text)]

    def _thought(self, text: str, index: int, parent: str | None) -> list[Json]:
        self._answer(parent).thinking = index
        return [{"type": "thinking", "is_thinking": True, "thought": piece} for piece in self._pieces(text)]

    def _pieces(self, text: str) -> list[str]:
        if not text:
            return []
        if len(text) * WORST_ESCAPE <= self._room:
            return [text]
        from yume_shim.text.clip import split_text

        return split_text(text, self._room)

    # ------------------------------------------------------------ single lines

    def _system(
        self,
        event: SessionReady
        | Retrying
        | ToolProgress
        | CallDenied
        | ApprovalAsked
        | ModelChanged
        | SessionChanged
        | Notice
        | Compacted
        | StartFailed,
    ) -> Json:
        match event:
            case SessionReady():
                self._info = event.info
                return _init(event.info, self._version)
            case Retrying():
                line: Json = {
                    "type": "system",
                    "subtype": "retry",
                    "attempt": event.attempt,
                    "max_retries": event.max_retries,
                    "delay_ms": event.wait_ms,
                    "code": event.failure.kind,
                }
                if event.failure.status is not None:
                    line["status"] = event.failure.status
                return line
            case ToolProgress():
                return _about_call("progress", event.call.id, event.call.name) | {"elapsed_ms": event.elapsed_ms}
            case CallDenied():
                return _about_call("permission_denied", event.call.id, event.call.name) | {"reason": event.message}
            case ApprovalAsked():
                return _about_call("approval_needed", event.call.id, event.call.name) | {
                    "input": event.call.input,
                    "reason": event.reason,
                    "timeout_ms": event.timeout_ms,
                }
            case ModelChanged():
                return {
                    "type": "system",
                    "subtype": "model",
                    "provider": event.provider,
                    "model": event.model,
                    "reason": event.reason,
                }
            case SessionChanged():
                return {
                    "type": "system",
                    "subtype": "session_id",
                    "session_id": event.session_id,
                    "previous_session_id": event.previous_session_id,
                }
            case Notice():
                return {"type": "system", "subtype": "warning", "message": event.text, "code": event.code}
            case Compacted():
                return {
                    "type": "system",
                    "subtype": "compact_boundary",
                    "trigger": event.trigger,
                    "pre_tokens": event.before,
                    "post_tokens": event.after,
                    "estimated": True,
                }
            case StartFailed():
                return {"type": "system", "subtype": "error", "message": event.message, "code": event.code}

    def _error(self, failure: Failure) -> Json:
        line: Json = {
            "type": "error",
            "message": failure.message,
            "code": failure.kind,
            "provider": failure.provider or self._provider(),
            "retryable": failure.retryable,
        }
        if failure.status is not None:
            line["status"] = failure.status
        if failure.retry_after_ms is not None:
            line["retry_after_ms"] = failure.retry_after_ms
        if failure.provider_code:
            line["provider_code"] = failure.provider_code
        return line

    def _plain_error(self, message: str, code: str) -> Json:
        return {"type": "error", "message": message, "code": code, "provider": self._provider(), "retryable": False}

    def _provider(self) -> str:
        return self._info.provider if self._info is not None else ""

    def _result(self, event: TurnEnded) -> Json:
        ending = ENDINGS[event.outcome]
        self._info = event.info or self._info
        line: Json = {
            "type": "result",
            "subtype": ending.flat,
            "is_error": ending.is_error,
            "result": event.text,
            "session_id": self._info.session_id if self._info is not None else "",
            "usage": flat_usage(event.usage),
            "total_cost_usd": event.total_cost_usd,
            "duration_ms": event.duration_ms,
            "duration_api_ms": event.duration_api_ms,
            "num_turns": event.num_turns,
            "errors": error_list(event),
            "permission_denials": denial_list(event.denials),
            "stop_reason": event.stop_reason,
            "modelUsage": model_usage(event.model_usage),
        }
        if any(each.usage.estimated or not each.cost_known for each in event.model_usage):
            line["cost_estimated"] = True
        if event.structured_output is not None:
            line["structured_output"] = event.structured_output
        return line


class _Answer:
    """The response that is being printed: its id, and the thinking block that was shown and not yet closed."""

    __slots__ = ("id", "thinking")

    def __init__(self, id: str) -> None:
        self.id = id
        self.thinking: int | None = None

    def close(self, index: int | None) -> list[Json]:
        if index is None or self.thinking != index:
            return []
        self.thinking = None
        return [{"type": "thinking", "is_thinking": False}]


def _init(info: SessionInfo, version: str) -> Json:
    return {
        "type": "system",
        "subtype": "init",
        "session_id": info.session_id,
        "provider": info.provider,
        "model": info.model,
        "cwd": info.cwd,
        "permissionMode": info.permission_mode,
        "tools": list(info.tools),
        "mcp_servers": list(info.mcp_servers),
        "protocol": PROTOCOL,
        "version": version,
        "resumed": info.resumed,
    }


def _about_call(subtype: str, call_id: str, name: str) -> Json:
    return {"type": "system", "subtype": subtype, "tool_use_id": call_id, "tool_name": name}


def _tool_result(result: ToolResult) -> Json:
    return {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": flat_content(result),
        "is_error": bool(result.is_error),
    }


def flat_content(result: ToolResult) -> str:
    """A result as one string; what is not text is named with its type and size."""
    if isinstance(result.content, str):
        return result.content
    return "\n".join(_part(part) for part in result.content)


def _part(part: Text | Image | Document) -> str:
    match part:
        case Text():
            return part.text
        case Image():
            return f"[image: {part.media_type}, {_size(part.data)}]" if part.data else f"[image: {part.url}]"
        case Document():
            if part.media_type == "text/plain":
                return part.data
            name = f" {part.title}" if part.title else ""
            return f"[document{name}: {part.media_type}, {_size(part.data)}]"


def _size(base64: str) -> str:
    count = len(base64) * 3 // 4 - base64[-2:].count("=")
    return f"{count} bytes" if count < 1024 else f"{round(count / 1024)} KB"
