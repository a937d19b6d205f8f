"""Single lines of the nested dialect that need no memory: `system` lines, questions to the host, the closing record.

They lack `session_id` and `uuid`, which `nested.py` adds.
"""

from __future__ import annotations

from yume_shim.dialects.results import (
    ENDINGS,
    denial_list,
    error_list,
    error_text,
    model_usage,
    model_usage_since,
    retry_category,
    terminal_reason,
    turn_usage,
)
from yume_shim.types.events import (
    CallDenied,
    CommandRefused,
    InputRejected,
    ModeChanged,
    Notice,
    Retrying,
    TaskStarted,
)
from yume_shim.types.models import Usage
from yume_shim.types.shapes import SYNTHETIC_MODEL, message_usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import (
        ApprovalAsked,
        Compacted,
        CompactEnded,
        ModelChanged,
        ModelUsage,
        ResumeFailed,
        SessionInfo,
        TaskEnded,
        ToolProgress,
        TurnEnded,
    )


def init_line(info: SessionInfo, version: str, user_uuids: tuple[str, ...]) -> Json:
    """`system/init`, at the start of every turn. `capabilities` names protocol features by agreement; none is
    claimed."""
    line: Json = {
        "type": "system",
        "subtype": "init",
        "cwd": info.cwd,
        "session_id": info.session_id,
        "tools": list(info.tools),
        "mcp_servers": list(info.mcp_servers),
        "model": info.model,
        "permissionMode": info.permission_mode,
        "slash_commands": list(info.slash_commands),
        "terminal_slash_commands": [],
        "apiKeySource": info.api_key_source,
        "claude_code_version": version,
        "output_style": "default",
        "agents": list(info.agents),
        "skills": list(info.skills),
        "plugins": [],
        "capabilities": [],
        "additional_directories": list(info.additional_directories),
    }
    if info.betas:
        line["betas"] = list(info.betas)
    return line | user_uuid_fields(user_uuids)


def user_uuid_fields(uuids: tuple[str, ...]) -> Json:
    """Which prompts a line belongs to, where the host gave its prompts uuids."""
    return {"user_message_uuid": uuids[-1], "user_message_uuids": list(uuids)} if uuids else {}


def system_line(subtype: str, **fields: object) -> Json:
    """A `system` line."""
    return {"type": "system", "subtype": subtype, **fields}


def warning_line(content: str, tag: str = "") -> Json:
    """A note for people: degraded features, input that was not understood."""
    line = system_line("informational", content=content, level="warning")
    if tag:
        line["tag"] = tag
    return line


def event_line(event: Retrying | CallDenied | ModeChanged | Notice | InputRejected | CommandRefused) -> Json:
    """The `system` line of an event that is told in one."""
    match event:
        case Retrying():
            return retry_line(event)
        case CallDenied():
            return denied_line(event)
        case ModeChanged():
            return system_line("status", status=None, permissionMode=event.mode)
        case Notice():
            return warning_line(event.text, event.code)
        case InputRejected():
            return warning_line(f"{event.message} [{event.quote}]" if event.quote else event.message, "bad_input")
        case CommandRefused():
            return warning_line(event.message, event.code)


def synthetic_message(text: str, uuid: str) -> Json:
    """A message that no model wrote; its id is the one in the transcript."""
    return {
        "id": uuid,
        "type": "message",
        "role": "assistant",
        "model": SYNTHETIC_MODEL,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "usage": message_usage(Usage()),
        "context_management": None,
    }


def retry_line(event: Retrying) -> Json:
    """Before each wait; `error_status` null means that no answer came at all."""
    return system_line(
        "api_retry",
        attempt=event.attempt,
        max_retries=event.max_retries,
        retry_delay_ms=event.wait_ms,
        error_status=event.failure.status,
        error=retry_category(event.failure),
    )


def fallback_line(event: ModelChanged, before: str) -> Json:
    """Another model took over."""
    return system_line(
        "model_fallback",
        trigger=event.reason,
        original_model=before,
        fallback_model=event.model,
        content=f"Switched from {before} to {event.model} ({event.reason})",
    )


def task_line(event: TaskStarted | TaskEnded) -> Json:
    """A command runs on beside the conversation, or has ended."""
    if isinstance(event, TaskStarted):
        return system_line(
            "task_started",
            task_id=event.task_id,
            tool_use_id=event.call_id,
            description=event.description,
            task_type="local_bash",
            is_backgrounded=event.backgrounded,
        )
    return system_line(
        "task_notification",
        task_id=event.task_id,
        tool_use_id=event.call_id,
        status=event.status,
        output_file=event.output_file,
        summary=event.summary,
    )


