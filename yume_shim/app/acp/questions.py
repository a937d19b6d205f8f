"""The questions of a session to the client, and what its answers mean."""

from __future__ import annotations

import threading

from yume_shim.dialects.acp_state import (
    ACCEPT_EDITS,
    ALLOW_ALWAYS,
    ALLOW_ONCE,
    REJECT_ALWAYS,
    REJECT_ONCE,
    lasting_updates,
)
from yume_shim.gate.approvals import REMEMBER
from yume_shim.types.events import ApprovalAsked
from yume_shim.types.host_reply import HostReply
from yume_shim.types.side_events import (
    ElicitationAsked,
    FileAsked,
    HookAsked,
    PermitAsked,
    ServerMessage,
    TrustAsked,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.app.acp.client import Client
    from yume_shim.host.json_rpc import RpcReply
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import Tagged

    Question = ApprovalAsked | ElicitationAsked | FileAsked
    Answer = Callable[[str, HostReply], bool]

MAX_OPEN = 256
"""Questions that are remembered; those without an answer are forgotten, oldest first."""
REJECTED = "The user rejected this call."
NOT_OFFERED = "the client has no form for this question"


class Questions:
    """`note` runs on every thread of the session, `take` on the reader's; the lock guards the table."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._open: dict[str, Question] = {}
        self.answer: Answer = lambda ask_id, reply: False
        """Ends a question; set when the session is open."""
        self.deny_always: Callable[[ApprovalAsked], None] = lambda asked: None
        """Adds a rule that denies the call from now on; set when the session is open."""

    def note(self, tagged: Tagged) -> None:
        """A listener: remembers a question before it is printed; ends one that the client cannot be asked."""
        event = tagged.event
        if isinstance(event, (ApprovalAsked, FileAsked)) or (
            isinstance(event, ElicitationAsked) and self._client.elicits
        ):
            with self._lock:
                self._open[event.ask_id] = event
                while len(self._open) > MAX_OPEN:
                    self._open.pop(next(iter(self._open)))
        elif isinstance(event, ElicitationAsked):
            self.answer(event.ask_id, HostReply("answered", {"action": "decline"}))
        elif isinstance(event, (TrustAsked, PermitAsked, HookAsked, ServerMessage)):
            self.answer(event.ask_id, HostReply("error", error=NOT_OFFERED))

    def take(self, reply: RpcReply) -> bool:
        """The client's answer; False if the question is none of this session's."""
        with self._lock:
            event = self._open.pop(str(reply.id), None)
        if event is None:
            return False
        self.answer(event.ask_id, self._reply(event, reply))
        return True

    def _reply(self, event: Question, reply: RpcReply) -> HostReply:
        if reply.error:
            return HostReply("error", error=reply.error)
        body = reply.result if isinstance(reply.result, dict) else {}
        if not isinstance(event, ApprovalAsked):
            return HostReply("answered", body)
        outcome = body.get("outcome")
        outcome = outcome if isinstance(outcome, dict) else {}
        if outcome.get("outcome") == "cancelled":
            return HostReply("answered", {"behavior": "deny", "message": REJECTED, "interrupt": True})
        return self._chosen(event, outcome.get("optionId"))

    def _chosen(self, event: ApprovalAsked, option: object) -> HostReply:
        match option:
            case str() if option == ALLOW_ONCE:
                body: Json = {"behavior": "allow"}
            case str() if option == ALLOW_ALWAYS:
                updates = lasting_updates(event)
                body = {"behavior": "allow", "updatedPermissions": updates, REMEMBER: not updates}
            case str() if option == ACCEPT_EDITS:
                update = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
                body = {"behavior": "allow", "updatedPermissions": [update]}
            case str() if option in (REJECT_ONCE, REJECT_ALWAYS):
                if option == REJECT_ALWAYS:
                    self.deny_always(event)
                body = {"behavior": "deny", "message": REJECTED}
            case _:
                return HostReply("error", error=f"the client chose an option that was not offered: {option!r}")
        return HostReply("answered", body)
