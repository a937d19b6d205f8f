"""Single lines of the flat dialect that need no memory."""

from __future__ import annotations

from yume_shim.dialects.records.flat_records import (
    ApprovalNeededLine,
    CompactBoundaryLine,
    ErrorLine,
    FlatUsage,
    InitLine,
    McpLine,
    ModelLine,
    PermissionDeniedLine,
    PermissionModeLine,
    ProgressLine,
    PromptJoinedLine,
    ResultLine,
    RetryLine,
    SessionIdLine,
    SessionTitleLine,
    StartErrorLine,
    ToolResultLine,
    ToolUseLine,
    TurnStartedLine,
    UsageLine,
    WarningLine,
)
from yume_shim.types.blocks import Document, Image, Text
from yume_shim.types.events import (
    CallDenied,
    Compacted,
    ModeChanged,
    ModelChanged,
    Notice,
    PromptTaken,
    Retrying,
    ServersChanged,
    SessionChanged,
    StartFailed,
    TitleChanged,
    ToolProgress,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.dialects.records.live_records import Patch
    from yume_shim.types.blocks import Json, ToolCall, ToolResult
    from yume_shim.types.errors import Failure
    from yume_shim.types.events import (
        ApprovalAsked,
        SessionInfo,
        ToolFinished,
        TurnEnded,
    )
    from yume_shim.types.file_patch import FilePatch
    from yume_shim.types.models import Usage
    from yume_shim.types.permission_records import PermissionUpdate
    from yume_shim.types.side_events import QuestionWithdrawn
    from yume_shim.types.tasks import TaskOrigin

    SystemEvent = (
        Retrying
        | ToolProgress
        | CallDenied
        | ModeChanged
        | ModelChanged
        | SessionChanged
        | ServersChanged
        | Notice
        | Compacted
        | StartFailed
        | TitleChanged
        | PromptTaken
    )
    """Events that are one `system` line."""


def init_line(info: SessionInfo, version: str) -> Json:
    """`system/init`."""
    return InitLine(
        session_id=info.session_id,
        provider=info.provider,
        model=info.model,
        cwd=info.cwd,
        permissionMode=info.permission_mode,
        tools=list(info.tools),
        mcp_servers=list(info.mcp_servers),
        slash_commands=list(info.slash_commands),
        skills=list(info.skills) or None,
        plugins=list(info.plugins) or None,
        plugin_errors=list(info.plugin_errors) or None,
        left_out=list(info.left_out) or None,  # type: ignore[arg-type]  # LeftOut.line makes them
        version=version,
        resumed=info.resumed,
        output_style=info.output_style if info.output_style != "default" else None,
    )


def system_line(event: SystemEvent) -> Json:
    """The `system` line of an event."""
    match event:
        case Retrying():
            return RetryLine(
                attempt=event.attempt,
                max_retries=event.max_retries,
                delay_ms=event.wait_ms,
                code=event.failure.kind,
                status=event.failure.status,
                message=event.failure.message,
            )
        case ToolProgress():
            said = event.report
            return ProgressLine(
                progress=None if said is None else said.progress,
                total=None if said is None else said.total,
                message=(said.message or None) if said is not None else None,
                tool_use_id=event.call.id,
                tool_name=event.call.name,
                elapsed_ms=event.elapsed_ms,
                waiting_for="approval" if event.waiting else None,
            )
        case CallDenied():
            return PermissionDeniedLine(tool_use_id=event.call.id, tool_name=event.call.name, reason=event.message)
        case ModelChanged():
            return ModelLine(provider=event.provider, model=event.model, reason=event.reason)
        case ModeChanged():
            return PermissionModeLine(permissionMode=event.mode)
        case SessionChanged():
            return SessionIdLine(session_id=event.session_id, previous_session_id=event.previous_session_id)
        case Notice():
            from yume_shim.types.warning_text import with_advice

            return WarningLine(message=with_advice(event.text, event.code), code=event.code)
        case Compacted():
            return CompactBoundaryLine(trigger=event.trigger, pre_tokens=event.before, post_tokens=event.after)
        case ServersChanged():
            commands = list(event.commands) or None
            return McpLine(servers=list(event.servers), tools=list(event.tools), commands=commands)
        case StartFailed():
            return StartErrorLine(message=event.message, code=event.code)
        case TitleChanged():
            return SessionTitleLine(title=event.title)
        case PromptTaken():
            return PromptJoinedLine(uuid=event.uuid)


def approval_line(event: ApprovalAsked, room: int) -> Json:
    """`system/approval_needed`; `room` is what a line holds."""
    return ApprovalNeededLine(
        tool_use_id=event.call.id,
        tool_name=event.call.name,
        input=event.call.input,
        reason=event.reason,
        timeout_ms=event.timeout_ms,
        suggested_rules=_rule_texts(event.suggestions) or None,
        scopes=["once", "session", "project", "user"],
        patch=_patch(event.patch, room),
    )


def _rule_texts(suggestions: tuple[PermissionUpdate, ...]) -> list[str]:
    """The suggested rules as settings files write them."""
    found: list[str] = []
    for update in suggestions:
        if update["type"] == "addRules":
            for rule in update["rules"]:
                content = rule.get("ruleContent")
                found.append(rule["toolName"] if content is None else f"{rule['toolName']}({content})")
    return found


def _patch(patch: FilePatch | None, room: int) -> Patch | None:
    if patch is None:
        return None
    from yume_shim.dialects.live_lines import patch_object

    return patch_object(patch, room)


# ---------------------------------------------------------------- failures and results


def failure_line(failure: Failure, provider: str) -> Json:
    """The `error` line of a turn that failed at the provider; `provider` is used for a failure that names none."""
    return ErrorLine(
        message=failure.message,
        code=failure.kind,
        provider=failure.provider or provider,
        retryable=failure.retryable,
        status=failure.status,
        retry_after_ms=failure.retry_after_ms,
        provider_code=failure.provider_code or None,
        request_id=failure.request_id or None,
    )


def result_line(event: TurnEnded, session_id: str, prompt_id: str) -> Json:
    """`result`."""
    from yume_shim.dialects.results import (
        ENDINGS,
        advised_errors,
        agent_usage,
        cost_estimated,
        cost_unknown,
        deferred_call,
        denial_list,
        model_usage,
        origin_of,
    )

    ending = ENDINGS[event.outcome]
    return ResultLine(
        subtype=ending.flat,
        is_error=ending.is_error,
        result=event.text,
        session_id=session_id,
        usage=_token_counts(event.usage),
        total_cost_usd=event.total_cost_usd,
        duration_ms=event.duration_ms,
        duration_api_ms=event.duration_api_ms,
        num_turns=event.num_turns,
        errors=advised_errors(event),
        permission_denials=denial_list(event.denials),
        stop_reason=event.stop_reason,
        modelUsage=model_usage(event.model_usage),
        agentUsage=agent_usage(event.agent_usage),
        cost_unknown=cost_unknown(event),
        cost_estimated=cost_estimated(event),
        deferred_tool_use=deferred_call(event),
        structured_output=event.structured_output,
        request_id=event.failure.request_id or None if event.failure is not None else None,
        prompt_id=prompt_id or None,
        origin=origin_of(event.origin) if event.origin is not None else None,
    )


def turn_started_line(prompt_id: str, origin: TaskOrigin | None) -> Json:
    """`system/turn_started`."""
    if origin is None:
        return TurnStartedLine(prompt_id=prompt_id)
    from yume_shim.dialects.results import origin_of

    return TurnStartedLine(prompt_id=prompt_id, origin=origin_of(origin))


def withdrawal_line(event: QuestionWithdrawn) -> Json:
    """`control_cancel_request`."""
    from yume_shim.dialects.records.nested_records import ControlCancel

    return ControlCancel(request_id=event.ask_id)


def usage_line(usage: Usage) -> Json:
    """`usage`."""
    return UsageLine(**_token_counts(usage))


def _token_counts(usage: Usage) -> FlatUsage:
    return FlatUsage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_creation_input_tokens=usage.cache_write,
        cache_read_input_tokens=usage.cache_read,
        reasoning_tokens=usage.reasoning or None,
        estimated=True if usage.estimated else None,
    )


# ---------------------------------------------------------------- tool results


def tool_use_line(call: ToolCall) -> Json:
    """`tool_use`."""
    return ToolUseLine(id=call.id, name=call.name, input=call.input, input_truncated=True if call.stopped else None)


def tool_result_line(event: ToolFinished, room: int) -> Json:
    """`tool_result`; `room` is what a line holds."""
    result = event.result
    images = None
    if not isinstance(result.content, str):
        from yume_shim.dialects.live_lines import image_objects

        images = image_objects(result, event.call, room) or None
    return ToolResultLine(
        tool_use_id=result.call_id,
        content=flat_content(result),
        is_error=bool(result.is_error),
        patch=_patch(event.patch, room),
        images=images,
    )


def flat_content(result: ToolResult) -> str:
    """A result as one string; media appear as their type and size."""
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
