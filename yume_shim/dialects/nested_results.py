"""The `result` lines of the nested dialect."""

from __future__ import annotations

from yume_shim.dialects.records.result_records import (
    FailureLine,
    OutputTokensDetails,
    ResultFields,
    ResultUsage,
    ResumeFailedLine,
    ServerToolUse,
    SuccessLine,
)
from yume_shim.dialects.results import (
    ENDINGS,
    agent_usage,
    compaction_error,
    cost_estimated,
    cost_unknown,
    deferred_call,
    denial_list,
    error_list,
    error_text,
    model_usage,
    model_usage_since,
    origin_of,
    terminal_reason,
)
from yume_shim.types.models import Usage
from yume_shim.types.shapes import message_usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import ModelUsage, ResumeFailed, TurnEnded


def result_line(event: TurnEnded, index: int, before: Mapping[str, ModelUsage], session: str, uuid: str) -> Json:
    """`result`; `index` counts the results of this process, `before` is what the models had used at the last one."""
    ending = ENDINGS["success" if event.failed_command else event.outcome]
    failure = event.failure if ending.is_error and ending.nested == "success" else None
    user_uuids = event.user_uuids
    shared = ResultFields(
        is_error=ending.is_error,
        duration_ms=event.duration_ms,
        duration_api_ms=event.duration_api_ms,
        num_turns=event.num_turns,
        stop_reason=event.stop_reason if failure is None else event.stop_reason or "stop_sequence",
        total_cost_usd=event.total_cost_usd,
        usage=_turn_usage(event.usage),
        modelUsage=model_usage(event.model_usage),
        agentUsage=agent_usage(event.agent_usage),
        permission_denials=denial_list(event.denials),
        result_index=index,
        cost_unknown=cost_unknown(event),
        cost_estimated=cost_estimated(event),
        model_usage_since_last_result=model_usage_since(event.model_usage, before),
        terminal_reason=terminal_reason(event) or None,
        origin=origin_of(event.origin) if event.origin is not None else None,
        local_command=event.local_command or None,
        deferred_tool_use=deferred_call(event),
        structured_output=event.structured_output,
        request_id=event.failure.request_id or None if event.failure is not None else None,
        user_message_uuid=user_uuids[-1] if user_uuids else None,
        user_message_uuids=list(user_uuids) or None,
        session_id=session,
        uuid=uuid,
    )
    if ending.nested != "success":
        return FailureLine(subtype=ending.nested, errors=error_list(event), **shared)
    return SuccessLine(
        result=_last_part(event) if failure is None else error_text(failure),
        result_parts=list(event.parts) or None if failure is None else None,
        api_error_status=None if failure is None else failure.status,
        api_error_type=None if failure is None else failure.provider_code or None,
        **shared,
    )


def _last_part(event: TurnEnded) -> str:
    if event.failed_command and event.failure is not None:
        return compaction_error(event.failure)
    return event.parts[-1] if event.parts else event.text


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
        **message_usage(usage),
        output_tokens_details=OutputTokensDetails(thinking_tokens=usage.reasoning),
        server_tool_use=ServerToolUse(web_search_requests=usage.web_searches),
        iterations=[],
    )
