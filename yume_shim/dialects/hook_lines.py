"""The lines about hooks, of both JSON dialects. Loaded when the first hook runs."""

from __future__ import annotations

from yume_shim.dialects.records.flat_records import HookLine, WarningLine
from yume_shim.dialects.records.nested_system_records import HookResponseLine, HookStartedLine, InformationalLine
from yume_shim.types.side_events import HookEnded, HookNotice, HookStarted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.side_events import HookEvent

MAX_SHOWN = 20_000
"""Characters of a hook's output in its line."""


def nested_hook_line(event: HookEvent, parent: str | None, session: str, uuid: str) -> Json:
    """`hook_started`, `hook_response` or `informational`."""
    match event:
        case HookStarted():
            return HookStartedLine(
                hook_id=event.hook_id, hook_name=event.name, hook_event=event.event, session_id=session, uuid=uuid
            )
        case HookEnded():
            stdout, stderr = event.stdout[:MAX_SHOWN], event.stderr[:MAX_SHOWN]
            return HookResponseLine(
                hook_id=event.hook_id,
                hook_name=event.name,
                hook_event=event.event,
                output=stdout + stderr,
                stdout=stdout,
                stderr=stderr,
                exit_code=event.code,
                outcome=event.outcome,
                session_id=session,
                uuid=uuid,
            )
        case HookNotice():
            from yume_shim.types.warning_text import with_advice

            return InformationalLine(
                content=with_advice(event.text, event.tag),
                level=event.level,
                tag=event.tag or None,
                hook_no_verdict=event.no_verdict,
                prevent_continuation=True if event.prevents else None,
                parent_tool_use_id=parent,
                session_id=session,
                uuid=uuid,
            )


def flat_hook_line(event: HookEvent) -> Json:
    """`system/hook`, or `system/warning` for a message."""
    match event:
        case HookStarted():
            return HookLine(hook_id=event.hook_id, hook_name=event.name, hook_event=event.event, state="started")
        case HookEnded():
            return HookLine(
                hook_id=event.hook_id,
                hook_name=event.name,
                hook_event=event.event,
                state="ended",
                outcome=event.outcome,
                exit_code=event.code,
            )
        case HookNotice():
            from yume_shim.types.warning_text import with_advice

            return WarningLine(message=with_advice(event.text, event.tag), code=event.tag or "hook")
