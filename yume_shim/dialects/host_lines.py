"""Control lines that are the same in every JSON dialect: answers, and questions of hooks and MCP servers."""

from __future__ import annotations

from yume_shim.dialects.records.shared_records import ControlFailure, ControlResponse, ControlSuccess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import ControlAnswered
    from yume_shim.types.side_events import Question


def control_response(event: ControlAnswered) -> Json:
    """The answer to a control request; it lacks `request_id` when the request did."""
    if event.error:
        return ControlResponse(
            response=ControlFailure(request_id=event.request_id, error=event.error, error_code=event.error_code or None)
        )
    return ControlResponse(response=ControlSuccess(request_id=event.request_id, response=event.body))


def question_line(event: Question) -> Json:
    """A control request of a hook or an MCP server, about the trust in a folder, or before a request to a model."""
    from yume_shim.dialects.records.nested_records import (
        ControlRequest,
        Elicitation,
        HookCallback,
        McpMessage,
        RequestPermit,
        TrustFolder,
    )
    from yume_shim.types.side_events import (
        HookAsked,
        PermitAsked,
        ServerMessage,
        TrustAsked,
    )

    if isinstance(event, TrustAsked):
        question = TrustFolder(cwd=event.cwd, left_out=list(event.left_out))  # type: ignore[arg-type]  # LeftOut.line
        return ControlRequest(request_id=event.ask_id, request=question)
    if isinstance(event, PermitAsked):
        permit = RequestPermit(provider=event.provider, model=event.model, spent_usd=event.spent_usd)
        return ControlRequest(request_id=event.ask_id, request=permit)
    if isinstance(event, HookAsked):
        callback = HookCallback(callback_id=event.callback_id, input=event.input, tool_use_id=event.call_id)
        return ControlRequest(request_id=event.ask_id, request=callback)
    if isinstance(event, ServerMessage):
        return ControlRequest(
            request_id=event.ask_id, request=McpMessage(server_name=event.server, message=event.message)
        )
    params = event.params
    request = Elicitation(
        mcp_server_name=event.server,
        message=str(params.get("message", "")),
        mode=_text(params, "mode"),
        url=_text(params, "url"),
        elicitation_id=_text(params, "elicitationId"),
        requested_schema=params.get("requestedSchema") if isinstance(params.get("requestedSchema"), dict) else None,
    )
    return ControlRequest(request_id=event.ask_id, request=request)


def _text(params: Json, name: str) -> str | None:
    found = params.get(name)
    return found if isinstance(found, str) else None