def denied_line(event: CallDenied) -> Json:
    """A call was refused without asking anybody."""
    line = system_line("permission_denied", tool_name=event.call.name, tool_use_id=event.call.id, message=event.message)
    if event.reason_type:
        line["decision_reason_type"] = event.reason_type
    if event.reason:
        line["decision_reason"] = event.reason
    return line


def progress_line(event: ToolProgress, beat: int) -> Json:
    """A heartbeat of a long call."""
    return {
        "type": "tool_progress",
        "tool_use_id": f"{event.call.id}-heartbeat-{beat}",
        "tool_name": event.call.name,
        "parent_tool_use_id": event.call.id,
        "elapsed_time_seconds": event.elapsed_ms // 1000,
        "heartbeat": True,
    }


def ask_line(event: ApprovalAsked) -> Json:
    """`can_use_tool`. Without `tool_use_id` some hosts allow the call unasked, so it is always there."""
    request: Json = {
        "subtype": "can_use_tool",
        "tool_name": event.call.name,
        "display_name": event.call.name,
        "input": event.call.input,
        "permission_suggestions": list(event.suggestions),
        "tool_use_id": event.call.id,
    }
    if event.description:
        request["description"] = event.description
    if event.reason:
        request["decision_reason"] = event.reason
    if event.blocked_path:
        request["blocked_path"] = event.blocked_path
    return {"type": "control_request", "request_id": event.ask_id, "request": request}


def compact_status_line(event: CompactEnded) -> Json:
    """The summary has come, or has not."""
    if not event.error:
        return system_line("status", status=None, compact_result="success")
    return system_line("status", status=None, compact_result="failed", compact_error=event.error)


def compact_boundary_line(event: Compacted, last_uuid: str) -> Json:
    """What stood before this line is no longer what the model sees. `last_uuid` is its last message."""
    figures: Json = {
        "trigger": event.trigger,
        "pre_tokens": event.before,
        "post_tokens": event.after,
        "cumulative_dropped_tokens": event.dropped,
        "duration_ms": event.duration_ms,
        "estimated": True,
    }
    return system_line("compact_boundary", compact_metadata=figures, logical_parent_uuid=last_uuid or None)


def result_line(event: TurnEnded, index: int, before: Mapping[str, ModelUsage]) -> Json:
    """`result`. `result` stands only on subtype success, `errors` only on the others."""
    ending = ENDINGS[event.outcome]
    line: Json = {
        "type": "result",
        "subtype": ending.nested,
        "is_error": ending.is_error,
        "duration_ms": event.duration_ms,
        "duration_api_ms": event.duration_api_ms,
        "num_turns": event.num_turns,
        "stop_reason": event.stop_reason,
        "total_cost_usd": event.total_cost_usd,
        "usage": turn_usage(event.usage),
        "modelUsage": model_usage(event.model_usage),
        "permission_denials": denial_list(event.denials),
        "result_index": index,
        "model_usage_since_last_result": model_usage_since(event.model_usage, before),
    }
    if ending.nested == "success":
        line |= _success_fields(event, ending.is_error)
    else:
        line["errors"] = error_list(event)
    reason = terminal_reason(event)
    if reason:
        line["terminal_reason"] = reason
    if event.local_command:
        line["local_command"] = event.local_command
    if event.structured_output is not None:
        line["structured_output"] = event.structured_output
    return line | user_uuid_fields(event.user_uuids)


def resume_failed_line(event: ResumeFailed) -> Json:
    """The `result` of a process that has no conversation to continue; it names the session that was asked for."""
    return {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": 0,
        "stop_reason": None,
        "session_id": event.session_id,
        "total_cost_usd": 0,
        "usage": turn_usage(Usage()),
        "modelUsage": {},
        "permission_denials": [],
        "errors": [event.message],
    }


def _success_fields(event: TurnEnded, is_error: bool) -> Json:
    failure = event.failure if is_error else None
    fields: Json = {
        "result": error_text(failure) if failure is not None else event.text,
        "api_error_status": failure.status if failure is not None else None,
    }
    if failure is not None:
        fields["stop_reason"] = event.stop_reason or "stop_sequence"
        if failure.provider_code:
            fields["api_error_type"] = failure.provider_code
    return fields
