"""A conversation that another model began: the user is notified once of what is lost, and not if nothing is."""

from __future__ import annotations

from tests.helpers.engine_fakes import SPEC, Bench, ScriptedProvider, answer, info, says
from yume_shim.context.estimate import Measured
from yume_shim.engine.session import Session
from yume_shim.types.blocks import Message, Text, Thinking
from yume_shim.types.commands import EndOfInput, UserInput
from yume_shim.types.events import Notice

FOREIGN = Message("assistant", (Thinking("hm", opaque={"other-api": {"signature": "s"}}), Text("Yes.")), "other-api/m")


def continue_session(*history: Message, counted: tuple[int, int, str] = (0, 0, "")) -> tuple[Bench, Session]:
    bench = Bench(ScriptedProvider(answer(says("1")), answer(says("2"))))
    session = Session(bench.services, SPEC, "s-1", lambda _: SPEC, info)
    session.restore(history, counted=counted)
    for text in ("a", "b"):
        session.submit(UserInput((Text(text),), text))
    session.submit(EndOfInput())
    session.run()
    return bench, session


def test_losses_are_reported_once() -> None:
    bench, _ = continue_session(Message("user", (Text("Is it?"),)), FOREIGN)
    [notice] = bench.of(Notice)
    assert notice.code == "history"
    assert notice.text.startswith("Continuing with test-model: ")
    assert "hm" not in str(bench.provider.requests[0].messages)
    assert "Yes." in str(bench.provider.requests[0].messages)


def test_no_notice_if_nothing_is_lost() -> None:
    same = Message("assistant", (Text("Yes."),), SPEC.origin)
    foreign = Message("assistant", (Text("Yes."),), "other-api/m")
    for said in (same, foreign):
        bench, _ = continue_session(Message("user", (Text("Is it?"),)), said)
        assert bench.of(Notice) == []


def test_the_counted_size_is_restored() -> None:
    bench = Bench(ScriptedProvider())
    session = Session(bench.services, SPEC, "s-1", lambda _: SPEC, info)
    session.restore([Message("user", (Text("x"),)), FOREIGN], counted=(5_000, 2, SPEC.origin))
    assert session.context_usage()["totalTokens"] == 5_000
    assert Measured(5_000, 2, SPEC.origin).size([Message("user", (Text("x"),)), FOREIGN]) == 5_000
