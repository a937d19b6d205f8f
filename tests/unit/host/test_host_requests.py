"""The channel to the host, with real threads: every way a question can end, and answers that come too late."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fakes import FakeIds, cancel
from tests.helpers.timing import SOON
from yume_shim.host.host_requests import MAX_OPEN, TOO_MANY, HostRequests
from yume_shim.types.errors import Cancelled
from yume_shim.types.events import ApprovalWithdrawn, Notice
from yume_shim.types.host_reply import HostReply

if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.events import Event

FIRST_ID = "00000000-0000-4000-8000-000000000001"
SECOND_ID = "00000000-0000-4000-8000-000000000002"
DEADLINE_S = 30.0
YES = HostReply("answered", {"yes": True})
NO = HostReply("answered", {"yes": False})


class Host:
    """Receives the events and reacts to each question on a separate thread, as the reader's thread would."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.threads: list[threading.Thread] = []
        self.react: Callable[[str], object] = lambda _: None
        self.requests = HostRequests(self.emit, FakeIds())

    def emit(self, event: Event) -> str:
        self.events.append(event)
        if isinstance(event, Notice):
            thread = threading.Thread(target=self.react, args=(event.text,))
            self.threads.append(thread)
            thread.start()
        return "uuid"

    def ask(self, timeout_s: float = DEADLINE_S, **more: Any) -> HostReply:
        more.setdefault("cancel", cancel())
        reply = self.requests.ask(question, timeout_s=timeout_s, **more)
        self.join()
        return reply

    def join(self) -> None:
        for thread in self.threads:
            thread.join(DEADLINE_S)


def question(ask_id: str) -> Notice:
    return Notice("question", ask_id)


def test_an_answer() -> None:
    host = Host()
    host.react = lambda ask_id: host.requests.answer(ask_id, YES)
    assert host.ask() == YES
    assert host.events == [Notice("question", FIRST_ID)]


def test_an_error() -> None:
    host = Host()
    host.react = lambda ask_id: host.requests.answer(ask_id, HostReply("error", error="no idea"))
    assert host.ask() == HostReply("error", error="no idea")


def test_an_answer_by_the_other_key() -> None:
    host = Host()
    host.react = lambda _: host.requests.answer_by_key("call_1", YES)
    assert host.ask(key="call_1") == YES


def test_a_question_without_a_key_is_not_found_by_one() -> None:
    host = Host()
    found: list[bool] = []
    host.react = lambda _: found.append(host.requests.answer_by_key("", YES))
    assert host.ask(timeout_s=0.1) == HostReply("timeout")
    assert found == [False]


def test_only_the_first_answer_counts() -> None:
    host = Host()
    taken: list[bool] = []

    def react(ask_id: str) -> None:
        taken.append(host.requests.answer(ask_id, NO))
        taken.append(host.requests.answer(ask_id, YES))
        taken.append(host.requests.answer_by_key("call_1", YES))

    host.react = react
    assert host.ask(key="call_1") == NO
    assert taken == [True, False, False]


def test_answers_for_unknown_ids_change_nothing() -> None:
    host = Host()
    taken: list[bool] = []

    def react(ask_id: str) -> None:
        taken.append(host.requests.answer("no such question", NO))
        taken.append(host.requests.answer_by_key("no such call", NO))
        host.requests.answer(ask_id, YES)

    host.react = react
    assert host.ask(key="call_1") == YES
    assert taken == [False, False]


def test_a_question_without_an_answer_times_out_and_a_late_answer_is_ignored() -> None:
    host = Host()
    assert host.ask(timeout_s=0.05, withdraw=ApprovalWithdrawn) == HostReply("timeout")
    assert not host.requests.answer(FIRST_ID, YES)
    host.react = lambda _: host.requests.answer(FIRST_ID, YES)
    assert host.ask(timeout_s=0.05) == HostReply("timeout")
    assert host.events == [Notice("question", FIRST_ID), Notice("question", SECOND_ID)]


def test_a_cancel_withdraws_the_question_at_once() -> None:
    host = Host()
    stop = cancel()
    stopped_at: list[float] = []

    def react(_: str) -> None:
        stopped_at.append(time.monotonic())
        stop.set()

    host.react = react
    with pytest.raises(Cancelled):
        host.ask(cancel=stop, withdraw=ApprovalWithdrawn)
    assert time.monotonic() - stopped_at[0] < SOON
    host.join()
    assert host.events == [Notice("question", FIRST_ID), ApprovalWithdrawn(FIRST_ID)]
    assert not host.requests.answer(FIRST_ID, YES)


