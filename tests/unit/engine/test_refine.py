"""A turn uses the limits that the endpoint reports: asked for when it begins and when another model takes over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.helpers.engine_fakes import SPEC, Bench, ScriptedProvider, answer, fails, info, says
from yume_shim.engine.session import Session
from yume_shim.types.blocks import Text
from yume_shim.types.commands import EndOfInput, UserInput
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.models import ModelSpec
    from yume_shim.types.ports import Cancel

UNKNOWN = replace(SPEC, known=False)


class Asked:
    """Reports a window of 9,999, and records what it was asked about."""

    def __init__(self, meanwhile: Callable[[], object] | None = None) -> None:
        self.specs: list[ModelSpec] = []
        self.meanwhile = meanwhile

    def __call__(self, spec: ModelSpec, cancel: Cancel) -> ModelSpec:
        self.specs.append(spec)
        if self.meanwhile is not None:
            self.meanwhile()
        return replace(spec, window=9_999, known=True)


def session(bench: Bench, asked: Asked) -> Session:
    made = Session(replace(bench.services, refine=asked), UNKNOWN, "s-1", lambda name: replace(UNKNOWN, id=name), info)
    for _ in range(2):
        made.submit(UserInput((Text("hi"),), "hi"))
    made.submit(EndOfInput())
    return made


def bench(*scripts: list[Any], **settings: Any) -> Bench:
    return Bench(ScriptedProvider(*scripts), **settings)


def test_reported_limits_hold_for_this_turn_and_the_next() -> None:
    made, asked = bench(answer(says("One.")), answer(says("Two."))), Asked()
    session(made, asked).run()
    refined = replace(UNKNOWN, window=9_999, known=True)
    assert [request.model for request in made.provider.requests] == [refined, refined]
    assert asked.specs == [UNKNOWN, refined]


def test_a_fallback_model_is_refined_too() -> None:
    gone = fails(kind="not_found", retryable=False)
    made, asked = bench(gone, answer(says("One.")), answer(says("Two.")), fallback_model="second"), Asked()
    session(made, asked).run()
    second = replace(UNKNOWN, id="second", window=9_999, known=True)
    assert [request.model for request in made.provider.requests][1:] == [second, second]
    assert asked.specs[1] == replace(UNKNOWN, id="second")


def test_a_model_that_the_host_chose_meanwhile_is_not_overwritten() -> None:
    made, asked = bench(answer(says("One.")), answer(says("Two."))), Asked()
    running = session(made, asked)

    def choose() -> None:
        asked.meanwhile = None
        running.use_model("chosen")

    asked.meanwhile = choose
    running.run()
    assert [request.model.id for request in made.provider.requests] == [SPEC.id, "chosen"]
