"""Routes what the host says to the part that handles it: on the reader's thread, so also in the middle of a turn."""

from __future__ import annotations

from yume_shim.host.input_lines import parse_line
from yume_shim.types.commands import (
    Approve,
    Clear,
    Compact,
    ControlAsk,
    ControlCancel,
    ControlReply,
    EndOfInput,
    HistoryInput,
    Interrupt,
    Nothing,
    Ping,
    SetMode,
    SetModel,
    UserInput,
)
from yume_shim.types.errors import BadLine
from yume_shim.types.events import CommandRefused, InputRejected, LineEchoed, ModeChanged, Pong
from yume_shim.types.outputs import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.engine.session import Session
    from yume_shim.gate.approvals import Approvals
    from yume_shim.host.control import ControlDesk
    from yume_shim.types.commands import Command
    from yume_shim.types.ports import Emit, Gate

TOO_MANY = "too many prompts are waiting: wait for `message_stop` lines before sending more"


class HostCommands:
    """One per process. `take_line` and `end` are the reader's callbacks."""

    def __init__(
        self,
        session: Session,
        approvals: Approvals,
        gate: Gate,
        desk: ControlDesk,
        emit: Emit,
        *,
        flat: bool,
        replay: bool,
    ) -> None:
        self._session, self._approvals, self._gate, self._desk, self._emit = session, approvals, gate, desk, emit
        self._dialect: Literal["flat", "claude"] = "flat" if flat else "claude"
        self._replay = replay

    def take_line(self, line: bytes) -> None:
        """One line of stdin; never raises because of what it says."""
        try:
            command = parse_line(line, self._dialect)
        except BadLine as bad:
            self._emit(InputRejected(bad.message, bad.quote))
            return
        self.take(command)

    def take_long(self, head: bytes) -> None:
        """A line over the size limit was dropped."""
        quote = head[:200].decode("utf-8", "replace")
        self._emit(InputRejected("this line is longer than 64 MiB and was dropped: send less at once", quote))

    def end(self) -> None:
        """stdin is at its end: nobody will answer questions any more."""
        self._approvals.close()
        self._session.submit(EndOfInput())

    def take(self, command: Command) -> None:
        """Do it now, or queue it for the session."""
        match command:
            case UserInput() | HistoryInput() | SetModel() | Compact() | Clear() | EndOfInput():
                if not self._session.submit(command):
                    self._emit(CommandRefused(TOO_MANY))
            case Interrupt():
                self._session.interrupt("user")
            case Ping():
                self._emit(Pong())
            case SetMode(mode):
                self._set_mode(mode)
            case Approve():
                self._approve(command)
            case ControlAsk():
                self._desk.answer(command)
            case ControlReply():
                self._reply(command)
            case ControlCancel() | Nothing():
                pass

    def _set_mode(self, mode: str) -> None:
        try:
            self._gate.set_mode(mode)
        except BadLine as bad:
            self._emit(CommandRefused(bad.message))
            return
        self._emit(ModeChanged(self._gate.mode()))

    def _approve(self, approve: Approve) -> None:
        if approve.approved:
            answer = Answer("allow", approve.input, remember=approve.remember == "session")
        else:
            answer = Answer("deny", message=approve.reason)
        if not self._approvals.answer_by_call(approve.call_id, answer):
            self._emit(CommandRefused(f"no tool call '{approve.call_id}' is waiting for approval"))

    def _reply(self, reply: ControlReply) -> None:
        if self._replay:
            self._emit(LineEchoed(reply.line))
        self._approvals.answer_by_ask(reply.id, _answer_of(reply))


def _answer_of(reply: ControlReply) -> Answer:
    """The body of a can_use_tool answer."""
    if reply.error or reply.body is None:
        return Answer("error", message=reply.error or "the host answered without a body")
    body = reply.body
    updates = body.get("updatedPermissions")
    updates = tuple(u for u in updates if isinstance(u, dict)) if isinstance(updates, list) else ()
    given = body.get("updatedInput")
    match body.get("behavior"):
        case "allow":
            return Answer("allow", given if isinstance(given, dict) else None, updates=updates)
        case "deny":
            return Answer("deny", message=str(body.get("message") or ""), interrupt=body.get("interrupt") is True)
        case other:
            return Answer(
                "error",
                message='the answer to a permission request must be {"behavior":"allow","updatedInput":{…}} or '
                f'{{"behavior":"deny","message":"…"}}, not behavior {other!r}',
            )
