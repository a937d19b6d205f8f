"""Single lines of the nested dialect that need no memory: `system` lines, questions to the host, results.

`session` and `uuid` are the ids that every line carries.
"""

from __future__ import annotations

from yume_shim.dialects.records.nested_records import (
    CanUseTool,
    ControlRequest,
    FailureLine,
    OutputTokensDetails,
    ResultUsage,
    ResumeFailedLine,
    ServerToolUse,
    SuccessLine,
    ToolProgressLine,
)
from yume_shim.dialects.records.nested_system_records import (
    ApiRetryLine,
    CompactBoundaryLine,
    CompactMetadata,
    InformationalLine,
    InitLine,
    ModelFallbackLine,
    PermissionDeniedLine,
    SessionStateLine,
    StatusLine,
    TaskNotificationLine,
    TaskStartedLine,
)
from yume_shim.dialects.results import (
    ENDINGS,
    denial_list,
    error_list,
    error_text,
    model_usage,
    model_usage_since,
    retry_category,
    terminal_reason,
)
from yume_shim.types.events import (
    CallDenied,
    CommandRefused,
    CompactEnded,
    Compacting,
    InputRejected,
    ModeChanged,
    Notice,
    RequestStarted,
    Retrying,
    StateChanged,
    TaskEnded,
    TaskStarted,
)
from yume_shim.types.message_records import CacheCreation
from yume_shim.types.models import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import (
        ApprovalAsked,
        Compacted,
        ModelChanged,
        ModelUsage,
        ResumeFailed,
        SessionInfo,
        ToolProgress,
        TurnEnded,
    )

    StatusEvent = RequestStarted | Compacting | CompactEnded | ModeChanged
    SystemEvent = Retrying | CallDenied | Notice | InputRejected | CommandRefused


# ---------------------------------------------------------------- the session


def init_line(info: SessionInfo, version: str, user_uuids: tuple[str, ...], uuid: str) -> Json:
    """`system/init`, at the start of every turn."""
    return InitLine(
        cwd=info.cwd,
        session_id=info.session_id,
        tools=list(info.tools),
        mcp_servers=list(info.mcp_servers),
        model=info.model,
        permissionMode=info.permission_mode,
        slash_commands=list(info.slash_commands),
        terminal_slash_commands=[],
        apiKeySource=info.api_key_source,
        claude_code_version=version,
        agents=list(info.agents),
        skills=list(info.skills),
        plugins=[],
        capabilities=[],
        additional_directories=list(info.additional_directories),
        betas=list(info.betas) or None,
        user_message_uuid=user_uuids[-1] if user_uuids else None,
        user_message_uuids=list(user_uuids) or None,
        uuid=uuid,
    )


def status_line(event: StatusEvent, session: str, uuid: str) -> Json:
    """`system/status`."""
    match event:
        case RequestStarted():
            return StatusLine(status="requesting", session_id=session, uuid=uuid)
        case Compacting():
            return StatusLine(status="compacting", session_id=session, uuid=uuid)
        case CompactEnded():
            return StatusLine(
                status=None,
                compact_result="failed" if event.error else "success",
                compact_error=event.error or None,
                session_id=session,
                uuid=uuid,
            )
        case ModeChanged():
            return StatusLine(status=None, permissionMode=event.mode, session_id=session, uuid=uuid)


def state_line(event: StateChanged, session: str, uuid: str) -> Json:
    """`system/session_state_changed`."""
    return SessionStateLine(state=event.state, session_id=session, uuid=uuid)


def task_line(event: TaskStarted | TaskEnded, session: str, uuid: str) -> Json:
    """The start or end of a background command."""
    if isinstance(event, TaskStarted):
        return TaskStartedLine(
            task_id=event.task_id,
            tool_use_id=event.call_id,
            description=event.description,
            is_backgrounded=event.backgrounded,
            session_id=session,
            uuid=uuid,
        )
    return TaskNotificationLine(
        task_id=event.task_id,
        tool_use_id=event.call_id,
        status=event.status,
        output_file=event.output_file,
        summary=event.summary,
        session_id=session,
        uuid=uuid,
    )


def compact_boundary_line(event: Compacted, last_uuid: str, session: str) -> Json:
    """`system/compact_boundary`; `last_uuid` is the last message before it."""
    figures = CompactMetadata(
        trigger=event.trigger,
        pre_tokens=event.before,
        post_tokens=event.after,
        cumulative_dropped_tokens=event.dropped,
        duration_ms=event.duration_ms,
    )
    return CompactBoundaryLine(
        compact_metadata=figures,
        logical_parent_uuid=last_uuid or None,
        session_id=session,
        uuid=event.boundary_uuid,
    )


# ---------------------------------------------------------------- lines that a subagent can cause


def system_line(event: SystemEvent, parent: str | None, session: str, uuid: str) -> Json:
    """The `system` line of an event; `parent` is the call whose subagent caused it."""
    match event:
        case Retrying():
            return ApiRetryLine(
                attempt=event.attempt,
                max_retries=event.max_retries,
                retry_delay_ms=event.wait_ms,
                error_status=event.failure.status,
                error=retry_category(event.failure),
                parent_tool_use_id=parent,
                session_id=session,
                uuid=uuid,
            )
        case CallDenied():
            return PermissionDeniedLine(
                tool_name=event.call.name,
                tool_use_id=event.call.id,
                message=event.message,
                decision_reason_type=event.reason_type or None,
                decision_reason=event.reason or None,
                parent_tool_use_id=parent,
                session_id=session,
                uuid=uuid,
            )
        case Notice() | InputRejected() | CommandRefused():
            content, tag = _warning(event)
            return InformationalLine(
                content=content, tag=tag or None, parent_tool_use_id=parent, session_id=session, uuid=uuid
            )


