"""Work that ignores an interrupt: the turn ends all the same, each call has its one result, and nothing comes late."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.api_rules import broken_rules
from tests.helpers.engine_fakes import SPEC, Bench, FunctionTools, NoHooks, ScriptedProvider, answer, calls, info, says
from yume_shim.app.closing import close_parts
from yume_shim.context.repair import repair
from yume_shim.engine.cancel import CancelSignal
from yume_shim.engine.conversation import Conversation
from yume_shim.engine.session import Session
from yume_shim.engine.turn import Turn
from yume_shim.providers.apis.anthropic_messages.encode import encode_request
from yume_shim.types.blocks import Message, Text, ToolResult
from yume_shim.types.commands import EndOfInput, UserInput
from yume_shim.types.errors import Abandoned
from yume_shim.types.events import BlockDelta, NoteAdded, Notice, ResponseFailed, ToolFinished, TurnEnded
from yume_shim.types.models import Request
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.types.events import ModelEvent

GRACE_S = 0.1


class Stuck:
    """Work that does not heed its signal until the test lets it go."""

    def __init__(self) -> None:
        self.begun, self.go, self.over = threading.Event(), threading.Event(), threading.Event()

    def hang(self) -> None:
        self.begun.set()
        assert self.go.wait(20)

    def let_go(self) -> None:
        self.go.set()


def turn(bench: Bench, cancel: CancelSignal) -> tuple[Turn, Conversation]:
    conversation = Conversation(bench.services, SPEC, "s-1", lambda _: SPEC)
    conversation.prepare()
    conversation.history.append(Message("user", (Text("go"),)))
    return Turn(bench.services, conversation, info(), cancel, lambda _: (), lambda: "user"), conversation


def interrupted(bench: Bench, stuck: Stuck) -> tuple[TurnEnded, Conversation]:
    """Run a turn and interrupt it when the work hangs."""
    cancel = CancelSignal(grace_s=GRACE_S)
    running, conversation = turn(bench, cancel)

    def stop() -> None:
        stuck.begun.wait(20)
        time.sleep(0.05)  # a call beside it has ended by now
        cancel.set()

    threading.Thread(target=stop, daemon=True).start()
    return running.run(), conversation


def abandoned(bench: Bench) -> list[str]:
    return [event.text for event in bench.of(Notice) if event.code == "abandoned"]


def valid(messages: Any) -> bool:
    """Would a strict API take this history with one more prompt?"""
    asked = repair((*messages, Message("user", (Text("and now?"),))), SPEC).messages
    assert not broken_rules("anthropic-messages", encode_request(Request(SPEC, asked)).body, set())
    return True


@pytest.mark.parametrize("side_by_side", [False, True])
def test_a_tool(side_by_side: bool) -> None:
    stuck = Stuck()

    def slow(given: Any, context: Any) -> str:
        stuck.hang()
        stuck.over.set()
        return "late"

    tools = FunctionTools(Slow=slow, Quick=lambda given, _: "quick")
    tools.parallel = {"Slow", "Quick"} if side_by_side else set()
    script = answer(calls("c1", "Slow"), calls("c2", "Quick", index=1))
    bench = Bench(ScriptedProvider(script), tools, tool_concurrency=8)
    end, conversation = interrupted(bench, stuck)
    assert (end.outcome, end.phase) == ("cancelled", "tools")
    results = {
        block.call_id: str(block.content) for block in conversation.history[-2].blocks if isinstance(block, ToolResult)
    }
    assert set(results) == {"c1", "c2"}
    assert "did not stop when told to" in results["c1"]
    assert (results["c2"] == "quick") is side_by_side
    assert abandoned(bench) == [
        "The call of Slow did not stop when told to and was abandoned. It may still be running; its result is not used."
    ]
    assert valid(conversation.history)
    before, history = list(bench.events), list(conversation.history)
    stuck.let_go()
    assert stuck.over.wait(20)
    time.sleep(0.05)
    assert (bench.events, conversation.history) == (before, history)


def test_a_stream_that_goes_on_by_itself() -> None:
    stuck = Stuck()

    class Deaf(ScriptedProvider):
        def stream(self, request: Any, cancel: Any) -> Iterator[ModelEvent]:
            yield from answer(says("I am a"))[:3]
            stuck.hang()
            yield BlockDelta(0, "text", "late")
            stuck.over.set()
            yield ResponseFailed(None)  # type: ignore[arg-type]

    bench = Bench(Deaf())
    end, conversation = interrupted(bench, stuck)
    assert (end.outcome, end.phase) == ("cancelled", "streaming")
    assert abandoned(bench)[0].startswith("The request to test/test-model did not stop")
    assert valid(conversation.history)
    before = list(bench.events)
    stuck.let_go()
    assert stuck.over.wait(20)
    time.sleep(0.05)
    assert bench.events == before


def test_a_hook_after_the_call_learns_nothing() -> None:
    """The late end of an abandoned call reaches neither hooks nor the model."""
    stuck, told = Stuck(), []

    class Listening(NoHooks):
        def after(self, prepared: Any, output: Any, cancel: Any) -> Any:
            told.append(output)
            return super().after(prepared, output, cancel)

    def slow(given: Any, context: Any) -> str:
        stuck.hang()
        threading.Timer(0.02, stuck.over.set).start()
        raise RuntimeError("late")

    bench = Bench(ScriptedProvider(answer(calls("c1", "Slow"))), FunctionTools(Slow=slow))
    bench.services = replace(bench.services, hooks=Listening)
    interrupted(bench, stuck)
    stuck.let_go()
    assert stuck.over.wait(20)
    assert (told, bench.of(NoteAdded)) == ([], [])


def test_a_guard_before_the_call() -> None:
    stuck = Stuck()

    class Hanging(NoHooks):
        def before(self, prepared: Any, cancel: Any) -> Any:
            stuck.hang()
            return super().before(prepared, cancel)

    bench = Bench(ScriptedProvider(answer(calls("c1", "Up"))), FunctionTools(Up=lambda given, _: "ran"))
    bench.services = replace(bench.services, hooks=Hanging)
    end, conversation = interrupted(bench, stuck)
    assert end.outcome == "cancelled"
    [finished] = bench.of(ToolFinished)
    assert "It was not run." in str(finished.result.content)
    assert valid(conversation.history)
    stuck.let_go()


def test_a_second_interrupt_ends_the_patience() -> None:
    """And the session goes on with the next prompt."""
    stuck = Stuck()
    tools = FunctionTools(Slow=lambda given, _: stuck.hang())
    bench = Bench(ScriptedProvider(answer(calls("c1", "Slow")), answer(says("Next."))), tools)
    session = Session(bench.services, SPEC, "s-1", lambda _: SPEC, info)

    def twice() -> None:
        stuck.begun.wait(20)
        assert session.interrupt("user")
        assert session.interrupt("user")
        session.submit(UserInput((Text("next"),), "next"))
        session.submit(EndOfInput())

    threading.Thread(target=twice, daemon=True).start()
    session.submit(UserInput((Text("go"),), "go"))
    begun = time.monotonic()
    session.run()
    assert time.monotonic() - begun < 4.5  # without the second one: five seconds
    assert [end.outcome for end in bench.of(TurnEnded)] == ["cancelled", "success"]
    assert valid(bench.provider.requests[1].messages)
    stuck.let_go()


def test_nobody_is_to_blame_while_the_host_does_not_read() -> None:
    """Work that waits for stdout is not abandoned: its end could not be told either."""
    stuck, blocked = Stuck(), [True]

    def slow(given: Any, context: Any) -> str:
        stuck.hang()
        return "it was printed in the end"

    bench = Bench(ScriptedProvider(answer(calls("c1", "Slow"))), FunctionTools(Slow=slow))
    bench.services = replace(bench.services, output_blocked=lambda: blocked[0])
    threading.Timer(3 * GRACE_S, stuck.let_go).start()
    interrupted(bench, stuck)
    assert abandoned(bench) == []
    assert [event.result.content for event in bench.of(ToolFinished)] == ["it was printed in the end"]


def test_children_give_up_before_their_parents() -> None:
    cancel = CancelSignal(grace_s=0.2)
    stuck = Stuck()
    jobs = [cancel.job(stuck.hang, f"depth {depth}", depth) for depth in (0, 1, 2)]
    cancel.set()
    ends = []
    for job in reversed(jobs):
        with pytest.raises(Abandoned):
            job.result()
        ends.append(time.monotonic())
    assert ends == sorted(ends)
    below = CancelSignal(cancel)
    cancel.hurry()
    assert below.hurries()
    stuck.let_go()


def test_a_part_that_does_not_close() -> None:
    stuck, closed, logged = Stuck(), [], []

    class Quick:
        def close(self) -> None:
            closed.append("quick")

    class Failing:
        def close(self) -> None:
            raise OSError("broken")

    class Hanging:
        def close(self) -> None:
            stuck.hang()

    close_parts(lambda level, text: logged.append(text), Quick(), Failing(), Quick(), Hanging(), seconds=GRACE_S)
    assert closed == ["quick", "quick"]
    assert logged == [
        "closing Failing failed: OSError: broken",
        "Hanging did not close within 0.1 s and was abandoned",
    ]
    stuck.let_go()