@pytest.mark.parametrize("withdraw", [None, lambda _: None])
def test_a_cancel_without_a_withdrawal_line(withdraw: Any) -> None:
    host = Host()
    stop = cancel()
    host.react = lambda _: stop.set()
    with pytest.raises(Cancelled):
        host.ask(cancel=stop, withdraw=withdraw)
    assert host.events == [Notice("question", FIRST_ID)]


def test_a_cancel_that_came_before_asks_nothing() -> None:
    host = Host()
    stop = cancel()
    stop.set()
    with pytest.raises(Cancelled):
        host.ask(cancel=stop, withdraw=ApprovalWithdrawn)
    assert host.events == []


def test_the_end_of_input_closes_the_open_question_and_all_later_ones() -> None:
    host = Host()
    host.react = lambda _: host.requests.close()
    assert host.requests.is_open()
    assert host.ask() == HostReply("closed")
    assert not host.requests.is_open()
    assert host.ask() == HostReply("closed")
    assert host.events == [Notice("question", FIRST_ID)]


def test_two_questions_at_the_same_time_are_answered_in_any_order() -> None:
    host = Host()
    both_open = threading.Barrier(2)
    replies: dict[str, HostReply] = {}

    def react(ask_id: str) -> None:
        both_open.wait(DEADLINE_S)
        if ask_id == FIRST_ID:  # the second question is answered first
            time.sleep(0.05)
        host.requests.answer(ask_id, HostReply("answered", {"to": ask_id}))

    def work(name: str) -> None:
        replies[name] = host.requests.ask(question, timeout_s=DEADLINE_S, cancel=cancel(), key=name)

    host.react = react
    workers = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
    for worker in workers:
        worker.start()
        time.sleep(0.05)
    for worker in workers:
        worker.join(DEADLINE_S)
    host.join()
    assert replies == {
        "a": HostReply("answered", {"to": FIRST_ID}),
        "b": HostReply("answered", {"to": SECOND_ID}),
    }


def test_a_cancel_ends_its_own_question_only() -> None:
    host = Host()
    stop = cancel()
    ended: list[str] = []

    def cancelled() -> None:
        with pytest.raises(Cancelled):
            host.requests.ask(question, timeout_s=DEADLINE_S, cancel=stop)
        ended.append("cancelled")

    worker = threading.Thread(target=cancelled)
    worker.start()
    while not host.events:
        time.sleep(0.001)

    def react(ask_id: str) -> None:
        stop.set()
        worker.join(DEADLINE_S)
        host.requests.answer(ask_id, YES)

    host.react = react
    assert host.ask() == YES
    assert ended == ["cancelled"]


def test_too_many_open_questions() -> None:
    host = Host()
    stop = cancel()
    opened = threading.Semaphore(0)

    def wait() -> None:
        with pytest.raises(Cancelled):
            host.requests.ask(question, timeout_s=DEADLINE_S, cancel=stop)

    host.react = lambda _: opened.release()
    workers = [threading.Thread(target=wait) for _ in range(MAX_OPEN)]
    for worker in workers:
        worker.start()
    for _ in workers:
        assert opened.acquire(timeout=DEADLINE_S)
    assert host.ask() == HostReply("error", error=TOO_MANY)
    stop.set()
    for worker in workers:
        worker.join(DEADLINE_S)
    host.react = lambda ask_id: host.requests.answer(ask_id, YES)
    assert host.ask() == YES


def test_a_question_through_another_emitter() -> None:
    host, other = Host(), Host()
    stop = cancel()
    other.react = lambda _: stop.set()
    with pytest.raises(Cancelled):
        host.ask(cancel=stop, withdraw=ApprovalWithdrawn, emit=other.emit)
    assert host.events == []
    assert other.events == [Notice("question", FIRST_ID), ApprovalWithdrawn(FIRST_ID)]


def test_an_announcement_that_fails_leaves_no_question_open() -> None:
    host = Host()

    def fail(_: str) -> Notice:
        raise ValueError("cannot be announced")

    with pytest.raises(ValueError, match="cannot be announced"):
        host.requests.ask(fail, timeout_s=DEADLINE_S, cancel=cancel())
    assert not host.requests.answer(FIRST_ID, YES)
