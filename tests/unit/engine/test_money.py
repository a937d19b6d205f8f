"""Totals by model, unknown prices and list prices, the budget and its warning."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.engine_fakes import SPEC, Bench, FunctionTools, ScriptedProvider, answer, calls, fails, info, says
from yume_shim.engine.session import Session
from yume_shim.engine.tally import Tally
from yume_shim.types.blocks import Text
from yume_shim.types.commands import EndOfInput, UserInput
from yume_shim.types.events import ModelUsage, Notice, TurnEnded
from yume_shim.types.models import Cost, Usage
from yume_shim.types.value import replace

OTHER = replace(SPEC, id="other")


def run(bench: Bench, *prompts: str, spent: tuple[ModelUsage, ...] = ()) -> list[TurnEnded]:
    s = Session(bench.services, SPEC, "s-1", lambda text: SPEC, info)
    s.restore((), spent)
    for text in prompts:
        s.submit(UserInput((Text(text),), text))
    s.submit(EndOfInput())
    s.run()
    return bench.of(TurnEnded)


def spent_by(name: str, usage: Usage, cost: float, known: bool = True) -> ModelUsage:
    return ModelUsage(name, usage, cost, SPEC.window, SPEC.max_output, "test", known)


def test_totals_by_model_and_in_all() -> None:
    tally = Tally(lambda spec, usage: Cost(usage.input / 10))
    tally.add(SPEC, Usage(1, 2))
    tally.add(OTHER, Usage(2))
    tally.add(SPEC, Usage(1, 3, 5))
    assert tally.by_model() == (spent_by("test-model", Usage(2, 5, 5), 0.2), spent_by("other", Usage(2), 0.2))
    assert tally.total_usd() == 0.4


def test_an_unknown_price_and_a_list_price_are_marked() -> None:
    costs = {"test-model": Cost(1.0, list_price=True), "other": Cost(0.0, known=False)}
    tally = Tally(lambda spec, usage: costs[spec.id])
    tally.add(SPEC, Usage(10))
    tally.add(OTHER, Usage(10))
    costs["test-model"] = Cost(1.0)
    tally.add(SPEC, Usage(10))
    assert tally.unpriced() == ("other",)
    assert tally.by_model() == (
        replace(spent_by("test-model", Usage(20), 2.0), list_price=True),
        spent_by("other", Usage(10), 0, known=False),
    )


def test_earlier_costs_are_carried_but_not_budgeted() -> None:
    tally = Tally(lambda spec, usage: Cost(1.0))
    tally.carry((spent_by("test-model", Usage(7), 3.0), spent_by("gone", Usage(1), 0.0, known=False)))
    tally.add(SPEC, Usage(1))
    assert (tally.total_usd(), tally.spent_usd()) == (4.0, 1.0)
    assert tally.by_model()[0] == spent_by("test-model", Usage(8), 4.0)


EACH = 60 / 1_000_000
"""What one of the scripted answers costs."""


def test_the_warning_comes_once_and_the_budget_stops_the_next_request() -> None:
    tools = FunctionTools(Up=lambda given, _: "ok")
    script = ScriptedProvider(*(answer(calls(f"c{n}", "Up")) for n in range(9)))
    bench = Bench(script, tools, max_budget_usd=EACH * 5)
    [ended] = run(bench, "go")
    assert (ended.outcome, ended.limit) == ("max_budget", "$0.0003")
    assert len(bench.provider.requests) == 5
    assert bench.of(Notice) == [Notice("budget", "$0.00024 of the $0.0003 budget has been spent.")]


def test_continuations_count_towards_the_budget() -> None:
    script = ScriptedProvider(answer(says("half"), stop="length"), answer(says("never")))
    bench = Bench(script, max_budget_usd=EACH)
    assert [end.outcome for end in run(bench, "go")] == ["max_budget"]
    assert len(bench.provider.requests) == 1


def test_no_further_request_after_the_budget_is_used_up() -> None:
    bench = Bench(ScriptedProvider(answer(says("one")), answer(says("two"))), max_budget_usd=EACH)
    assert [end.outcome for end in run(bench, "a", "b")] == ["success", "max_budget"]
    assert len(bench.provider.requests) == 1


def test_lost_answers_are_counted() -> None:
    broken: list[Any] = fails(*answer(says("x"))[:2])
    bench = Bench(ScriptedProvider(broken, answer(says("one"))))
    [ended] = run(bench, "a")
    assert ended.total_cost_usd == pytest.approx(EACH + 10 / 1_000_000)


def test_earlier_costs_do_not_count_towards_the_budget() -> None:
    bench = Bench(ScriptedProvider(answer(says("one"))), max_budget_usd=EACH * 2)
    [ended] = run(bench, "a", spent=(spent_by("test-model", Usage(5), 7.0),))
    assert ended.outcome == "success"
    assert ended.total_cost_usd == pytest.approx(7 + EACH)


def test_a_missing_price_is_reported_once() -> None:
    bench = Bench(ScriptedProvider(answer(says("one")), answer(says("two"))), max_budget_usd=1.0)
    bench.services = replace(bench.services, cost=lambda spec, usage: Cost(0.0, known=False))
    run(bench, "a", "b")
    assert bench.of(Notice) == [Notice("budget", "No price is known for test-model: its cost counts as zero.")]
