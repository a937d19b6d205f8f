"""Questions to the host, with real threads: every way a question can end, and what comes too late."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import FakeIds, cancel
from tests.helpers.timing import PATIENCE, SOON, soon
from yume_shim.gate.approvals import Approvals, describe
from yume_shim.types.blocks import ToolCall
from yume_shim.types.errors import Cancelled
from yume_shim.types.events import ApprovalAsked, ApprovalWithdrawn
from yume_shim.types.outputs import Answer, Decision

if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.events import Event

CALL = ToolCall("call_1", "Write", {"file_path": "/x/w.txt", "content": "w"})
OTHER = ToolCall("call_2", "Bash", {"command": "make", "description": "Build it"})
OFFER = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
DECISION = Decision("ask", "May it?", "mode", "default", (OFFER,), "/x/w.txt")
FIRST_ID = "00000000-0000-4000-8000-000000000001"
SECOND_ID = "00000000-0000-4000-8000-000000000002"
DEADLINE_S = PATIENCE


class Host:
    """Receives events and reacts to them from threads of its own, as a reader thread would."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.on_asked: Callable[[ApprovalAsked], object] = lambda _: None
        self.threads: list[threading.Thread] = []

    def emit(self, event: Event) -> str:
        self.events.append(event)
        if isinstance(event, ApprovalAsked):
            thread = threading.Thread(target=self.on_asked, args=(event,))
            self.threads.append(thread)
            thread.start()
        return "uuid"

    def join(self) -> None:
        for thread in self.threads:
            thread.join(DEADLINE_S)


def make(host: Host, timeout_s: float = DEADLINE_S, enabled: bool = True) -> Approvals:
    return Approvals(host.emit, FakeIds(), timeout_s, enabled)


def test_a_question_carries_what_a_dialog_needs() -> None:
    host = Host()
    approvals = make(host, timeout_s=2.0)
    host.on_asked = lambda asked: approvals.answer_by_ask(asked.ask_id, Answer("allow", {"a": 1}))
    assert approvals.ask(CALL, DECISION, cancel()) == Answer("allow", {"a": 1})
    host.join()
    assert host.events == [ApprovalAsked(FIRST_ID, CALL, "May it?", 2000, (OFFER,), "/x/w.txt", "w.txt")]


def test_an_answer_may_name_the_call_instead_of_the_question() -> None:
    host = Host()
    approvals = make(host)
    host.on_asked = lambda asked: approvals.answer_by_call(asked.call.id, Answer("deny", message="no"))
    assert approvals.ask(CALL, DECISION, cancel()) == Answer("deny", message="no")
    host.join()


def test_only_the_first_answer_counts() -> None:
    host = Host()
    approvals = make(host)
    taken: list[bool] = []

    def answer_thrice(asked: ApprovalAsked) -> None:
        taken.append(approvals.answer_by_ask(asked.ask_id, Answer("deny", message="first")))
        taken.append(approvals.answer_by_ask(asked.ask_id, Answer("allow")))
        taken.append(approvals.answer_by_call(asked.call.id, Answer("allow")))

    host.on_asked = answer_thrice
    assert approvals.ask(CALL, DECISION, cancel()) == Answer("deny", message="first")
    host.join()
    assert taken == [True, False, False]


def test_unknown_answers_change_nothing() -> None:
    host = Host()
    approvals = make(host)

    def answer(asked: ApprovalAsked) -> None:
        assert not approvals.answer_by_ask("no such question", Answer("allow"))
        assert not approvals.answer_by_call("no such call", Answer("allow"))
        approvals.answer_by_ask(asked.ask_id, Answer("deny", message="the real one"))

    host.on_asked = answer
    assert approvals.ask(CALL, DECISION, cancel()) == Answer("deny", message="the real one")
    host.join()


def test_a_question_nobody_answers_times_out_and_a_late_answer_is_refused() -> None:
    host = Host()
    approvals = make(host, timeout_s=0.05)
    assert approvals.ask(CALL, DECISION, cancel()) == Answer("timeout")
    assert not approvals.answer_by_ask(FIRST_ID, Answer("allow"))
    assert not approvals.answer_by_call("call_1", Answer("allow"))


