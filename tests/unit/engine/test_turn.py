"""Whole turns on scripted streams: the loop, limits, retries, cuts, interrupts. Every turn ends exactly once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.engine_fakes import (
    HOLD,
    SPEC,
    Bench,
    FunctionTools,
    ScriptedAsker,
    ScriptedProvider,
    TableGate,
    answer,
    calls,
    fails,
    info,
    says,
    thinks,
)
from tests.helpers.timing import wait_until
from yume_shim.engine.calls import MAX_CALLS, TOO_MANY
from yume_shim.engine.cancel import CancelSignal
from yume_shim.engine.conversation import Conversation
from yume_shim.engine.stopped_calls import stopped_text
from yume_shim.engine.turn import Turn
from yume_shim.types.blocks import Message, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.events import (
    BlockDelta,
    BlockStarted,
    CallDenied,
    Denial,
    Interrupted,
    NoteAdded,
    Notice,
    PartialKept,
    ResponseDropped,
    ResponseStarted,
    Retrying,
    ToolFinished,
    ToolProgress,
    TurnEnded,
    TurnFailed,
)
from yume_shim.types.models import Usage
from yume_shim.types.outputs import Answer
from yume_shim.types.settings import Timeouts
from yume_shim.types.token_estimate import by_characters
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from yume_shim.types.events import InterruptReason

OPEN_TEXT = [ResponseStarted("msg_1", "m", Usage(3)), BlockStarted(0, Text("")), BlockDelta(0, "text", "Half an ans")]
CUT = Usage(3, by_characters("Half an ans"), estimated=True)
"""Its usage if it ends there."""


def run(
    bench: Bench, *, cancel: CancelSignal | None = None, reason: InterruptReason = "user"
) -> tuple[TurnEnded, list[Message]]:
    conversation = Conversation(bench.services, SPEC, "s-1")
    conversation.options.change(system_prompt="be brief")
    conversation.prepare()
    conversation.history.append(Message("user", (Text("hi"),)))
    turn = Turn(bench.services, conversation, info(), cancel or CancelSignal(), lambda _: (), lambda: reason)
    ended = turn.run()
    assert bench.of(TurnEnded) == [ended]
    assert bench.events[-1] is ended
    return ended, conversation.history


def test_text_only() -> None:
    bench = Bench(ScriptedProvider(answer(says("Hello."))))
    ended, history = run(bench)
    assert (ended.outcome, ended.text, ended.num_turns, ended.stop_reason) == ("success", "Hello.", 1, "end_turn")
    assert ended.usage == Usage(10, 5)
    assert ended.total_cost_usd == pytest.approx(60 / 1_000_000)
    assert history[1:] == [Message("assistant", (Text("Hello."),), "test-api/test-model")]
    assert bench.kinds() == [
        "RequestStarted",
        "ResponseStarted",
        "BlockStarted",
        "BlockDelta",
        "BlockEnded",
        "ResponseEnded",
        "TurnEnded",
    ]


def test_tools_then_text_and_each_call_gets_one_result() -> None:
    tools = FunctionTools(Up=lambda given, _: given["x"].upper())
    provider = ScriptedProvider(
        answer(
            says("Looking."), calls("c1", "Up", index=1, x="a"), calls("c2", "Up", index=2, x="b"), stop="tool_calls"
        ),
        answer(says("Done.")),
    )
    bench = Bench(provider, tools)
    ended, history = run(bench)
    assert (ended.outcome, ended.text, ended.num_turns) == ("success", "Done.", 3)
    assert ended.usage == Usage(20, 10)
    assert history[2] == Message("user", (ToolResult("c1", "A", is_error=False), ToolResult("c2", "B", is_error=False)))
    kinds = [name for name in bench.kinds() if name.startswith("Tool")]
    assert kinds == ["ToolStarted", "ToolFinished"] * 2
    assert provider.requests[1].messages[: len(provider.requests[0].messages)] == provider.requests[0].messages


def test_calls_run_whatever_the_stop_reason_says() -> None:
    tools = FunctionTools(Up=lambda given, _: "ok")
    bench = Bench(ScriptedProvider(answer(calls("c1", "Up"), stop="end"), answer(says("Done."))), tools)
    assert run(bench)[0].text == "Done."


def test_side_by_side_results_come_in_call_order() -> None:
    slow_may_end = threading.Event()

    def slow(given: dict[str, Any], _: object) -> str:
        assert slow_may_end.wait(10)
        return "slow"

    def fast(given: dict[str, Any], _: object) -> str:
        slow_may_end.set()
        return "fast"

    tools = FunctionTools(Slow=slow, Fast=fast)
    tools.parallel = {"Slow", "Fast"}
    script = answer(calls("c1", "Slow"), calls("c2", "Fast", index=1), stop="tool_calls")
    bench = Bench(ScriptedProvider(script, answer(says("Done."))), tools, tool_concurrency=8)
    run(bench)
    assert [event.result.content for event in bench.of(ToolFinished)] == ["slow", "fast"]


def test_a_tool_that_raises_is_an_error_result() -> None:
    def broken(given: dict[str, Any], _: object) -> str:
        raise ZeroDivisionError("oops")

    bench = Bench(ScriptedProvider(answer(calls("c1", "Bad")), answer(says("Done."))), FunctionTools(Bad=broken))
    ended, _ = run(bench)
    [finished] = bench.of(ToolFinished)
    assert finished.result == ToolResult("c1", "Bad failed unexpectedly: ZeroDivisionError: oops", is_error=True)
    assert ended.outcome == "success"


def test_unknown_tool_gets_a_wrapped_error() -> None:
    bench = Bench(ScriptedProvider(answer(calls("c1", "Nope")), answer(says("Done."))))
    run(bench)
    [finished] = bench.of(ToolFinished)
    assert (
        finished.result.content
        == "<tool_use_error>Error: No such tool available: Nope. Available: none</tool_use_error>"
    )


def test_repeated_and_missing_call_ids_are_made_unique() -> None:
    tools = FunctionTools(Up=lambda given, _: "ok")
    script = answer(calls("call_0", "Up"), stop="tool_calls")
    bench = Bench(ScriptedProvider(script, script, answer(calls("", "Up")), answer(says("Done."))), tools)
    run(bench)
    ids = [event.call.id for event in bench.of(ToolFinished)]
    assert ids[0] == "call_0"
    assert len(set(ids)) == 3
    assert "" not in ids


def test_max_turns_runs_the_calls_and_stops() -> None:
    tools = FunctionTools(Up=lambda given, _: "ok")
    bench = Bench(ScriptedProvider(answer(calls("c1", "Up"), stop="tool_calls")), tools, max_turns=1)
    ended, _ = run(bench)
    assert (ended.outcome, ended.limit, ended.stop_reason) == ("max_turns", "1", "tool_use")
    assert len(bench.of(ToolFinished)) == 1


def test_budget_stops_before_the_calls() -> None:
    tools = FunctionTools(Up=lambda given, _: "ok")
    bench = Bench(ScriptedProvider(answer(calls("c1", "Up"), stop="tool_calls")), tools, max_budget_usd=0.00001)
    ended, history = run(bench)
    assert ended.outcome == "max_budget"
    assert bench.of(ToolFinished) == []
    assert [block.call_id for block in history[-1].blocks if isinstance(block, ToolResult)] == ["c1"]


def test_output_limit_is_continued_three_times_and_then_reported() -> None:
    bench = Bench(ScriptedProvider(*[answer(says("more"), stop="length") for _ in range(4)]))
    ended, _ = run(bench)
    assert (ended.outcome, ended.stop_reason, ended.num_turns) == ("success", "max_tokens", 4)
    assert len(bench.of(NoteAdded)) == 3
    assert bench.kinds()[-2:] == ["Notice", "TurnEnded"]


def test_a_pause_is_resumed_without_a_user_message() -> None:
    provider = ScriptedProvider(answer(says("a"), stop="pause"), answer(says("b")))
    ended, history = run(Bench(provider))
    assert (ended.text, ended.parts) == ("ab", ("a", "b"))
    assert [message.role for message in history] == ["user", "assistant", "assistant"]


def test_usage_is_estimated_where_none_is_given() -> None:
    bench = Bench(ScriptedProvider(answer(says("Hello."), usage=Usage(), given=False)))
    ended, _ = run(bench)
    assert ended.usage.estimated
    assert ended.usage.input > 0
    assert ended.usage.output > 0


# ---------------------------------------------------------------- failures


def test_failures_before_the_first_block_are_retried() -> None:
    bench = Bench(ScriptedProvider(fails(), fails(kind="rate_limit", retry_after_ms=3_000), answer(says("Hi."))))
    ended, _ = run(bench)
    assert ended.text == "Hi."
    assert [(r.attempt, r.max_retries, r.wait_ms) for r in bench.of(Retrying)] == [(1, 3, 1000), (2, 3, 3000)]
    assert bench.clock.waits == [1.0, 3.0]


def test_the_failure_is_reported_once() -> None:
    bench = Bench(ScriptedProvider(*[fails() for _ in range(4)]))
    ended, _ = run(bench)
    assert ended.outcome == "provider_error"
    assert len(bench.of(TurnFailed)) == 1
    assert len(bench.of(Retrying)) == 3


def test_wrong_key_is_not_retried() -> None:
    bench = Bench(ScriptedProvider(fails(kind="auth", retryable=False, status=401)))
    ended, _ = run(bench)
    assert ended.outcome == "auth_error"
    assert bench.of(Retrying) == []


def test_cut_in_visible_text_is_continued() -> None:
    provider = ScriptedProvider(fails(*OPEN_TEXT, kind="stream_interrupted"), answer(says("wer.")))
    bench = Bench(provider, on_cut="continue")
    ended, history = run(bench)
    assert bench.of(PartialKept) == [PartialKept(Text("Half an ans"), 0, interrupted=False)]
    assert [message.role for message in history] == ["user", "assistant", "user", "assistant"]
    assert ended.outcome == "success"
    assert provider.requests[1].messages[1].blocks == (Text("Half an ans"),)


def test_what_a_dying_answer_showed_is_in_the_result_and_the_next_request() -> None:
    provider = ScriptedProvider(fails(*OPEN_TEXT, kind="auth", retryable=False, status=401), answer(says("Again.")))
    bench = Bench(provider, on_cut="continue")
    ended, history = run(bench)
    assert (ended.outcome, ended.text) == ("auth_error", "Half an ans")
    assert bench.of(PartialKept) == [PartialKept(Text("Half an ans"), 0, interrupted=False)]
    assert history[1:] == [Message("assistant", (Text("Half an ans"),), "test-api/test-model")]
    assert ended.usage == CUT


def test_a_finished_text_of_a_dying_answer_stays_in_the_claude_forms() -> None:
    dying = fails(
        ResponseStarted("m", "m", Usage(3)), *says("One."), BlockStarted(1, Text("")), kind="auth", retryable=False
    )
    bench = Bench(ScriptedProvider(dying), on_cut="restart")
    ended, history = run(bench)
    assert history[1:] == [Message("assistant", (Text("One."),), "test-api/test-model")]
    assert bench.of(ResponseDropped) == [
        ResponseDropped(1, 1, interrupted=False, usage=Usage(3, by_characters("One."), estimated=True))
    ]
    assert ended.text == "One."


@pytest.mark.parametrize("last", ["dies", "interrupted"])
def test_the_note_of_a_dead_answer_does_not_reach_the_next_prompt(last: str) -> None:
    cancel = CancelSignal()
    dies = [fails(kind="overloaded")] * 9
    scripts = dies if last == "dies" else [[cancel.set, HOLD]]
    bench = Bench(ScriptedProvider(fails(*OPEN_TEXT, kind="stream_interrupted"), *scripts), on_cut="continue")
    ended, history = run(bench, cancel=cancel)
    assert ended.text == ("Half an ans" if last == "dies" else "")
    marker = [Text("[Request interrupted by user]")] if last == "interrupted" else []
    assert [block for message in history for block in message.blocks] == [Text("hi"), Text("Half an ans"), *marker]
    assert len(bench.of(NoteAdded)) == 1


def test_a_note_that_got_an_empty_answer_does_not_reach_the_next_prompt() -> None:
    bench = Bench(ScriptedProvider(answer(says("One, "), stop="length"), answer()))
    ended, history = run(bench)
    assert (ended.outcome, ended.text) == ("success", "One, ")
    assert [block for message in history for block in message.blocks] == [Text("hi"), Text("One, ")]


def test_parts_of_an_answer_are_all_in_the_text() -> None:
    bench = Bench(
        ScriptedProvider(
            answer(says("One, "), stop="length"), answer(says("two. "), stop="pause"), answer(says("Three."))
        )
    )
    ended, _ = run(bench)
    assert (ended.text, ended.parts) == ("One, two. Three.", ("One, ", "two. ", "Three."))


def test_an_answer_after_calls_is_a_new_text() -> None:
    tools = FunctionTools(Up=lambda given, _: "ok")
    first = answer(says("Let me see."), calls("c1", "Up", index=1), stop="tool_calls")
    bench = Bench(ScriptedProvider(answer(says("So: "), stop="length"), first, answer(says("Done."))), tools)
    ended, _ = run(bench)
    assert (ended.text, ended.parts) == ("Done.", ())


SHOWN = "The capital of France is Paris. It lies on the ri"


@pytest.mark.parametrize(
    ("continuation", "rest"),
    [
        ("ver Seine.", "ver Seine."),
        ("It lies on the river Seine.", "ver Seine."),
        (f"{SHOWN}ver Seine.", "ver Seine."),
        (f"\n\n{SHOWN}ver Seine.", "ver Seine."),
        ("The capital of France is Lyon.", "The capital of France is Lyon."),
    ],
)
def test_a_continuation_that_repeats_is_joined_without_the_repetition(continuation: str, rest: str) -> None:
    cut = [ResponseStarted("m", "m", Usage(3)), BlockStarted(0, Text("")), BlockDelta(0, "text", SHOWN)]
    bench = Bench(
        ScriptedProvider(fails(*cut, kind="stream_interrupted"), answer(says(continuation))), on_cut="continue"
    )
    ended, history = run(bench)
    assert ended.text == SHOWN + rest
    assert "".join(event.text for event in bench.of(BlockDelta)) == SHOWN + rest
    assert history[-1].blocks == (Text(rest),)


def test_cut_in_visible_text_is_restarted_in_the_claude_forms() -> None:
    provider = ScriptedProvider(fails(*OPEN_TEXT, kind="stream_interrupted"), answer(says("Whole.")))
    bench = Bench(provider, on_cut="restart")
    ended, history = run(bench)
    assert bench.of(ResponseDropped) == [ResponseDropped(0, 0, interrupted=False, usage=CUT)]
    assert bench.of(PartialKept) == []
    assert ended.text == "Whole."
    assert provider.requests[0] == provider.requests[1]
    assert len(history) == 2


@pytest.mark.parametrize("on_cut", ["continue", "restart"])
def test_cut_inside_arguments_drops_the_half_call(on_cut: str) -> None:
    half = [ResponseStarted("m", "m"), BlockStarted(0, ToolCall("c1", "Up", {})), BlockDelta(0, "json", '{"x"')]
    tools = FunctionTools(Up=lambda given, _: "ok")
    bench = Bench(
        ScriptedProvider(fails(*half, kind="stream_interrupted"), answer(says("Done."))), tools, on_cut=on_cut
    )
    ended, _ = run(bench)
    assert bench.of(ToolFinished) == []
    assert ended.text == "Done."


@pytest.mark.parametrize("on_cut", ["continue", "restart"])
def test_cut_after_a_finished_call_runs_it_once(on_cut: str) -> None:
    ran: list[str] = []

    def once(given: dict[str, Any], _: object) -> str:
        ran.append("x")
        return "ok"

    tools = FunctionTools(Up=once)
    cut = fails(ResponseStarted("m", "m"), *calls("c1", "Up"), kind="stream_interrupted")
    bench = Bench(ScriptedProvider(cut, answer(says("Done."))), tools, on_cut=on_cut)
    ended, _ = run(bench)
    assert ran == ["x"]
    assert ended.text == "Done."


def test_an_answer_cut_after_thinking_alone_is_requested_again() -> None:
    cut = fails(ResponseStarted("m", "m"), *thinks("hm"), kind="stream_interrupted")
    provider = ScriptedProvider(cut, answer(says("Done.")))
    ended, _ = run(Bench(provider, on_cut="continue"))
    assert provider.requests[0] == provider.requests[1]
    assert ended.text == "Done."


def test_the_number_of_continued_cuts_is_limited() -> None:
    pieces = [f"Part {number}, " for number in range(20)]
    opened = [ResponseStarted("msg_1", "m", Usage(3)), BlockStarted(0, Text(""))]
    scripts = [fails(*opened, BlockDelta(0, "text", piece), kind="stream_interrupted") for piece in pieces]
    provider = ScriptedProvider(*scripts)
    ended, _ = run(Bench(provider, on_cut="continue"))
    assert ended.outcome == "provider_error"
    assert ended.text == "".join(pieces[: len(provider.requests)])
    assert len(provider.requests) < 8


# ---------------------------------------------------------------- interrupts


def test_interrupt_before_the_first_byte() -> None:
    cancel = CancelSignal()
    bench = Bench(ScriptedProvider([cancel.set, *answer(says("never"))]))
    ended, history = run(bench, cancel=cancel)
    assert (ended.outcome, ended.phase, ended.num_turns) == ("cancelled", "streaming", 2)
    assert bench.kinds() == ["RequestStarted", "Interrupted", "TurnEnded"]
    assert history[-1].blocks == (Text("[Request interrupted by user]"),)


def test_interrupt_in_text_keeps_what_was_shown() -> None:
    cancel = CancelSignal()
    bench = Bench(ScriptedProvider([*OPEN_TEXT, cancel.set, HOLD]))
    ended, history = run(bench, cancel=cancel)
    assert bench.kinds()[-4:] == ["PartialKept", "Interrupted", "ResponseDropped", "TurnEnded"]
    assert history[1] == Message("assistant", (Text("Half an ans"),), "test-api/test-model")
    assert ended.usage == CUT


def test_interrupt_in_arguments_drops_the_half_call() -> None:
    cancel = CancelSignal()
    half = [ResponseStarted("m", "m"), BlockStarted(0, ToolCall("c1", "Up", {})), BlockDelta(0, "json", '{"x"')]
    bench = Bench(ScriptedProvider([*half, cancel.set, HOLD]))
    _, history = run(bench, cancel=cancel)
    assert bench.of(ToolFinished) == []
    assert [message.role for message in history] == ["user", "user"]


def test_interrupt_after_a_finished_call_closes_it() -> None:
    cancel = CancelSignal()
    bench = Bench(ScriptedProvider([ResponseStarted("m", "m"), *calls("c1", "Up"), cancel.set, HOLD]))
    run(bench, cancel=cancel)
    [finished] = bench.of(ToolFinished)
    assert finished.result.is_error
    assert bench.kinds()[-3:] == ["Interrupted", "ResponseDropped", "TurnEnded"]


def test_interrupt_in_a_tool_closes_every_call() -> None:
    from yume_shim.types.errors import Cancelled

    cancel = CancelSignal()

    def sleeps(given: dict[str, Any], context: Any) -> str:
        cancel.set()
        assert context.cancel.wait(10)
        raise Cancelled

    script = answer(calls("c1", "Sleep"), calls("c2", "Sleep", index=1), stop="tool_calls")
    bench = Bench(ScriptedProvider(script), FunctionTools(Sleep=sleeps))
    ended, history = run(bench, cancel=cancel)
    assert [(event.call.id, event.result.is_error) for event in bench.of(ToolFinished)] == [("c1", True), ("c2", True)]
    assert (ended.outcome, ended.phase, ended.num_turns) == ("cancelled", "tools", 4)
    assert bench.of(Interrupted) == [Interrupted("user", "tools")]
    assert history[-1].blocks == (Text("[Request interrupted by user for tool use]"),)


def test_a_stopped_call_returns_its_output_and_a_finished_one_its_result() -> None:
    from yume_shim.types.errors import Cancelled

    cancel = CancelSignal()
    quick_done = threading.Event()

    def slow(given: dict[str, Any], context: Any) -> str:
        assert quick_done.wait(20)
        cancel.set()
        raise Cancelled("three lines")

    def quick(given: dict[str, Any], context: Any) -> str:
        quick_done.set()
        return "done"

    script = answer(
        calls("c1", "Slow"), calls("c2", "Quick", index=1), calls("c3", "Alone", index=2), stop="tool_calls"
    )
    tools = FunctionTools(Slow=slow, Quick=quick, Alone=lambda given, context: "never")
    tools.parallel = {"Slow", "Quick"}
    bench = Bench(ScriptedProvider(script), tools, concurrency=2)
    run(bench, cancel=cancel)
    results = {event.call.id: event.result.content for event in bench.of(ToolFinished)}
    assert results == {
        "c1": stopped_text("user", ran=True, output="three lines"),
        "c2": "done",
        "c3": stopped_text("user", ran=False),
    }


def test_what_a_stopped_call_says() -> None:
    by_message = stopped_text("priority", ran=True, output="x")
    assert "wait for the user" not in by_message
    assert by_message.endswith("The user's message follows.\nOutput until it was stopped:\nx")
    reasons: tuple[InterruptReason, ...] = ("user", "signal", "shutdown", "priority")
    for reason in reasons:
        assert "remains" in stopped_text(reason, ran=True)
        assert "It was not run." in stopped_text(reason, ran=False)


def test_interrupt_in_a_retry_wait() -> None:
    cancel = CancelSignal()
    bench = Bench(ScriptedProvider(fails(), answer(says("never"))))
    emit = bench.emit

    def stop_at_retry(event: Any) -> str:
        if isinstance(event, Retrying):
            cancel.set()
        return emit(event)

    bench.services = replace(bench.services, emit=stop_at_retry)
    ended, _ = run(bench, cancel=cancel)
    assert ended.outcome == "cancelled"
    assert bench.clock.waits == []


def test_an_interrupt_by_a_priority_prompt_is_no_failure() -> None:
    cancel = CancelSignal()
    bench = Bench(ScriptedProvider([*OPEN_TEXT, cancel.set, HOLD]))
    ended, _ = run(bench, cancel=cancel, reason="priority")
    assert (ended.outcome, ended.text, ended.phase) == ("success", "", "streaming")


# ---------------------------------------------------------------- permissions


def tool_turn(gate: TableGate, *answers: Answer) -> tuple[Bench, TurnEnded]:
    tools = FunctionTools(Up=lambda given, _: given.get("x", "ok"))
    provider = ScriptedProvider(answer(calls("c1", "Up", x="a"), stop="tool_calls"), answer(says("Done.")))
    bench = Bench(provider, tools, gate, ScriptedAsker(*answers))
    return bench, run(bench)[0]


def test_a_question_that_no_host_can_answer_is_a_denial() -> None:
    bench, ended = tool_turn(TableGate(Up="ask"))
    [finished] = bench.of(ToolFinished)
    assert finished.result == ToolResult("c1", "Up needs permission", is_error=True)
    assert len(bench.of(CallDenied)) == 1
    assert ended.denials == (Denial("Up", "c1", {"x": "a"}),)
    assert ended.outcome == "success"


def test_allowed_with_changed_input() -> None:
    bench, _ = tool_turn(
        TableGate(Up="ask"), Answer("allow", {"x": "b"}, updates=({"type": "setMode"},), remember="session")
    )
    [finished] = bench.of(ToolFinished)
    assert finished.result.content == "b"
    assert bench.gate.updates == [{"type": "setMode"}, {"remember": ("exactly c1",)}]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (Answer("deny", message="no thanks"), "no thanks"),
        (Answer("error", message="boom"), "Tool permission request failed: Error: boom"),
        (Answer("timeout"), "The permission request for Up was not answered in time, so the call was not run."),
        (
            Answer("closed"),
            "Tool permission request failed: AbortError: Tool permission stream closed before response received",
        ),
    ],
)
def test_refusals(said: Answer, text: str) -> None:
    bench, ended = tool_turn(TableGate(Up="ask"), said)
    [finished] = bench.of(ToolFinished)
    assert finished.result == ToolResult("c1", text, is_error=True)
    assert ended.denials == (Denial("Up", "c1", {"x": "a"}),)
    assert bench.of(CallDenied) == []
    assert ended.text == "Done."


def test_deny_and_interrupt_stops_the_turn() -> None:
    bench, ended = tool_turn(TableGate(Up="ask"), Answer("deny", message="stop", interrupt=True))
    assert ended.outcome == "cancelled"
    assert bench.of(ToolFinished)[0].result.is_error
    assert ended.denials == (Denial("Up", "c1", {"x": "a"}),)
    assert len(bench.provider.requests) == 1


def test_an_internal_error_still_ends_the_turn() -> None:
    bench = Bench(ScriptedProvider([lambda: 1 / 0]))
    ended, _ = run(bench)
    assert ended.outcome == "execution_error"
    assert bench.logged[-1][0] == "error"


# ---------------------------------------------------------------- long calls


def test_progress_of_a_long_call_is_reported() -> None:
    def slow(given: dict[str, Any], _: object) -> str:
        wait_until(lambda: bench.of(ToolProgress), "a heartbeat")
        return "done"

    script = answer(calls("c1", "Slow"), stop="tool_calls")
    bench = Bench(
        ScriptedProvider(script, answer(says("Done."))),
        FunctionTools(Slow=slow),
        timeouts=Timeouts(tool_heartbeat=0.05),
    )
    run(bench)
    kinds = [name for name in bench.kinds() if name.startswith("Tool")]
    assert kinds[0] == "ToolStarted"
    assert kinds[-1] == "ToolFinished"
    assert set(kinds[1:-1]) == {"ToolProgress"}


@pytest.mark.parametrize(("repair", "text"), [(True, "schön"), (False, "schÃ¶n")])
def test_mojibake_is_repaired_if_the_setting_is_on(repair: bool, text: str) -> None:
    tools = FunctionTools(Say=lambda given, _: "schÃ¶n")
    provider = ScriptedProvider(answer(calls("c1", "Say"), stop="tool_calls"), answer(says("Done.")))
    bench = Bench(provider, tools, repair_mojibake=repair)
    run(bench)
    assert bench.of(ToolFinished)[0].result.content == text


# ---------------------------------------------------------------- what is left out of a request


def test_what_is_left_out_of_the_history_is_reported_once() -> None:
    bench = Bench(ScriptedProvider(answer(says("One.")), answer(says("Two."))))
    conversation = Conversation(bench.services, SPEC, "s-1")
    conversation.history += [
        Message("user", (ToolResult("nobody", "lost"), Text("hi"))),
        Message("assistant", (Thinking("hm", opaque={"other-api": {}}), Text("Yes?")), "other-api/other"),
        Message("user", (Text("go"),)),
    ]
    for _ in range(2):
        Turn(bench.services, conversation, info(), CancelSignal(), lambda _: (), lambda: "user").run()
        conversation.history.append(Message("user", (Text("more"),)))
    [notice] = bench.of(Notice)
    assert "tool results without a call left out: 1" in notice.text
    assert "reasoning blocks left out" in notice.text
    assert [message for level, message in bench.logged if level == "warning"] == []


def test_an_orphan_is_reported_on_stderr_once() -> None:
    bench = Bench(ScriptedProvider(answer(says("One.")), answer(says("Two."))))
    conversation = Conversation(bench.services, SPEC, "s-1")
    conversation.history.append(Message("user", (ToolResult("nobody", "lost"), Text("hi"))))
    for _ in range(2):
        Turn(bench.services, conversation, info(), CancelSignal(), lambda _: (), lambda: "user").run()
        conversation.history.append(Message("user", (Text("more"),)))
    told = [message for level, message in bench.logged if level == "warning"]
    assert told == ["history: tool results without a call left out: 1"]


def test_of_one_answer_only_so_many_calls_run() -> None:
    """Each further one gets a result that says so."""
    ran: list[str] = []

    def up(given: dict[str, Any], _: object) -> str:
        ran.append(given["n"])
        return "ok"

    tools = FunctionTools(Up=up)
    many = [calls(f"c{n}", "Up", index=n, n=n) for n in range(MAX_CALLS + 3)]
    bench = Bench(ScriptedProvider(answer(*many), answer(says("Done."))), tools)
    run(bench)
    assert len(ran) == MAX_CALLS
    contents = [event.result.content for event in bench.of(ToolFinished)]
    assert (contents[:MAX_CALLS], contents[MAX_CALLS:]) == (["ok"] * MAX_CALLS, [TOO_MANY] * 3)
    assert bench.kinds().count("ToolStarted") == len(many)
