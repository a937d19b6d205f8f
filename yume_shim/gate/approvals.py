"""Asks the host whether a tool call may run, one call at a time."""

from __future__ import annotations

import os
import threading

from yume_shim.types.events import ApprovalAsked, ApprovalWithdrawn
from yume_shim.types.host_reply import MAX_WAIT_S, NO_LIMIT, HostReply
from yume_shim.types.outputs import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.blocks import Json, ToolCall
    from yume_shim.types.commands import Approve
    from yume_shim.types.file_patch import FilePatch
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.outputs import Decision
    from yume_shim.types.ports import Cancel, Emit, HostChannel

QUEUE_SLICE_S = 0.05
"""How often a call that waits for its turn to ask looks at its cancel signal."""
REMEMBER, RULES = "!remember", "!rules"
"""The fields of an answer's body for `remember` and `rules` of the flat line; the Claude shape has none."""


class Approvals:
    """Implements `types.ports.Asker`. `ask` runs on the threads of tool calls; the lock allows one question at a time,
    because hosts show one dialog at a time."""

    def __init__(self, host: HostChannel, timeout_s: float, host_answers: Callable[[], bool]) -> None:
        """`timeout_s` 0 = without a limit."""
        self._host = host
        self._timeout_s = min(timeout_s, MAX_WAIT_S) if timeout_s > 0 else NO_LIMIT
        self._host_answers = host_answers
        self._turn = threading.Lock()

    def can_ask(self) -> bool:
        """False if the host does not answer questions, or can no longer answer."""
        return self._host_answers() and self._host.is_open()

    def ask(
        self,
        call: ToolCall,
        spec: ToolSpec,
        decision: Decision,
        cancel: Cancel,
        *,
        emit: Emit | None = None,
        patch: FilePatch | None = None,
    ) -> Answer:
        """Ask the host and wait for the answer. Raises Cancelled, after withdrawing the question."""

        def announce(ask_id: str) -> ApprovalAsked:
            return ApprovalAsked(
                ask_id=ask_id,
                call=call,
                reason=decision.message or decision.reason,
                timeout_ms=0 if self._timeout_s == NO_LIMIT else round(self._timeout_s * 1000),
                suggestions=decision.suggestions,
                blocked_path=decision.blocked_path,
                description=describe(call, spec),
                patch=patch,
            )

        while not self._turn.acquire(timeout=QUEUE_SLICE_S):
            cancel.check()
        try:
            reply = self._host.ask(
                announce,
                timeout_s=self._timeout_s,
                cancel=cancel,
                withdraw=ApprovalWithdrawn,
                key=call.id,
                emit=emit,
            )
        finally:
            self._turn.release()
        return read_answer(reply)


def read_answer(reply: HostReply) -> Answer:
    """The host's answer to a permission request, as JSON in the Claude CLI's shape."""
    if reply.outcome == "timeout" or reply.outcome == "closed":
        return Answer(reply.outcome)
    if reply.outcome == "error":
        return Answer("error", message=reply.error)
    body = reply.body
    updates = body.get("updatedPermissions")
    updates = tuple(u for u in updates if isinstance(u, dict)) if isinstance(updates, list) else ()
    given = body.get("updatedInput")
    match body.get("behavior"):
        case "allow":
            scope, rules = body.get(REMEMBER, ""), body.get(RULES, ())
            changed = given if isinstance(given, dict) else None
            return Answer("allow", changed, updates=updates, remember=scope, rules=rules)
        case "deny":
            return Answer("deny", message=str(body.get("message") or ""), interrupt=body.get("interrupt") is True)
        case other:
            return Answer(
                "error",
                message='the answer to a permission request must be {"behavior":"allow","updatedInput":{…}} or '
                f'{{"behavior":"deny","message":"…"}}, not behavior {other!r}',
            )


def reply_of(approve: Approve) -> HostReply:
    """The flat `tool_approval` line as a reply in the shape that `read_answer` reads."""
    body: Json = {"behavior": "deny", "message": approve.reason}
    if approve.approved:
        body = {"behavior": "allow", "updatedInput": approve.input}
        body |= {REMEMBER: approve.remember, RULES: approve.rules}
    return HostReply("answered", body)


def describe(call: ToolCall, spec: ToolSpec) -> str:
    """A short line about the call for a dialog: its own description, or the name of what it touches."""
    field = spec.describing_field
    text = call.input.get(field) if field else None
    if not isinstance(text, str):
        return ""
    return os.path.basename(text.rstrip("/\\")) if field == spec.path_field else text
