"""Mentioned files are sent to the model if they exist and may be read."""

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


def sent(bench: Bench) -> str:
    return str(bench.provider.requests[0].messages)


def test_a_mentioned_file_is_sent_with_the_prompt() -> None:
    bench = ask("see @a.txt and @gone.txt")
    [note] = bench.of(NoteAdded)
    assert "alpha" in note.text
    assert "alpha" in sent(bench)
    assert bench.of(TurnEnded)[0].num_turns == 1
    assert bench.kinds()[:3] == ["PromptTaken", "TurnStarted", "NoteAdded"]


def test_a_file_that_needs_approval_is_not_sent() -> None:
    bench = ask("see @a.txt", TableGate(Read="ask"))
    assert bench.of(NoteAdded) == []
    assert "alpha" not in sent(bench)


def test_mentions_in_text_that_the_host_composed_are_ignored() -> None:
    assert "alpha" not in sent(ask("see @a.txt", expand=False))
