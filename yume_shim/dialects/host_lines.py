"""Answers to the host's control requests, the same in every JSON dialect."""

from __future__ import annotations

from yume_shim.dialects.records.shared_records import ControlFailure, ControlResponse, ControlSuccess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import ControlAnswered


def control_response(event: ControlAnswered) -> Json:
    """The answer to a control request; it lacks `request_id` when the request did."""
    if event.error:
        return ControlResponse(
            response=ControlFailure(request_id=event.request_id, error=event.error, error_code=event.error_code or None)
        )
    return ControlResponse(response=ControlSuccess(request_id=event.request_id, response=event.body))