def test_a_late_answer_does_not_fall_to_the_next_question() -> None:
    host = Host()
    approvals = make(host, timeout_s=0.05)
    assert approvals.ask(CALL, DECISION, cancel()) == Answer("timeout")
    host.on_asked = lambda _: approvals.answer_by_ask(FIRST_ID, Answer("allow"))
    assert approvals.ask(OTHER, DECISION, cancel()) == Answer("timeout")
    host.join()


def test_end_of_input_closes_the_open_question_and_all_later_ones() -> None:
    host = Host()
    approvals = make(host)
    host.on_asked = lambda _: approvals.close()
    assert approvals.can_ask()
    assert approvals.ask(CALL, DECISION, cancel()) == Answer("closed")
    host.join()
    assert not approvals.can_ask()
    assert approvals.ask(OTHER, DECISION, cancel()) == Answer("closed")
    assert [type(event) for event in host.events] == [ApprovalAsked]


def test_a_cancel_withdraws_the_question_at_once() -> None:
    host = Host()
    approvals = make(host)
    stop = cancel()
    told: list[float] = []

    def interrupt(_: ApprovalAsked) -> None:
        told.append(time.monotonic())
        stop.set()

    host.on_asked = interrupt
    with pytest.raises(Cancelled):
        approvals.ask(CALL, DECISION, stop)
    assert time.monotonic() - told[0] < SOON
    host.join()
    assert host.events[1:] == [ApprovalWithdrawn(FIRST_ID)]
    assert not approvals.answer_by_ask(FIRST_ID, Answer("allow"))


def test_a_cancel_that_came_before_asks_nothing() -> None:
    host = Host()
    stop = cancel()
    stop.set()
    with pytest.raises(Cancelled):
        make(host).ask(CALL, DECISION, stop)
    assert host.events == []


def test_questions_are_asked_one_after_another() -> None:
    host = Host()
    approvals = make(host)
    answers: dict[str, Answer] = {}
    asked_first = threading.Event()
    may_answer = threading.Event()

    def answer(asked: ApprovalAsked) -> None:
        asked_first.set()
        may_answer.wait(DEADLINE_S)
        approvals.answer_by_ask(asked.ask_id, Answer("deny", message=asked.call.id))

    def work(call: ToolCall) -> None:
        answers[call.id] = approvals.ask(call, DECISION, cancel())

    host.on_asked = answer
    first = threading.Thread(target=work, args=(CALL,))
    first.start()
    assert asked_first.wait(DEADLINE_S)
    second = threading.Thread(target=work, args=(OTHER,))
    second.start()
    second.join(0.2)
    assert [event.ask_id for event in host.events if isinstance(event, ApprovalAsked)] == [FIRST_ID]
    may_answer.set()
    first.join(DEADLINE_S)
    second.join(DEADLINE_S)
    host.join()
    assert answers == {"call_1": Answer("deny", message="call_1"), "call_2": Answer("deny", message="call_2")}
    assert [event.ask_id for event in host.events if isinstance(event, ApprovalAsked)] == [FIRST_ID, SECOND_ID]


def test_a_call_that_waits_to_ask_hears_its_cancel() -> None:
    host = Host()
    approvals = make(host)
    asked = threading.Event()
    host.on_asked = lambda _: asked.set()
    first = threading.Thread(target=lambda: approvals.ask(CALL, DECISION, cancel()))
    first.start()
    assert asked.wait(DEADLINE_S)
    stop = cancel()
    threading.Timer(0.1, stop.set).start()
    with soon(), pytest.raises(Cancelled):
        approvals.ask(OTHER, DECISION, stop)
    approvals.close()
    first.join(DEADLINE_S)
    host.join()


def test_nobody_to_ask() -> None:
    assert not make(Host(), enabled=False).can_ask()


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"command": "make", "description": "Build it"}, "Build it"),
        ({"file_path": "/x/w.txt"}, "w.txt"),
        ({"notebook_path": "C:\\x\\n.ipynb".replace("\\", "/")}, "n.ipynb"),
        ({"path": "src/"}, "src"),
        ({"url": "https://x.org/a"}, "https://x.org/a"),
        ({"file_path": 5}, ""),
        ({}, ""),
    ],
)
def test_the_line_about_a_call(fields: dict[str, object], line: str) -> None:
    assert describe(ToolCall("c", "T", fields)) == line
