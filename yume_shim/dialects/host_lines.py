"""Lines that answer the host and look the same in every JSON dialect."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import ControlAnswered


def control_response(event: ControlAnswered) -> Json:
    """The answer to a control request; it lacks `request_id` when the request did."""
    response: Json = {"subtype": "error" if event.error else "success"}
    if event.request_id is not None:
        response["request_id"] = event.request_id
    if event.error:
        response["error"] = event.error
        if event.error_code:
            response["error_code"] = event.error_code
    elif event.body is not None:
        response["response"] = event.body
    return {"type": "control_response", "response": response}


def type_first(line: Json) -> Json:
    """The same line with `type` as its first key."""
    return {"type": line.get("type"), **{key: item for key, item in line.items() if key != "type"}}
