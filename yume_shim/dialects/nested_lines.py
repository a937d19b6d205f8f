"""Single lines of the nested dialect that need no memory: `system` lines and questions to the host.

`session` and `uuid` are the ids that every line carries.
"""

from __future__ import annotations

from yume_shim.dialects.records.nested_records import CanUseTool, ControlRequest, ToolProgressLine
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
)
from yume_shim.types.agents import AGENT_TOOL, TASK_TOOL
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
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import (
        ApprovalAsked,
        Compacted,
        ModelChanged,
        SessionInfo,
        ToolProgress,
    )

    StatusEvent = RequestStarted | Compacting | CompactEnded | ModeChanged
    SystemEvent = Retrying | CallDenied | Notice | InputRejected | CommandRefused


# ---------------------------------------------------------------- the session


def init_line(info: SessionInfo, version: str, user_uuids: tuple[str, ...], uuid: str) -> Json:
    """`system/init`, at the start of every turn."""
    return InitLine(
        cwd=info.cwd,
        session_id=info.session_id,
        tools=[TASK_TOOL if name == AGENT_TOOL else name for name in info.tools],  # its name there
        mcp_servers=list(info.mcp_servers),
        left_out=list(info.left_out) or None,  # type: ignore[arg-type]  # LeftOut.line makes them
        model=info.model,
        permissionMode=info.permission_mode,
        slash_commands=list(info.slash_commands),
        terminal_slash_commands=[],
        apiKeySource=info.api_key_source,
        claude_code_version=version,
        agents=list(info.agents),
        skills=list(info.skills),
        plugins=list(info.plugins),
        plugin_errors=list(info.plugin_errors) or None,
        capabilities=[],
        additional_directories=list(info.additional_directories),
        betas=list(info.betas) or None,
        output_style=info.output_style,
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
            error = event.error
            if event.failure is not None:
                from yume_shim.dialects.results import compaction_error

                error = compaction_error(event.failure)
            return StatusLine(
                status=None,
                compact_result="failed" if error else "success",
                compact_error=error or None,
                session_id=session,
                uuid=uuid,
            )
        case ModeChanged():
            return StatusLine(status=None, permissionMode=event.mode, session_id=session, uuid=uuid)


def state_line(event: StateChanged, session: str, uuid: str) -> Json:
    """`system/session_state_changed`."""
    return SessionStateLine(state=event.state, session_id=session, uuid=uuid)


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


def system_line(event: SystemEvent, parent: str | None, session: str, uuid: str, agent_id: str | None = None) -> Json:
    """The `system` line of an event; `parent` is the call whose subagent caused it, `agent_id` that subagent."""
    match event:
        case Retrying():
            from yume_shim.dialects.results import retry_category

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
                agent_id=agent_id,
                parent_tool_use_id=parent,
                session_id=session,
                uuid=uuid,
            )
        case Notice() | InputRejected() | CommandRefused():
            content, tag = _warning(event)
            return InformationalLine(
                content=content,
                level="warning",
                tag=tag or None,
                parent_tool_use_id=parent,
                session_id=session,
                uuid=uuid,
            )


def _warning(event: Notice | InputRejected | CommandRefused) -> tuple[str, str]:
    """(text, code)"""
    match event:
        case Notice():
            from yume_shim.types.warning_text import with_advice

            return with_advice(event.text, event.code), event.code
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
    """`tool_progress`; `beat` counts these lines of the call from 0."""
    said = event.report
    return ToolProgressLine(
        tool_use_id=f"{event.call.id}-{'heartbeat' if said is None else 'progress'}-{beat}",
        tool_name=event.call.name,
        parent_tool_use_id=event.call.id,
        elapsed_time_seconds=event.elapsed_ms // 1000,
        heartbeat=True if said is None else None,
        progress=None if said is None else said.progress,
        total=None if said is None else said.total,
        message=(said.message or None) if said is not None else None,
        session_id=session,
        uuid=uuid,
    )


def ask_line(event: ApprovalAsked, agent_id: str | None = None) -> Json:
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
        agent_id=agent_id,
    )
    return ControlRequest(request_id=event.ask_id, request=request)
