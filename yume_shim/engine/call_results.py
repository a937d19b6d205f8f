"""The results of calls that failed or were not permitted."""

from __future__ import annotations

from yume_shim.types.blocks import ToolResult
from yume_shim.types.errors import HostStopped
from yume_shim.types.events import ToolFinished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.errors import ToolFailed
    from yume_shim.types.outputs import Answer


def failed_result(call: ToolCall, failed: ToolFailed) -> ToolFinished:
    """The result of a call that failed. A failure found before the run is wrapped, as the Claude CLI does."""
    text = f"<tool_use_error>{failed.message}</tool_use_error>" if failed.before_run else failed.message
    structured = failed.structured or f"Error: {failed.message}"
    return ToolFinished(call, ToolResult(call.id, text, is_error=True), structured)


def denied_result(call: ToolCall, message: str) -> ToolFinished:
    """The result of a call that was not permitted."""
    return ToolFinished(call, ToolResult(call.id, message, is_error=True), f"Error: {message}", denied=True)


def refusal(call: ToolCall, answer: Answer) -> ToolFinished:
    """The result of a call that the host did not allow. Raises HostStopped."""
    match answer.verdict:
        case "deny":
            if answer.interrupt:
                raise HostStopped(call)
            text = answer.message or "The host denied this tool use."
        case "timeout":
            text = f"The permission request for {call.name} was not answered in time, so the call was not run."
        case "closed":
            text = "Tool permission request failed: AbortError: Tool permission stream closed before response received"
        case _:
            text = f"Tool permission request failed: Error: {answer.message}"
    return denied_result(call, text)