def _warning(event: Notice | InputRejected | CommandRefused) -> tuple[str, str]:
    """(text, code)"""
    match event:
        case Notice():
            return event.text, event.code
        case InputRejected():
            return f"{event.message} [{event.quote}]" if event.quote else event.message, "bad_input"
        case CommandRefused():
            return event.message, event.code


def fallback_line(event: ModelChanged, before: str, parent: str | None, session: str, uuid: str) -> Json:
    """`system/model_fallback`; `before` is the model that was replaced."""
    return ModelFallbackLine(
        trigger=event.reason,
        original_model=before,
        fallback_model=event.model,
        content=f"Switched from {before} to {event.model} ({event.reason})",
        parent_tool_use_id=parent,
        session_id=session,
        uuid=uuid,
    )


def progress_line(event: ToolProgress, beat: int, session: str, uuid: str) -> Json:
    """`tool_progress`; `beat` counts the heartbeats of the call from 0."""
    return ToolProgressLine(
        tool_use_id=f"{event.call.id}-heartbeat-{beat}",
        tool_name=event.call.name,
        parent_tool_use_id=event.call.id,
        elapsed_time_seconds=event.elapsed_ms // 1000,
        session_id=session,
        uuid=uuid,
    )


def ask_line(event: ApprovalAsked) -> Json:
    """`can_use_tool`."""
    request = CanUseTool(
        tool_name=event.call.name,
        display_name=event.call.name,
        input=event.call.input,
        permission_suggestions=list(event.suggestions),
        tool_use_id=event.call.id,
        description=event.description or None,
        decision_reason=event.reason or None,
        blocked_path=event.blocked_path or None,
    )
    return ControlRequest(request_id=event.ask_id, request=request)


# ---------------------------------------------------------------- results


def result_line(event: TurnEnded, index: int, before: Mapping[str, ModelUsage], session: str, uuid: str) -> Json:
    """`result`; `index` counts the results of this process, `before` is what the models had used at the last one."""
    ending = ENDINGS[event.outcome]
    user_uuids = event.user_uuids
    if ending.nested != "success":
        return FailureLine(
            subtype=ending.nested,
            is_error=ending.is_error,
            duration_ms=event.duration_ms,
            duration_api_ms=event.duration_api_ms,
            num_turns=event.num_turns,
            stop_reason=event.stop_reason,
            total_cost_usd=event.total_cost_usd,
            usage=_turn_usage(event.usage),
            modelUsage=model_usage(event.model_usage),
            permission_denials=denial_list(event.denials),
            result_index=index,
            model_usage_since_last_result=model_usage_since(event.model_usage, before),
            errors=error_list(event),
            terminal_reason=terminal_reason(event) or None,
            local_command=event.local_command or None,
            structured_output=event.structured_output,
            user_message_uuid=user_uuids[-1] if user_uuids else None,
            user_message_uuids=list(user_uuids) or None,
            session_id=session,
            uuid=uuid,
        )
    failure = event.failure if ending.is_error else None
    return SuccessLine(
        is_error=ending.is_error,
        duration_ms=event.duration_ms,
        duration_api_ms=event.duration_api_ms,
        num_turns=event.num_turns,
        stop_reason=event.stop_reason if failure is None else event.stop_reason or "stop_sequence",
        total_cost_usd=event.total_cost_usd,
        usage=_turn_usage(event.usage),
        modelUsage=model_usage(event.model_usage),
        permission_denials=denial_list(event.denials),
        result_index=index,
        model_usage_since_last_result=model_usage_since(event.model_usage, before),
        result=event.text if failure is None else error_text(failure),
        api_error_status=None if failure is None else failure.status,
        api_error_type=None if failure is None else failure.provider_code or None,
        terminal_reason=terminal_reason(event) or None,
        local_command=event.local_command or None,
        structured_output=event.structured_output,
        user_message_uuid=user_uuids[-1] if user_uuids else None,
        user_message_uuids=list(user_uuids) or None,
        session_id=session,
        uuid=uuid,
    )


def resume_failed_line(event: ResumeFailed, uuid: str) -> Json:
    """The `result` of a process that has no conversation to resume."""
    return ResumeFailedLine(
        session_id=event.session_id,
        usage=_turn_usage(Usage()),
        modelUsage={},
        permission_denials=[],
        errors=[event.message],
        uuid=uuid,
    )


def _turn_usage(usage: Usage) -> ResultUsage:
    return ResultUsage(
        input_tokens=usage.input,
        cache_creation_input_tokens=usage.cache_write,
        cache_read_input_tokens=usage.cache_read,
        cache_creation=CacheCreation(
            ephemeral_5m_input_tokens=usage.cache_write - usage.cache_write_1h,
            ephemeral_1h_input_tokens=usage.cache_write_1h,
        ),
        output_tokens=usage.output,
        output_tokens_details=OutputTokensDetails(thinking_tokens=usage.reasoning),
        server_tool_use=ServerToolUse(web_search_requests=usage.web_searches),
        iterations=[],
    )
