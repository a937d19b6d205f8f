"""Sessions: prompts in order, waiting and joined prompts, interrupts before and during turns, switches."""

from __future__ import annotations

import threading
from typing import Any

from tests.helpers.engine_fakes import HOLD, SPEC, Bench, FunctionTools, ScriptedProvider, answer, calls, info, says
from yume_shim.engine.inbox import MAX_WAITING
from yume_shim.engine.session import Session
from yume_shim.types.blocks import Text, ToolResult
from yume_shim.types.commands import Clear, EndOfInput, HistoryInput, SetModel, UserInput
from yume_shim.types.errors import BadInvocation
from yume_shim.types.events import (
    BlockDelta,
    BlockStarted,
    CommandRefused,
    Interrupted,
    ModelChanged,
    PromptTaken,
    ResponseStarted,
    SessionChanged,
    TurnEnded,
)
from yume_shim.types.models import ModelSpec
from yume_shim.types.value import replace


def prompt(text: str, **more: Any) -> UserInput:
    return UserInput((Text(text),), text, **more)


def session(bench: Bench) -> Session:
    def resolve(text: str) -> ModelSpec:
        if text == "nope":
            raise BadInvocation("unknown model")
        return replace(SPEC, id=text)

    return Session(bench.services, SPEC, "s-1", resolve, info)


def asked(bench: Bench, place: int) -> list[str]:
    """The user texts of a request."""
    messages = bench.provider.requests[place].messages
    return [b.text for m in messages if m.role == "user" for b in m.blocks if isinstance(b, Text)]


def test_one_turn_per_prompt_in_the_flat_dialect() -> None:
    bench = Bench(ScriptedProvider(answer(says("1")), answer(says("2")), answer(says("3"))))
    s = session(bench)
    for text in ("a", "b", "c"):
        s.submit(prompt(text))
    s.submit(EndOfInput())
    s.run()
    assert [end.text for end in bench.of(TurnEnded)] == ["1", "2", "3"]
    assert asked(bench, 2) == ["a", "b", "c"]


def run_one(s: Session) -> None:
    """Run one prompt to the end of the input."""
    s.submit(prompt("go"))
    s.submit(EndOfInput())
    s.run()


def test_a_steering_prompt_goes_with_the_results() -> None:
    tools = FunctionTools(Up=lambda given, _: "ok" if s.steer(prompt("also this", uuid="p-1")) else "not running")
    bench = Bench(ScriptedProvider(answer(calls("c1", "Up")), answer(says("Done."))), tools)
    s = session(bench)
    assert not s.steer(prompt("too early", uuid="p-0"))
    run_one(s)
    assert [end.text for end in bench.of(TurnEnded)] == ["Done."]
    blocks = bench.provider.requests[1].messages[-1].blocks
    assert (type(blocks[0]), blocks[1]) == (ToolResult, Text("also this"))
    assert [(taken.uuid, taken.joined) for taken in bench.of(PromptTaken)] == [("", False), ("p-1", True)]
    assert not s.steer(prompt("too late", uuid="p-2"))


def test_a_steering_prompt_keeps_a_turn_going_that_would_end() -> None:
    bench = Bench(ScriptedProvider(answer(says("First.")), answer(says("Second."))))
    s = session(bench)
    bench.provider.scripts[0].insert(0, lambda: s.steer(prompt("wait", uuid="p-1")))
    run_one(s)
    assert [end.text for end in bench.of(TurnEnded)] == ["Second."]
    assert asked(bench, 1) == ["go", "wait"]


def test_a_steering_prompt_that_comes_too_late_gets_its_own_turn() -> None:
    bench = Bench(ScriptedProvider(answer(says("First.")), answer(says("Second."))), max_turns=1)
    s = session(bench)
    bench.provider.scripts[0].insert(0, lambda: s.steer(prompt("wait", uuid="p-1")))
    run_one(s)
    assert [end.text for end in bench.of(TurnEnded)] == ["First.", "Second."]
    assert [taken.joined for taken in bench.of(PromptTaken)] == [False, False]


def test_waiting_prompts_are_joined_in_the_claude_forms() -> None:
    bench = Bench(ScriptedProvider(answer(says("1")), answer(says("2"))), merge_waiting=True)
    s = session(bench)
    for text in ("a", "b", "c"):
        s.submit(prompt(text))
    s.submit(EndOfInput())
    s.run()
    assert [end.text for end in bench.of(TurnEnded)] == ["1", "2"]
    assert asked(bench, 1) == ["a", "b\nc"]


def test_prompts_during_tools_are_sent_with_the_results() -> None:
    tools = FunctionTools(Up=lambda given, _: s.submit(prompt("also this")) and "ok")
    bench = Bench(ScriptedProvider(answer(calls("c1", "Up")), answer(says("Done."))), tools, merge_waiting=True)
    s = session(bench)
    s.submit(prompt("go"))
    thread = threading.Thread(target=s.run)
    thread.start()
    while not bench.of(TurnEnded):
        thread.join(0.01)
    s.submit(EndOfInput())
    thread.join(10)
    last = bench.provider.requests[1].messages[-1]
    assert last.blocks == (ToolResult("c1", "ok", is_error=False), Text("also this"))
    assert len(bench.of(TurnEnded)) == 1


def test_interrupt_reaches_a_prompt_that_has_not_started() -> None:
    bench = Bench(ScriptedProvider(answer(says("never")), answer(says("next"))))
    s = session(bench)
    s.submit(prompt("a"))
    assert s.interrupt("user")
    s.submit(prompt("b"))
    s.submit(EndOfInput())
    s.run()
    assert [end.outcome for end in bench.of(TurnEnded)] == ["cancelled", "success"]
    assert bench.of(Interrupted) == [Interrupted("user", "streaming")]


