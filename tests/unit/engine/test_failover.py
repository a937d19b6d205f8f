"""Another model takes over: when, after how many tries, and when never."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.engine_fakes import SPEC, Bench, ScriptedProvider, answer, fails, info, says
from yume_shim.engine.session import Session
from yume_shim.types.blocks import Text
from yume_shim.types.commands import EndOfInput, SetModel, UserInput
from yume_shim.types.errors import BadInvocation
from yume_shim.types.events import BlockDelta, BlockStarted, ModelChanged, ResponseStarted, Retrying, TurnEnded
from yume_shim.types.models import ModelSpec
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable


def run(
    *scripts: list[Any],
    fallback: str = "second,third",
    prompts: int = 1,
    at_first: Callable[[Session], Any] | None = None,
) -> Bench:
    """`at_first` is called while the first request runs, as the host would."""
    session: Session
    if at_first is not None:
        scripts = ([lambda: at_first(session), *scripts[0]], *scripts[1:])
    bench = Bench(ScriptedProvider(*scripts), fallback_model=fallback)

    def resolve(text: str) -> ModelSpec:
        if text == "nope":
            raise BadInvocation("unknown model")
        return replace(SPEC, id=text)

    session = Session(bench.services, SPEC, "s-1", resolve, info)
    for _ in range(prompts):
        session.submit(UserInput((Text("hi"),), "hi"))
    session.submit(EndOfInput())
    session.run()
    return bench


def models(bench: Bench) -> list[str]:
    return [request.model.id for request in bench.provider.requests]


def test_an_overloaded_model_is_tried_three_times_before_the_fallback() -> None:
    bench = run(fails(), fails(), fails(), answer(says("From the second.")), answer(says("Again.")), prompts=2)
    assert models(bench) == ["test-model"] * 3 + ["second", "second"]
    assert bench.of(ModelChanged) == [ModelChanged("test", "second", "overloaded")]
    assert len(bench.of(Retrying)) == 2
    assert [end.text for end in bench.of(TurnEnded)] == ["From the second.", "Again."]


def test_an_unknown_model_falls_back_at_once() -> None:
    bench = run(fails(kind="not_found", retryable=False, status=404), answer(says("Here.")))
    assert models(bench) == ["test-model", "second"]
    assert bench.of(ModelChanged) == [ModelChanged("test", "second", "model_not_found")]


def test_the_whole_chain_and_its_end() -> None:
    gone = fails(kind="not_found", retryable=False)
    bench = run(gone, gone, gone)
    assert models(bench) == ["test-model", "second", "third"]
    assert bench.of(TurnEnded)[0].outcome == "provider_error"


def test_unknown_names_and_the_failing_model_are_skipped() -> None:
    bench = run(fails(kind="not_found", retryable=False), answer(says("ok")), fallback="nope test-model third")
    assert models(bench) == ["test-model", "third"]


@pytest.mark.parametrize("kind", ["auth", "billing", "bad_request", "context_length"])
def test_failures_that_another_model_would_share_do_not_fall_back(kind: str) -> None:
    bench = run(fails(kind=kind, retryable=False))
    assert models(bench) == ["test-model"]


def test_no_fallback_after_part_of_the_answer_was_visible() -> None:
    shown = [ResponseStarted("m", "m"), BlockStarted(0, Text("")), BlockDelta(0, "text", "Hal")]
    bench = run(fails(*shown, kind="server", retryable=False))
    assert models(bench) == ["test-model"]


@pytest.mark.parametrize("fallback", ["test-model", "nope", "nope test-model"])
def test_a_chain_without_a_usable_model_does_not_reduce_the_retries(fallback: str) -> None:
    bench = run(*[fails()] * 3, answer(says("At last.")), fallback=fallback)
    assert models(bench) == ["test-model"] * 4
    assert bench.of(TurnEnded)[0].text == "At last."
    warnings = [message for _, message in bench.logged if message.startswith("fallback model nope")]
    assert len(warnings) == ("nope" in fallback)


def test_a_model_chosen_during_a_turn_is_used_from_the_next_turn() -> None:
    gone = fails(kind="not_found", retryable=False)
    bench = run(
        gone,
        answer(says("From the second.")),
        answer(says("As chosen.")),
        prompts=2,
        at_first=lambda session: session.use_model("chosen"),
    )
    assert models(bench) == ["test-model", "second", "chosen"]


def test_choosing_a_model_restores_the_whole_chain() -> None:
    gone = fails(kind="not_found", retryable=False)
    bench = Bench(ScriptedProvider(gone, answer(says("One.")), gone, answer(says("Two."))), fallback_model="second")
    session = Session(bench.services, SPEC, "s-1", lambda text: replace(SPEC, id=text), info)
    for command in (UserInput((Text("a"),), "a"), SetModel("test-model"), UserInput((Text("b"),), "b"), EndOfInput()):
        session.submit(command)
    session.run()
    assert models(bench) == ["test-model", "second", "test-model", "second"]
