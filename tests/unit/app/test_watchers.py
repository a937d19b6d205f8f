"""Watchers of answers: what stops one, what does not, and that a check reads only what the gate permits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.engine_fakes import SPEC, Bench, FunctionTools, ScriptedProvider, answer, info, says
from tests.helpers.fakes import cancel
from tests.helpers.gates import gate
from tests.helpers.tool_cases import toolbox
from yume_shim.app.watchers import watcher_maker
from yume_shim.engine.session import Session
from yume_shim.types.blocks import Message, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.commands import EndOfInput, UserInput
from yume_shim.types.events import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Notice,
    ResponseStarted,
    ToolFinished,
    ToolStarted,
    TurnEnded,
)
from yume_shim.types.value import replace
from yume_shim.types.watching import StreamStop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from yume_shim.tools.dispatch.builtin import BuiltinTools

LOOP = "Round and round it goes, where it stops nobody knows. "


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[BuiltinTools]:
    (tmp_path / "a.txt").write_bytes(b"alpha\r\nbeta\r\n")
    made = toolbox(tmp_path, tmp_path / "scratch")
    yield made
    made.close()


def seen(tools: BuiltinTools, tmp_path: Path, name: str, *pieces: str, first: bool = True, **rules: Any) -> Any:
    watch = watcher_maker(tools, gate(tmp_path, **rules))(cancel())
    if not first:
        watch.see(BlockStarted(0, ToolCall("c0", "Write", {})))
    watch.see(BlockStarted(1, ToolCall("c1", name, {})))
    for piece in pieces:
        stop = watch.see(BlockDelta(1, "json", piece))
        if stop is not None:
            return stop
    return None


def test_an_edit_that_cannot_match_is_stopped(tools: BuiltinTools, tmp_path: Path) -> None:
    stop = seen(tools, tmp_path, "Edit", '{"file_path": "a.txt", "old_', 'string": "gamma", "new')
    assert stop == StreamStop(
        "String to replace not found in file.\nString: gamma", {"file_path": "a.txt", "old_string": "gamma"}
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Edit", '{"file_path": "a.txt", "old_string": "alpha\\nbeta", "new'),
        ("Edit", '{"file_path": "a.txt", "old_string": "", "new'),
        ("Edit", '{"file_path": "none.txt", "old_string": "x", "new'),
        ("Edit", '{"file_path": "a.txt", "old_string": "gam'),
        ("Edit", '{"file_path": 5, "old_string": "x", "new'),
        ("Edit", '{"file_path": "a.txt", "old_string": "gamma", "new_string": "x"}'),
        ("Write", '{"file_path": "a.txt", "old_string": "gamma", "new'),
    ],
)
def test_what_is_not_stopped(tools: BuiltinTools, tmp_path: Path, name: str, text: str) -> None:
    assert seen(tools, tmp_path, name, text) is None


def test_a_call_after_another_one_is_not_checked(tools: BuiltinTools, tmp_path: Path) -> None:
    text = '{"file_path": "a.txt", "old_string": "gamma", "new'
    assert seen(tools, tmp_path, "Edit", text, first=False) is None


def test_a_file_that_may_not_be_read_is_not_read(tools: BuiltinTools, tmp_path: Path) -> None:
    text = '{"file_path": "a.txt", "old_string": "gamma", "new'
    assert seen(tools, tmp_path, "Edit", text, deny=("Read(a.txt)",)) is None
    outside = tmp_path.parent / "outside.txt"
    outside.write_text("secret")
    assert seen(tools, tmp_path, "Edit", text.replace("a.txt", str(outside))) is None


# ---------------------------------------------------------------- in a session


def run(tools: BuiltinTools, tmp_path: Path, *scripts: list[Any], watching: bool = True) -> Bench:
    bench = Bench(ScriptedProvider(*scripts), FunctionTools(Edit=lambda *_: "ran"))
    watch = watcher_maker(tools, gate(tmp_path)) if watching else None
    services = replace(bench.services, watch=watch)
    session = Session(services, SPEC, "s-1", lambda text: replace(SPEC, id=text), info)
    session.submit(UserInput((Text("go"),), "go"))
    session.submit(EndOfInput())
    session.run()
    return bench


def edit_script() -> list[Any]:
    return [
        ResponseStarted("m1", "m"),
        BlockStarted(0, ToolCall("c1", "Edit", {})),
        BlockDelta(0, "json", '{"file_path": "a.txt", "old_string": "gamma", '),
        *([BlockDelta(0, "json", "x")] * 3),
        BlockEnded(0, ToolCall("c1", "Edit", {"file_path": "a.txt"})),
        *answer()[1:],
    ]


def test_a_stopped_call_gets_one_error_result_and_does_not_run(tools: BuiltinTools, tmp_path: Path) -> None:
    bench = run(tools, tmp_path, edit_script(), answer(says("Sorry.")))
    fields = {"file_path": "a.txt", "old_string": "gamma"}
    reason = (
        "String to replace not found in file.\nString: gamma\n"
        "The call was stopped while you were writing it, and nothing was done."
    )
    call = ToolCall("c1", "Edit", fields, stopped=reason)
    assert bench.of(ToolStarted) == [ToolStarted(call)]
    [finished] = bench.of(ToolFinished)
    assert finished.result == ToolResult("c1", reason, is_error=True)
    assert len([event for event in bench.of(BlockDelta) if event.kind == "json"]) == 1
    assert bench.provider.requests[1].messages[-2:] == (
        Message("assistant", (call,), bench.provider.requests[1].messages[-2].origin),
        Message("user", (finished.result,)),
    )
    assert [end.text for end in bench.of(TurnEnded)] == ["Sorry."]


def test_without_watchers_it_runs(tools: BuiltinTools, tmp_path: Path) -> None:
    bench = run(tools, tmp_path, edit_script(), answer(says("Done.")), watching=False)
    assert [event.result.content for event in bench.of(ToolFinished)] == ["ran"]


def looping(block: Any, kind: Any) -> list[Any]:
    return [ResponseStarted("m1", "m"), BlockStarted(0, block), *[BlockDelta(0, kind, LOOP) for _ in range(500)]]


def test_a_text_that_repeats_itself_ends_there(tools: BuiltinTools, tmp_path: Path) -> None:
    bench = run(tools, tmp_path, looping(Text(""), "text"))
    assert bench.of(Notice) == [Notice("repetition_stopped", "The answer repeated itself and was stopped.")]
    shown = "".join(event.text for event in bench.of(BlockDelta))
    assert len(shown) < 6_000
    [end] = bench.of(TurnEnded)
    assert (end.outcome, end.text) == ("success", LOOP)
    assert end.usage.estimated
    assert end.usage.output > 500


def test_reasoning_that_repeats_itself_is_asked_again(tools: BuiltinTools, tmp_path: Path) -> None:
    bench = run(tools, tmp_path, looping(Thinking(""), "thinking"), answer(says("42")))
    assert bench.of(Notice) == [Notice("repetition_stopped", "The reasoning repeated itself and was stopped.")]
    assert [end.text for end in bench.of(TurnEnded)] == ["42"]
    last = bench.provider.requests[1].messages[-1].blocks[-1]
    assert isinstance(last, Text)
    assert last.text.startswith("Your reasoning repeated itself")
