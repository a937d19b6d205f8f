"""The engine's debug messages: decisions about retries, and tool calls with the gate's decision. Loaded only when debug
messages are written. They name tools, decisions, sizes and times, never what a call or its result contains."""

from __future__ import annotations

import re

from yume_shim.text.log_entry import log_entry
from yume_shim.types.blocks import Document, Image, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.engine.call_pipeline import JudgedCall
    from yume_shim.text.log_entry import LogEntry
    from yume_shim.types.blocks import ToolCall, ToolResult
    from yume_shim.types.errors import Failure
    from yume_shim.types.events import ToolFinished
    from yume_shim.types.models import Backoff

_NAME = re.compile(r"[\w.:-]{1,128}", re.ASCII)


def retry_entry(failure: Failure, done: int, backoff: Backoff, wait: float | None) -> LogEntry:
    """Whether a failed request is sent again."""
    if wait is not None:
        decision = "send again"
    elif not failure.retryable:
        decision = "give up: sending it again cannot help"
    elif done >= backoff.retries:
        decision = "give up: no retries left"
    else:
        decision = "give up: the provider asks for a longer wait than allowed"
    return log_entry(
        "retry",
        decision=decision,
        kind=failure.kind,
        status=failure.status,
        request_id=failure.request_id,
        retries_done=done,
        max_retries=backoff.retries,
        wait_ms=None if wait is None else round(wait * 1000),
        retry_after_ms=failure.retry_after_ms,
    )


def judged_entry(judged: JudgedCall) -> LogEntry:
    """What the gate decided about a call. A rule is named by its tool: its content may be the approved command."""
    decision = judged.decision
    rule = decision.reason.partition("(")[0] if decision.reason_type in ("rule", "deniedPath") else ""
    return log_entry(
        "tool_decision",
        tool=_tool(judged.call),
        call_id=judged.call.id,
        decision="invalid input" if judged.failed is not None else decision.verdict,
        reason=decision.reason_type,
        rule=rule,
        input_fields=sorted(name for name in judged.call.input if _NAME.fullmatch(name)),
        input_chars=len(str(judged.call.input)),
    )


def finished_entry(finished: ToolFinished, took_ms: int) -> LogEntry:
    """How a call ended."""
    return log_entry(
        "tool_result",
        tool=_tool(finished.call),
        call_id=finished.call.id,
        is_error=bool(finished.result.is_error),
        denied=finished.denied or None,
        duration_ms=took_ms,
        result_chars=_size(finished.result),
    )


def _tool(call: ToolCall) -> str:
    return call.name if _NAME.fullmatch(call.name) else "(not a tool name)"


def _size(result: ToolResult) -> int:
    if isinstance(result.content, str):
        return len(result.content)
    total = 0
    for part in result.content:
        match part:
            case Text(text):
                total += len(text)
            case Image() | Document():
                total += len(part.data or "")
    return total
