"""Permission questions to the host: what they say, how answers are read, and that they come one at a time."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import FakeIds, cancel
from tests.helpers.timing import SOON
from yume_shim.gate.approvals import REMEMBER, RULES, Approvals, describe, read_answer, reply_of
from yume_shim.host.host_requests import HostRequests
from yume_shim.tools.dispatch.specs import SPECS
from yume_shim.types.blocks import ToolCall
from yume_shim.types.commands import Approve
from yume_shim.types.errors import Cancelled
from yume_shim.types.events import ApprovalAsked, ApprovalWithdrawn
from yume_shim.types.host_reply import HostReply
from yume_shim.types.models import ToolSpec
from yume_shim.types.outputs import Answer, Decision
from yume_shim.types.permission_records import SetMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import Event

CALL = ToolCall("call_1", "Write", {"file_path": "/x/w.txt", "content": "w"})
OTHER = ToolCall("call_2", "Bash", {"command": "make", "description": "Build it"})
SPEC = next(spec for spec in SPECS if spec.name == "Write")
OFFER = SetMode()
DECISION = Decision("ask", "May it?", "mode", "default", (OFFER,), "/x/w.txt")
FIRST_ID = "00000000-0000-4000-8000-000000000001"
SECOND_ID = "00000000-0000-4000-8000-000000000002"
DEADLINE_S = 30.0
DENY = HostReply("answered", {"behavior": "deny", "message": "no"})


class Host:
    """The real channel, and a host that reacts to each question on a separate thread."""

    def __init__(self, timeout_s: float = DEADLINE_S) -> None:
        self.events: list[Event] = []
        self.threads: list[threading.Thread] = []
        self.on_asked: Callable[[ApprovalAsked], object] = lambda _: None
        self.answers = True
        self.channel = HostRequests(self.emit, FakeIds())
        self.approvals = Approvals(self.channel, timeout_s, lambda: self.answers)

    def emit(self, event: Event) -> str:
        self.events.append(event)
        if isinstance(event, ApprovalAsked):
            thread = threading.Thread(target=self.on_asked, args=(event,))
            self.threads.append(thread)
            thread.start()
        return "uuid"

    def asked_ids(self) -> list[str]:
        return [event.ask_id for event in self.events if isinstance(event, ApprovalAsked)]

    def join(self) -> None:
        for thread in self.threads:
            thread.join(DEADLINE_S)


def test_a_question_carries_what_a_dialog_needs() -> None:
    host = Host(timeout_s=2.0)
    host.on_asked = lambda asked: host.channel.answer(asked.ask_id, DENY)
    assert host.approvals.ask(CALL, SPEC, DECISION, cancel()) == Answer("deny", message="no")
    host.join()
    assert host.events == [ApprovalAsked(FIRST_ID, CALL, "May it?", 2000, (OFFER,), "/x/w.txt", "w.txt")]


def test_an_answer_may_name_the_call_instead_of_the_question() -> None:
    host = Host()
    host.on_asked = lambda asked: host.channel.answer_by_key(asked.call.id, DENY)
    assert host.approvals.ask(CALL, SPEC, DECISION, cancel()) == Answer("deny", message="no")
    host.join()


def test_a_child_loop_asks_through_its_own_emitter() -> None:
    host, child = Host(), Host()
    child.on_asked = lambda asked: host.channel.answer(asked.ask_id, DENY)
    assert host.approvals.ask(CALL, SPEC, DECISION, cancel(), emit=child.emit) == Answer("deny", message="no")
    child.join()
    assert host.events == []
    assert child.asked_ids() == [FIRST_ID]


def test_a_time_out() -> None:
    assert Host(timeout_s=0.05).approvals.ask(CALL, SPEC, DECISION, cancel()) == Answer("timeout")


def test_the_end_of_input() -> None:
    host = Host()
    host.on_asked = lambda _: host.channel.close()
    assert host.approvals.can_ask()
    assert host.approvals.ask(CALL, SPEC, DECISION, cancel()) == Answer("closed")
    host.join()
    assert not host.approvals.can_ask()


def test_a_host_that_does_not_answer_questions() -> None:
    host = Host()
    host.answers = False
    assert not host.approvals.can_ask()


def test_a_cancel_withdraws_the_question() -> None:
    host = Host()
    stop = cancel()
    host.on_asked = lambda _: stop.set()
    with pytest.raises(Cancelled):
        host.approvals.ask(CALL, SPEC, DECISION, stop)
    host.join()
    assert host.events[1:] == [ApprovalWithdrawn(FIRST_ID)]


def test_questions_are_asked_one_after_another() -> None:
    host = Host()
    answers: dict[str, Answer] = {}
    asked_first = threading.Event()
    may_answer = threading.Event()

    def answer(asked: ApprovalAsked) -> None:
        asked_first.set()
        may_answer.wait(DEADLINE_S)
        host.channel.answer(asked.ask_id, HostReply("answered", {"behavior": "deny", "message": asked.call.id}))

    def work(call: ToolCall) -> None:
        answers[call.id] = host.approvals.ask(call, SPEC, DECISION, cancel())

    host.on_asked = answer
    first = threading.Thread(target=work, args=(CALL,))
    first.start()
    assert asked_first.wait(DEADLINE_S)
    second = threading.Thread(target=work, args=(OTHER,))
    second.start()
    second.join(0.2)
    assert host.asked_ids() == [FIRST_ID]
    may_answer.set()
    first.join(DEADLINE_S)
    second.join(DEADLINE_S)
    host.join()
    assert answers == {"call_1": Answer("deny", message="call_1"), "call_2": Answer("deny", message="call_2")}
    assert host.asked_ids() == [FIRST_ID, SECOND_ID]


def test_a_cancel_reaches_a_call_that_waits_to_ask() -> None:
    host = Host()
    asked = threading.Event()
    host.on_asked = lambda _: asked.set()
    first = threading.Thread(target=lambda: host.approvals.ask(CALL, SPEC, DECISION, cancel()))
    first.start()
    assert asked.wait(DEADLINE_S)
    stop = cancel()
    threading.Timer(0.1, stop.set).start()
    begun = time.monotonic()
    with pytest.raises(Cancelled):
        host.approvals.ask(OTHER, SPEC, DECISION, stop)
    assert time.monotonic() - begun < SOON
    host.channel.close()
    first.join(DEADLINE_S)
    host.join()


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({"behavior": "allow"}, Answer("allow")),
        ({"behavior": "allow", "updatedInput": {"a": 1}}, Answer("allow", {"a": 1})),
        ({"behavior": "allow", "updatedInput": "a"}, Answer("allow")),
        ({"behavior": "allow", "updatedPermissions": [OFFER, "x"]}, Answer("allow", updates=(OFFER,))),
        ({"behavior": "allow", "updatedPermissions": "x"}, Answer("allow")),
        (
            {"behavior": "allow", REMEMBER: "user", RULES: ("Bash(ls:*)",)},
            Answer("allow", remember="user", rules=("Bash(ls:*)",)),
        ),
        ({"behavior": "deny"}, Answer("deny")),
        ({"behavior": "deny", "message": "no", "interrupt": True}, Answer("deny", message="no", interrupt=True)),
        ({"behavior": "deny", "message": None, "interrupt": "yes"}, Answer("deny")),
    ],
)
def test_how_answers_are_read(body: Json, answer: Answer) -> None:
    assert read_answer(HostReply("answered", body)) == answer


@pytest.mark.parametrize("body", [{}, {"behavior": "maybe"}, {"behavior": ["allow"]}])
def test_an_answer_of_the_wrong_shape_is_an_error_that_names_the_shape(body: Json) -> None:
    answer = read_answer(HostReply("answered", body))
    assert answer.verdict == "error"
    assert f"not behavior {body.get('behavior')!r}" in answer.message


def test_replies_without_a_body() -> None:
    assert read_answer(HostReply("error", error="no dialog")) == Answer("error", message="no dialog")
    assert read_answer(HostReply("timeout")) == Answer("timeout")
    assert read_answer(HostReply("closed")) == Answer("closed")


@pytest.mark.parametrize(
    ("approve", "answer"),
    [
        (Approve("c", True), Answer("allow")),
        (Approve("c", True, {"a": 1}), Answer("allow", {"a": 1})),
        (Approve("c", True, remember="session"), Answer("allow", remember="session")),
        (Approve("c", True, remember="project", rules=("Read",)), Answer("allow", remember="project", rules=("Read",))),
        (Approve("c", False, reason="no"), Answer("deny", message="no")),
        (Approve("c", False, {"a": 1}, remember="session"), Answer("deny")),
    ],
)
def test_flat_approvals_are_read_like_answers(approve: Approve, answer: Answer) -> None:
    assert read_answer(reply_of(approve)) == answer


@pytest.mark.parametrize(
    ("tool", "given", "line"),
    [
        ("Bash", {"command": "make", "description": "Build it"}, "Build it"),
        ("Bash", {"command": "make"}, ""),
        ("Write", {"file_path": "/a/b.txt", "content": ""}, "b.txt"),
        ("NotebookEdit", {"notebook_path": "C:/n.ipynb"}, "n.ipynb"),
        ("LS", {"path": "/a/folder/"}, "folder"),
        ("WebFetch", {"url": "https://example.org/x", "prompt": "p"}, "https://example.org/x"),
        ("WebSearch", {"query": "tea"}, "tea"),
        ("TodoWrite", {"todos": []}, ""),
        ("Write", {"file_path": 5}, ""),
    ],
)
def test_the_description_of_a_call(tool: str, given: dict[str, object], line: str) -> None:
    spec = next(spec for spec in SPECS if spec.name == tool)
    assert describe(ToolCall("c", tool, given), spec) == line


def test_a_tool_without_a_describing_field_has_no_description() -> None:
    assert describe(ToolCall("c", "mcp__x__y", {"": "x", "path": "/a"}), ToolSpec("mcp__x__y", "", {})) == ""