def test_interrupt_while_idle_does_nothing() -> None:
    bench = Bench(ScriptedProvider(answer(says("1"))))
    s = session(bench)
    assert not s.interrupt("user")
    s.submit(prompt("a"))
    s.submit(EndOfInput())
    s.run()
    assert [end.outcome for end in bench.of(TurnEnded)] == ["success"]


def test_the_session_continues_after_an_interrupt() -> None:
    started = threading.Event()
    stream = [ResponseStarted("m", "m"), BlockStarted(0, Text("")), BlockDelta(0, "text", "Hal"), started.set, HOLD]
    bench = Bench(ScriptedProvider(stream, answer(says("next"))))
    s = session(bench)
    thread = threading.Thread(target=s.run)
    thread.start()
    s.submit(prompt("a"))
    assert started.wait(10)
    assert s.interrupt("user")
    s.submit(prompt("b"))
    s.submit(EndOfInput())
    thread.join(10)
    assert not thread.is_alive()
    assert [end.outcome for end in bench.of(TurnEnded)] == ["cancelled", "success"]
    roles = [message.role for message in bench.provider.requests[1].messages]
    assert roles == ["user", "assistant", "user"]


def test_a_prompt_of_priority_now_takes_over() -> None:
    started = threading.Event()
    stream = [ResponseStarted("m", "m"), BlockStarted(0, Text("")), BlockDelta(0, "text", "Hal"), started.set, HOLD]
    bench = Bench(ScriptedProvider(stream, answer(says("now")), answer(says("later"))))
    s = session(bench)
    thread = threading.Thread(target=s.run)
    thread.start()
    s.submit(prompt("a"))
    assert started.wait(10)
    s.submit(prompt("b"))
    s.submit(prompt("now", priority="now"))
    s.submit(EndOfInput())
    thread.join(10)
    assert [(end.outcome, end.text) for end in bench.of(TurnEnded)] == [
        ("success", ""),
        ("success", "now"),
        ("success", "later"),
    ]


def test_repeated_uuid_is_not_run_again() -> None:
    bench = Bench(ScriptedProvider(answer(says("1"))))
    s = session(bench)
    s.submit(prompt("a", uuid="u-1"))
    s.submit(prompt("a", uuid="u-1"))
    s.submit(EndOfInput())
    s.run()
    assert len(bench.of(TurnEnded)) == 1
    assert [(taken.uuid, taken.repeated) for taken in bench.of(PromptTaken)] == [("u-1", False), ("u-1", True)]


def test_a_prompt_without_a_query_is_only_added_to_the_history() -> None:
    bench = Bench(ScriptedProvider(answer(says("1"))))
    s = session(bench)
    s.submit(prompt("remember", should_query=False))
    s.submit(prompt("a"))
    s.submit(EndOfInput())
    s.run()
    assert [(end.text, end.num_turns) for end in bench.of(TurnEnded)] == [("", 0), ("1", 1)]
    assert asked(bench, 0) == ["remember", "a"]


def test_assistant_lines_enter_the_history() -> None:
    bench = Bench(ScriptedProvider(answer(says("1")), answer(says("2"))))
    s = session(bench)
    s.submit(prompt("a"))
    s.submit(HistoryInput((Text("I said so"),)))
    s.submit(prompt("b"))
    s.submit(EndOfInput())
    s.run()
    assert "I said so" in str(bench.provider.requests[1].messages)


def test_model_switch_and_its_failure() -> None:
    bench = Bench(ScriptedProvider(answer(says("1"))))
    s = session(bench)
    s.submit(SetModel("nope"))
    s.submit(SetModel("other"))
    s.submit(prompt("a"))
    s.submit(EndOfInput())
    s.run()
    assert bench.of(CommandRefused) == [CommandRefused("unknown model", "config")]
    assert bench.of(ModelChanged) == [ModelChanged("test", "other", "host")]
    assert bench.provider.requests[0].model.id == "other"


def test_clear_drops_the_history_and_changes_the_id() -> None:
    bench = Bench(ScriptedProvider(answer(says("1")), answer(says("2"))))
    s = session(bench)
    s.submit(prompt("a"))
    s.submit(Clear())
    s.submit(prompt("b"))
    s.submit(EndOfInput())
    s.run()
    [changed] = bench.of(SessionChanged)
    assert changed.previous_session_id == "s-1"
    assert asked(bench, 1) == ["b"]
    assert s.info().session_id == changed.session_id


def test_the_queue_is_bounded() -> None:
    s = session(Bench(ScriptedProvider()))
    assert all(s.submit(prompt(str(n))) for n in range(MAX_WAITING))
    assert not s.submit(prompt("one too many"))
    assert s.submit(EndOfInput())


def test_shut_down_drops_waiting_prompts() -> None:
    started = threading.Event()
    bench = Bench(ScriptedProvider([started.set, HOLD]))
    s = session(bench)
    thread = threading.Thread(target=s.run)
    thread.start()
    s.submit(prompt("a"))
    s.submit(prompt("b", uuid="u-2"))
    assert started.wait(10)
    assert s.waiting_uuids() == ("u-2",)
    s.shut_down("signal")
    thread.join(10)
    assert not thread.is_alive()
    assert bench.of(Interrupted) == [Interrupted("signal", "streaming")]
    assert len(bench.of(TurnEnded)) == 1


def test_a_waiting_prompt_can_be_withdrawn() -> None:
    bench = Bench(ScriptedProvider(answer(says("1"))))
    s = session(bench)
    s.submit(prompt("a", uuid="u-1"))
    s.submit(prompt("b", uuid="u-2"))
    assert s.withdraw("u-2")
    assert not s.withdraw("u-2")
    s.submit(EndOfInput())
    s.run()
    assert len(bench.of(TurnEnded)) == 1
