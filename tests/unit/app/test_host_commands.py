"""Every line of the host reaches the part that handles it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.helpers.engine_fakes import SPEC, Bench, ScriptedProvider, TableGate, info, says
from tests.helpers.fakes import cancel
from yume_shim.app.host_commands import NO_BODY, TOO_MANY, HostCommands
from yume_shim.engine.inbox import MAX_WAITING
from yume_shim.engine.session import Session
from yume_shim.host.control import ControlResponder
from yume_shim.host.host_requests import HostRequests
from yume_shim.text import codec
from yume_shim.types.commands import EndOfInput
from yume_shim.types.errors import BadLine
from yume_shim.types.events import (
    CommandRefused,
    ControlAnswered,
    InputRejected,
    Interrupted,
    LineEchoed,
    ModeChanged,
    Notice,
    Pong,
    PromptTaken,
    TurnEnded,
)
from yume_shim.types.host_reply import HostReply

DEADLINE_S = 5.0


class Gate(TableGate):
    """Knows one other mode."""

    now = "default"

    def mode(self) -> str:
        return self.now

    def set_mode(self, mode: str) -> None:
        if mode != "plan":
            raise BadLine(f"no mode {mode}", code="invalid_mode")
        self.now = mode


class Host:
    """The commands of a session with a scripted model."""

    def __init__(self, *scripts: list[Any], flat: bool = True, replay: bool = False) -> None:
        self.bench = Bench(ScriptedProvider(*scripts))
        self.session = Session(self.bench.services, SPEC, "s-1", lambda _: SPEC, info)
        self.questions = HostRequests(self.bench.emit, self.bench.ids)
        handlers = {"echo": lambda body: {"got": body["x"]}}
        self.commands = HostCommands(
            self.session,
            self.questions,
            Gate(),
            ControlResponder(self.bench.emit, handlers, self.bench.services.log),
            self.bench.emit,
            flat=flat,
            replay=replay,
        )

    def send(self, **line: Any) -> None:
        self.commands.take_line(codec.dumps(line))

    def ask(self, key: str = "") -> tuple[threading.Thread, list[HostReply]]:
        """Open a question on a separate thread."""
        replies: list[HostReply] = []
        before = len(self.bench.of(Notice))

        def ask() -> None:
            question = self.questions.ask(
                lambda ask_id: Notice("question", ask_id), timeout_s=DEADLINE_S, cancel=cancel(), key=key
            )
            replies.append(question)

        thread = threading.Thread(target=ask)
        thread.start()
        while len(self.bench.of(Notice)) == before:
            pass
        return thread, replies

    def ask_id(self) -> str:
        return str(self.bench.of(Notice)[-1].text)


def test_prompts_are_queued_for_the_session() -> None:
    host = Host(says("one"), says("two"))
    host.send(type="user", content="a")
    host.send(type="user", content="b")
    assert host.bench.events == []
    host.commands.end()
    host.session.run()
    assert [event.content for event in host.bench.of(PromptTaken)] == ["a", "b"]
    assert len(host.bench.of(TurnEnded)) == 2


def test_too_many_prompts() -> None:
    host = Host()
    for _ in range(MAX_WAITING):
        host.send(type="user", content="a")
    assert host.bench.events == []
    host.send(type="user", content="a")
    assert host.bench.events == [CommandRefused(TOO_MANY)]


def test_an_interrupt_stops_the_turn_that_is_about_to_start() -> None:
    host = Host(says("one"))
    host.send(type="user", content="a")
    host.send(type="interrupt")
    host.commands.end()
    host.session.run()
    assert len(host.bench.of(Interrupted)) == 1


def test_a_ping_is_answered_at_once() -> None:
    host = Host()
    host.send(type="ping")
    assert host.bench.events == [Pong()]


def test_the_mode_changes_at_once_or_is_refused() -> None:
    host = Host()
    host.send(type="set_permission_mode", mode="plan")
    host.send(type="set_permission_mode", mode="nope")
    assert host.bench.events == [ModeChanged("plan"), CommandRefused("no mode nope")]


def test_a_control_request_is_answered() -> None:
    host = Host()
    host.send(type="control_request", request_id="r", request={"subtype": "echo", "x": 1})
    assert host.bench.events == [ControlAnswered("r", {"got": 1})]


@pytest.mark.parametrize(
    ("flat", "line", "rejected"),
    [
        (True, b"{broken", True),
        (True, b'{"type":"nonsense"}', True),
        (False, b'{"type":"nonsense"}', False),
        (False, b"{broken", True),
        (True, b'{"type":"keep_alive"}', False),
        (True, b'{"type":"control_cancel_request","request_id":"r"}', False),
        (True, b"", False),
    ],
)
def test_invalid_and_unknown_lines(flat: bool, line: bytes, rejected: bool) -> None:
    host = Host(flat=flat)
    host.commands.take_line(line)
    assert [type(event) for event in host.bench.events] == [InputRejected] * rejected
    assert all(event.quote == line.decode() for event in host.bench.of(InputRejected))


def test_a_line_that_is_too_long() -> None:
    host = Host()
    host.commands.take_long(b"a" * 1_000)
    [rejected] = host.bench.of(InputRejected)
    assert "64 MiB" in rejected.message
    assert rejected.quote == "a" * 199 + "…"


# ---------------------------------------------------------------- answers to questions


@pytest.mark.parametrize(
    ("response", "reply"),
    [
        ({"subtype": "success", "response": {"a": 1}}, HostReply("answered", {"a": 1})),
        ({"subtype": "error", "error": "no"}, HostReply("error", error="no")),
        ({"subtype": "success"}, HostReply("error", error=NO_BODY)),
        ({"subtype": "success", "response": "text"}, HostReply("error", error=NO_BODY)),
    ],
)
def test_a_control_response_ends_the_question_of_its_id(response: dict[str, Any], reply: HostReply) -> None:
    host = Host(flat=False)
    thread, replies = host.ask()
    host.send(type="control_response", response={**response, "request_id": "another"})
    host.send(type="control_response", response={**response, "request_id": host.ask_id()})
    thread.join(DEADLINE_S)
    assert replies == [reply]


def test_a_flat_approval_ends_the_question_of_its_call() -> None:
    host = Host()
    thread, replies = host.ask(key="call_1")
    host.send(type="tool_approval", id="call_1", approved=False, reason="no")
    thread.join(DEADLINE_S)
    assert replies == [HostReply("answered", {"behavior": "deny", "message": "no"})]


def test_a_flat_approval_of_a_call_that_does_not_wait_is_refused() -> None:
    host = Host()
    host.send(type="tool_approval", id="call_1", approved=True)
    assert host.bench.events == [CommandRefused("no tool call 'call_1' is waiting for approval")]


@pytest.mark.parametrize("replay", [True, False])
def test_answers_are_echoed_if_the_setting_is_on(replay: bool) -> None:
    host = Host(flat=False, replay=replay)
    line = {"type": "control_response", "response": {"subtype": "success", "request_id": "r", "response": {}}}
    host.send(**line)
    assert host.bench.of(LineEchoed) == [LineEchoed(line)] * replay


def test_the_end_of_input_closes_questions_and_ends_the_session() -> None:
    host = Host()
    thread, replies = host.ask()
    host.commands.end()
    thread.join(DEADLINE_S)
    assert replies == [HostReply("closed")]
    host.session.run()
    host.commands.take(EndOfInput())
    assert host.bench.of(TurnEnded) == []
