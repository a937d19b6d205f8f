"""A conversation that another model began: what is lost is named once, and nothing is said where nothing is."""

from __future__ import annotations

from tests.helpers.engine_fakes import SPEC, Bench, ScriptedProvider, answer, info, says
from yume_shim.context.estimate import Measured
from yume_shim.engine.session import Session
from yume_shim.types.blocks import Message, Text, Thinking
from yume_shim.types.commands import EndOfInput, UserInput
from yume_shim.types.events import Notice

FOREIGN = Message("assistant", (Thinking("hm", opaque={"other-api": {"signature": "s"}}), Text("Yes.")), "other-api/m")


def go_on(*history: Message, counted: tuple[int, int, str] = (0, 0, "")) -> tuple[Bench, Session]:
    bench = Bench(ScriptedProvider(answer(says("1")), answer(says("2"))))
    session = Session(bench.services, SPEC, "s-1", lambda _: SPEC, info)
    session.restore(history, counted=counted)
    for text in ("a", "b"):
        session.submit(UserInput((Text(text),), text))
    session.submit(EndOfInput())
    session.run()
    return bench, session


def test_what_is_lost_is_told_once() -> None:
    bench, _ = go_on(Message("user", (Text("Is it?"),)), FOREIGN)
    [notice] = bench.of(Notice)
    assert notice.code == "history"
    assert notice.text.startswith("Going on with test-model: ")
    assert "hm" not in str(bench.provider.requests[0].messages)
    assert "Yes." in str(bench.provider.requests[0].messages)


def test_nothing_lost_nothing_told() -> None:
    same = Message("assistant", (Text("Yes."),), SPEC.origin)
    foreign = Message("assistant", (Text("Yes."),), "other-api/m")
    for said in (same, foreign):
        bench, _ = go_on(Message("user", (Text("Is it?"),)), said)
        assert bench.of(Notice) == []


def test_the_size_that_was_counted_is_known_again() -> None:
    bench = Bench(ScriptedProvider())
    session = Session(bench.services, SPEC, "s-1", lambda _: SPEC, info)
    session.restore([Message("user", (Text("x"),)), FOREIGN], counted=(5_000, 2, SPEC.origin))
    assert session.context_usage()["totalTokens"] == 5_000
    assert Measured(5_000, 2, SPEC.origin).size([Message("user", (Text("x"),)), FOREIGN]) == 5_000
