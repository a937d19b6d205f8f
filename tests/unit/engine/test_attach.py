"""Mentioned files reach the model, if they are there and may be read."""

from __future__ import annotations

from typing import Any

from tests.helpers.engine_fakes import SPEC, Bench, FunctionTools, ScriptedProvider, TableGate, answer, info, says
from yume_shim.engine.session import Session
from yume_shim.types.blocks import Text
from yume_shim.types.commands import EndOfInput, UserInput
from yume_shim.types.errors import ToolFailed
from yume_shim.types.events import NoteAdded, TurnEnded


def read(given: dict[str, Any], _: object) -> str:
    if given[""] != "a.txt":
        raise ToolFailed("File does not exist.")
    return "alpha"


def ask(text: str, gate: TableGate | None = None, **more: Any) -> Bench:
    bench = Bench(ScriptedProvider(answer(says("ok"))), FunctionTools(Read=read), gate)
    session = Session(bench.services, SPEC, "s-1", lambda _: SPEC, info)
    session.submit(UserInput((Text(text),), text, **more))
    session.submit(EndOfInput())
    session.run()
    return bench


def told(bench: Bench) -> str:
    return str(bench.provider.requests[0].messages)


def test_a_mentioned_file_goes_along() -> None:
    bench = ask("see @a.txt and @gone.txt")
    [note] = bench.of(NoteAdded)
    assert "alpha" in note.text
    assert "alpha" in told(bench)
    assert bench.of(TurnEnded)[0].num_turns == 1
    assert bench.kinds()[:3] == ["PromptTaken", "TurnStarted", "NoteAdded"]


def test_what_may_not_be_read_unasked_stays_out() -> None:
    bench = ask("see @a.txt", TableGate(Read="ask"))
    assert bench.of(NoteAdded) == []
    assert "alpha" not in told(bench)


def test_a_text_that_the_host_composed_is_left_alone() -> None:
    assert "alpha" not in told(ask("see @a.txt", expand=False))
