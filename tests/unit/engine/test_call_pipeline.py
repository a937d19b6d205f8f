"""The steps of a tool call: each is done once, hooks run before and after, every call ends with one result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.engine_fakes import Bench, FunctionTools, NoHooks, ScriptedAsker, ScriptedProvider, TableGate
from yume_shim.engine.calls import CallRunner
from yume_shim.engine.cancel import CancelSignal
from yume_shim.types.blocks import ToolCall
from yume_shim.types.calls import AfterCall, BeforeCall
from yume_shim.types.errors import Cancelled, ToolFailed
from yume_shim.types.events import CallDenied, NoteAdded, ToolFinished, ToolStarted
from yume_shim.types.outputs import Answer, Decision, ToolOutput
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from yume_shim.types.calls import PreparedCall
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.ports import Cancel


class CountingGate(TableGate):
    """Records each decision that is taken."""

    def __init__(self, **verdicts: str) -> None:
        super().__init__(**verdicts)
        self.decided: list[str] = []

    def decide(self, call: ToolCall, spec: ToolSpec) -> Decision:
        self.decided.append(call.id)
        return super().decide(call, spec)


class Hooks(NoHooks):
    """Fixed answers; records what it was shown."""

    def __init__(self, before: BeforeCall | None = None, output: ToolOutput | None = None, note: str = "") -> None:
        self._before, self._output, self._note = before or BeforeCall(), output, note
        self.seen: list[tuple[str, Any]] = []

    def before(self, prepared: PreparedCall, cancel: Cancel) -> BeforeCall:
        self.seen.append(("before", dict(prepared.call.input)))
        return self._before

    def after(self, prepared: PreparedCall, output: ToolOutput, cancel: Cancel) -> AfterCall:
        self.seen.append(("after", (dict(prepared.call.input), output.content, output.is_error)))
        return AfterCall(self._output or output, (self._note,) if self._note else ())


def echo() -> FunctionTools:
    tools = FunctionTools(Echo=lambda given, _: given["x"])
    tools.schemas["Echo"] = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    return tools


def run(
    bench: Bench, *calls: ToolCall, hooks: Hooks | None = None, cancel: CancelSignal | None = None
) -> list[ToolFinished]:
    done: list[ToolFinished] = []
    CallRunner(replace(bench.services, hooks=lambda: hooks), cancel or CancelSignal()).run_all(calls, done)
    return done


def bench(gate: TableGate | None = None, asker: ScriptedAsker | None = None, **settings: Any) -> Bench:
    return Bench(ScriptedProvider(), echo(), gate, asker, **settings)


CALL = ToolCall("c1", "Echo", {"x": "hi"})


@pytest.mark.parametrize("verdict", ["allow", "ask", "deny"])
def test_each_decision_is_taken_once(verdict: str) -> None:
    gate = CountingGate(Echo=verdict)
    run(bench(gate, ScriptedAsker(Answer("allow"))), CALL)
    assert gate.decided == ["c1"]


def test_each_decision_is_taken_once_side_by_side() -> None:
    gate = CountingGate(Ask="ask")
    tools = FunctionTools(Look=lambda given, _: "seen", Ask=lambda given, _: "asked")
    tools.parallel = {"Look", "Ask"}
    made = Bench(ScriptedProvider(), tools, gate, ScriptedAsker(Answer("allow")), tool_concurrency=8)
    calls = [ToolCall(f"c{n}", name, {}) for n, name in enumerate(("Look", "Look", "Ask", "Look"))]
    done = run(made, *calls)
    assert [finished.result.content for finished in done] == ["seen", "seen", "asked", "seen"]
    assert gate.decided == ["c0", "c1", "c2", "c3"]


def test_hooks_run_before_the_decision_and_after_the_run() -> None:
    hooks = Hooks()
    [finished] = run(bench(), CALL, hooks=hooks)
    assert finished.result.content == "hi"
    assert hooks.seen == [("before", {"x": "hi"}), ("after", ({"x": "hi"}, "hi", False))]


def test_input_changed_by_a_hook_is_validated_and_run() -> None:
    [finished] = run(bench(), CALL, hooks=Hooks(BeforeCall(input={"x": "changed"})))
    assert (finished.result.content, finished.call.input) == ("changed", {"x": "changed"})
    [finished] = run(bench(), CALL, hooks=Hooks(BeforeCall(input={"x": 1})))
    assert "root.x: 1 is not of type 'string'" in str(finished.result.content)


@pytest.mark.parametrize(
    ("gate", "hook", "ran"),
    [
        ("allow", "deny", False),
        ("allow", "ask", False),
        ("ask", "allow", True),
        ("deny", "allow", False),
        ("deny", "ask", False),
        ("allow", "allow", True),
    ],
)
def test_the_gate_and_the_hooks_decide_together(gate: str, hook: str, ran: bool) -> None:
    decision = Decision(hook, "the hook says so", "hook", "policy")  # type: ignore[arg-type]
    made = bench(TableGate(Echo=gate))
    [finished] = run(made, CALL, hooks=Hooks(BeforeCall(decision)))
    assert (finished.result.content == "hi") is ran
    if gate == "allow" and not ran:
        assert made.of(CallDenied) == [CallDenied(CALL, "the hook says so", "hook", "policy")]


def test_a_question_of_a_hook_goes_to_the_host() -> None:
    made = bench(asker=ScriptedAsker(Answer("allow")))
    [finished] = run(made, CALL, hooks=Hooks(BeforeCall(Decision("ask", "look at this"))))
    assert finished.result.content == "hi"


def test_an_output_replaced_by_a_hook_is_redacted_like_any_other() -> None:
    made = bench()
    made.services = replace(made.services, secrets=("not-a-real-secret-0123",))
    [finished] = run(made, CALL, hooks=Hooks(output=ToolOutput("the key is not-a-real-secret-0123")))
    assert "not-a-real-secret" not in str(finished.result.content)


@pytest.mark.parametrize(
    "error", [ToolFailed("Exit code 1\nnot-a-real-secret-0123"), ValueError("not-a-real-secret-0123")]
)
def test_a_failure_is_redacted_like_any_output(error: Exception) -> None:
    def broken(given: dict[str, Any], _: object) -> str:
        raise error

    made = Bench(ScriptedProvider(), FunctionTools(Bad=broken))
    made.services = replace(made.services, secrets=("not-a-real-secret-0123",))
    [finished] = run(made, ToolCall("c1", "Bad", {}))
    assert finished.result.is_error
    assert "[redacted]" in str(finished.result.content)
    assert "not-a-real-secret" not in str((finished.result.content, finished.structured))


def test_hooks_see_failures() -> None:
    def broken(given: dict[str, Any], _: object) -> str:
        raise ZeroDivisionError("oops")

    made = Bench(ScriptedProvider(), FunctionTools(Bad=broken))
    hooks = Hooks(note="try again later")
    [finished] = run(made, ToolCall("c1", "Bad", {}), hooks=hooks)
    text = "Bad failed unexpectedly: ZeroDivisionError: oops"
    assert hooks.seen[-1] == ("after", ({}, text, True))
    assert finished.result.content == text
    assert made.of(NoteAdded) == [NoteAdded("try again later", counts=False)]


def test_a_denied_call_does_not_run_and_has_no_after_hook() -> None:
    hooks = Hooks()
    [finished] = run(bench(TableGate(Echo="deny")), CALL, hooks=hooks)
    assert finished.denied
    assert [step for step, _ in hooks.seen] == ["before"]


def test_input_changed_by_the_host_is_validated_again() -> None:
    made = bench(TableGate(Echo="ask"), ScriptedAsker(Answer("allow", {"x": 5})))
    hooks = Hooks()
    [finished] = run(made, CALL, hooks=hooks)
    assert finished.result.is_error
    assert [step for step, _ in hooks.seen] == ["before"]  # it never ran
    assert "root.x: 5 is not of type 'string'" in str(finished.result.content)


def test_a_gate_that_raises_is_an_error_result() -> None:
    class BrokenGate(TableGate):
        def decide(self, call: ToolCall, spec: ToolSpec) -> Decision:
            raise ValueError("gate broke")

    [finished] = run(bench(BrokenGate()), CALL)
    assert finished.result.content == "Echo failed unexpectedly: ValueError: gate broke"


def test_an_interrupt_between_two_calls_starts_nothing_more() -> None:
    cancel = CancelSignal()
    made = Bench(ScriptedProvider(), FunctionTools(Stop=lambda given, _: cancel.set()))
    done: list[ToolFinished] = []
    runner = CallRunner(made.services, cancel)
    with pytest.raises(Cancelled):
        runner.run_all([ToolCall("c1", "Stop", {}), ToolCall("c2", "Stop", {})], done)
    assert [event.call.id for event in made.of(ToolStarted)] == ["c1"]
    assert [finished.call.id for finished in done] == ["c1"]
