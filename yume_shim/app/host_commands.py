"""Passes each line of the host to the part that handles it. Runs on the stdin reader's thread, so also during a
turn."""

from __future__ import annotations

from yume_shim.gate.approvals import reply_of
from yume_shim.host.input_lines import parse_line, quote_line
from yume_shim.host.reader import MAX_INPUT_LINE
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
from yume_shim.types.errors import BadInvocation, BadLine
from yume_shim.types.events import CommandRefused, InputRejected, LineEchoed, ModeChanged, Pong
from yume_shim.types.host_reply import HostReply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.engine.session import Session
    from yume_shim.host.control import ControlResponder
    from yume_shim.host.host_requests import HostRequests
    from yume_shim.types.commands import Command
    from yume_shim.types.ports import Emit, Gate

NO_BODY = "the host answered without a body"
TOO_MANY = "too many prompts are waiting: wait for `message_stop` lines before sending more"


class HostCommands:
    """One per process. `take_line`, `take_long` and `end` are the reader's callbacks."""

    def __init__(
        self,
        session: Session,
        questions: HostRequests,
        gate: Gate,
        responder: ControlResponder,
        emit: Emit,
        *,
        flat: bool,
        replay: bool,
        typed: bool = False,
    ) -> None:
        """`typed`: a person sits at stdin."""
        self._session, self._questions, self._gate, self._emit = session, questions, gate, emit
        self._responder = responder
        self._dialect: Literal["flat", "claude"] = "flat" if flat else "claude"
        self._replay, self._typed = replay, typed

    def take_line(self, line: bytes) -> None:
        """Handle one line of stdin. Never raises, whatever the line contains."""
        try:
            command = parse_line(line, self._dialect)
        except BadLine as bad:
            if self._typed:
                from yume_shim.host.typed_lines import say_how

                if say_how(line):
                    return
            self._emit(InputRejected(bad.message, bad.quote))
            return
        self.take(command)

    def take_long(self, head: bytes) -> None:
        """Report a line that was dropped because it is over the size limit; `head` is its start."""
        quote = quote_line(head)
        self._emit(
            InputRejected(
                f"this line is longer than {MAX_INPUT_LINE >> 20} MiB and was dropped: send less at once", quote
            )
        )

    def end(self) -> None:
        """stdin has ended: close open questions and let the session finish."""
        self._questions.close()
        self._session.submit(EndOfInput())

    def take(self, command: Command) -> None:
        """Carry the command out now, or queue it for the session."""
        match command:
            case UserInput() | HistoryInput() | Compact() | Clear() | EndOfInput():
                self._submit(command)
            case SetModel(model):
                try:
                    self._session.check_model(model)  # a model that cannot be used is refused now, not after the turn
                except BadInvocation as error:
                    self._emit(CommandRefused(error.message, error.kind, error.provider))
                else:
                    self._submit(command)
            case Interrupt():
                self._session.interrupt("user")
            case Ping():
                self._emit(Pong())
            case SetMode(mode):
                self._set_mode(mode)
            case Approve():
                self._approve(command)
            case ControlAsk():
                self._responder.answer(command)
            case ControlReply():
                self._reply(command)
            case ControlCancel() | Nothing():
                pass

    def _submit(self, command: Command) -> None:
        if not self._session.submit(command):
            self._emit(CommandRefused(TOO_MANY))

    def _set_mode(self, mode: str) -> None:
        try:
            self._gate.set_mode(mode)
        except BadLine as bad:
            self._emit(CommandRefused(bad.message))
            return
        self._emit(ModeChanged(self._gate.mode()))

    def _approve(self, approve: Approve) -> None:
        if not self._questions.answer_by_key(approve.call_id, reply_of(approve)):
            self._emit(CommandRefused(f"no tool call '{approve.call_id}' is waiting for approval"))

    def _reply(self, reply: ControlReply) -> None:
        if self._replay:
            self._emit(LineEchoed(reply.line))
        if reply.error or reply.body is None:
            ended = HostReply("error", error=reply.error or NO_BODY)
        else:
            ended = HostReply("answered", reply.body)
        self._questions.answer(reply.id, ended)
