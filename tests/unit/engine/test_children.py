"""Child loops: started by a tool, below its call; what both dialects and the transcripts show of them."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.engine_fakes import (
    HOLD,
    SPEC,
    Bench,
    FunctionTools,
    NoHooks,
    ScriptedAsker,
    ScriptedProvider,
    TableGate,
    answer,
    calls,
    fails,
    info,
    says,
)
from tests.helpers.fakes import FakeIds
from yume_shim.app.children import open_child
from yume_shim.dialects.flat import FlatDialect
from yume_shim.dialects.nested import NestedDialect
from yume_shim.dialects.order import OrderCheck
from yume_shim.engine.cancel import CancelSignal
from yume_shim.engine.children import MAX_DEPTH
from yume_shim.engine.conversation import Conversation
from yume_shim.engine.session import Session
from yume_shim.host.event_output import EventOutput
from yume_shim.host.writer import LineWriter
from yume_shim.store.entries import Entries
from yume_shim.store.jsonl import JsonlStore
from yume_shim.text.codec import loads
from yume_shim.types.blocks import Message, Text, ToolResult
from yume_shim.types.calls import BeforeCall, StopVerdict
from yume_shim.types.children import ChildRequest
from yume_shim.types.commands import EndOfInput, UserInput
from yume_shim.types.errors import ToolFailed
from yume_shim.types.events import FactNoted, Interrupted, SessionReady, ToolFinished, TurnEnded
from yume_shim.types.outputs import Answer
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.blocks import Json
    from yume_shim.types.calls import PreparedCall
    from yume_shim.types.children import ChildResult
    from yume_shim.types.events import Event, Tagged
    from yume_shim.types.outputs import ToolContext
    from yume_shim.types.ports import Cancel, Dialect


class World:
    """A session on scripted streams with a real output, a real transcript, and a tool that starts children."""

    def __init__(
        self, folder: Path, dialect: Dialect, *scripts: list[Any], hooks: NoHooks | None = None, **more: Any
    ) -> None:
        self.folder = folder
        self.requested: list[ChildRequest] = [ChildRequest("look around", system_prompt="You look.")]
        self.results: list[ChildResult] = []
        self.tagged: list[Tagged] = []
        tools = FunctionTools(Agent=self.agent, Look=lambda given, _: "seen")
        self.bench = Bench(ScriptedProvider(*scripts), tools, **more)
        self.order = OrderCheck(1)
        self.file = folder / "stdout"
        self.fd = os.open(self.file, os.O_WRONLY | os.O_CREAT)
        writer = LineWriter(self.fd, 98_304, wide_escapes=False)
        self.output = EventOutput(
            self.bench.clock, self.bench.ids, dialect, writer, (self.tagged.append, self.order.feed)
        )
        self.transcript = folder / "s-1.jsonl"
        entries = Entries("2.1.325", lambda failure: ("unknown", failure.message), self.bench.ids.uuid)
        self.store = JsonlStore(str(self.transcript), lambda *_: None, entries)
        self.output.store_in(self.store)
        services = replace(
            self.bench.services,
            emit=self.emit,
            open_child=lambda child: open_child(child, self.output, self.store),
            hooks=lambda: hooks,
        )
        self.session = Session(services, SPEC, "s-1", lambda _: SPEC, info)

    def emit(self, event: Event) -> str:
        self.bench.events.append(event)
        return self.output.emit(event)

    def agent(self, given: dict[str, Any], context: ToolContext) -> str:
        assert context.spawn is not None
        request = self.requested[min(len(self.results), len(self.requested) - 1)]
        result = context.spawn(request, context.call_id, context.cancel)
        self.results.append(result)
        return f"{result.outcome}: {result.text}"

    def run(self, text: str = "go") -> list[Json]:
        """One turn; returns what was printed."""
        self.emit(SessionReady(info()))
        self.session.submit(UserInput((Text(text),), text))
        self.session.submit(EndOfInput())
        self.session.run()
        self.store.close()
        os.close(self.fd)
        return [loads(line) for line in self.file.read_bytes().splitlines()]

    def child_lines(self) -> list[list[Json]]:
        files = sorted((self.folder / "s-1" / "subagents").glob("*.jsonl"))
        return [[loads(line) for line in file.read_bytes().splitlines()] for file in files]


START = answer(calls("p1", "Agent"), stop="tool_calls")
CHILD = (answer(says("Looking."), calls("c1", "Look", index=1), stop="tool_calls"), answer(says("All seen.")))


def flat() -> Dialect:
    return FlatDialect("1", FakeIds())


def nested() -> Dialect:
    return NestedDialect("2", FakeIds(), partial=True)


def test_the_flat_dialect_shows_a_child_below_its_call(tmp_path: Path) -> None:
    world = World(tmp_path, flat(), START, *CHILD, answer(says("Done.")))
    lines = world.run()
    inner = [line for line in lines if line.get("parent_tool_use_id") == "p1"]
    assert {line["type"] for line in inner} >= {"text", "tool_use", "tool_result"}
    assert [line["type"] for line in lines].count("result") == 1
    assert [line["type"] for line in lines].count("message_stop") == 1
    assert not {"result", "message_stop", "interrupt"} & {line["type"] for line in inner}
    assert "".join(line["content"] for line in inner if line["type"] == "text") == "Looking.All seen."
    outer = [line for line in lines if "parent_tool_use_id" not in line]
    assert "".join(line["content"] for line in outer if line["type"] == "text") == "Done."
    assert [line["id"] for line in outer if line["type"] == "tool_use"] == ["p1"]


def test_answers_and_calls_of_an_endpoint_that_repeats_its_ids_have_their_own(tmp_path: Path) -> None:
    looks = answer(says("Two."), calls("p1", "Look", index=1), stop="tool_calls")
    start = answer(says("One."), calls("p1", "Agent", index=1), stop="tool_calls")
    lines = World(tmp_path, flat(), start, looks, answer(says("Three.")), answer(says("Four."))).run()
    assert len({line["id"] for line in lines if line["type"] == "text"}) == 4
    shown = [line["id"] for line in lines if line["type"] == "tool_use"]
    assert len(set(shown)) == 2
    assert sorted(line["tool_use_id"] for line in lines if line["type"] == "tool_result") == sorted(shown)


def test_the_claude_dialect_shows_a_child_below_its_call(tmp_path: Path) -> None:
    world = World(tmp_path, nested(), START, *CHILD, answer(says("Done.")))
    lines = world.run()
    inner = [line for line in lines if line.get("parent_tool_use_id") == "p1"]
    assert {line["type"] for line in inner} >= {"assistant", "user"}
    assert not {"result", "system"} & {line["type"] for line in inner}
    assert [line["type"] for line in lines].count("result") == 1
    assert [line.get("subtype") for line in lines].count("init") == 1
    words = [block["text"] for line in inner for block in line.get("message", {}).get("content", ()) if "text" in block]
    assert words == [
        "look around",
        "Looking.",
        "All seen.",
    ]  # the prompt of a child is shown, as the Claude CLI does it


class AgentHooks(NoHooks):
    """Notes for each call which agent made it."""

    def __init__(self, seen: list[tuple[str, str, str]], agent: tuple[str, str] = ("", "")) -> None:
        self.seen, self.agent = seen, agent

    def for_agent(self, agent_id: str, agent_type: str) -> AgentHooks:
        return AgentHooks(self.seen, (agent_id, agent_type))

    def before(self, prepared: PreparedCall, cancel: Cancel) -> BeforeCall:
        self.seen.append((prepared.call.name, *self.agent))
        return BeforeCall()

    def agent_started(self, cancel: Cancel) -> tuple[str, ...]:
        self.seen.append(("started", *self.agent))
        return ("be quick",)

    def stopping(self, text: str, cancel: Cancel, *, active: bool) -> StopVerdict:
        self.seen.append((f"stops with {text!r}", *self.agent))
        return StopVerdict() if active or not self.agent[0] else StopVerdict("look again")


def test_hooks_learn_which_agent_calls_starts_and_ends(tmp_path: Path) -> None:
    hooks = AgentHooks([])
    again = answer(says("Really all."))
    world = World(tmp_path, flat(), START, *CHILD, again, answer(says("Done.")), hooks=hooks)
    world.requested = [ChildRequest("look around", system_prompt="You look.", agent_type="scout")]
    world.run()
    (result,) = world.results
    child = (result.agent_id, "scout")
    assert hooks.seen == [
        ("Agent", "", ""),
        ("started", *child),
        ("Look", *child),
        ("stops with 'All seen.'", *child),
        ("stops with 'Really all.'", *child),
        ("stops with 'Done.'", "", ""),
    ]
    assert (result.outcome, result.text) == ("success", "Really all.")
    _, first, _, last, _ = world.bench.provider.requests
    assert [block.text for block in first.messages[0].blocks if isinstance(block, Text)] == ["look around", "be quick"]
    assert [block.text for block in last.messages[-1].blocks if isinstance(block, Text)] == ["look again"]


def test_a_child_that_repeats_a_failing_call_ends_and_its_parent_goes_on(tmp_path: Path) -> None:
    """Each loop counts on its own: four failures of the parent and four of the child are no reason to end."""
    nope = [answer(calls(f"n{number}", "Nope"), stop="tool_calls") for number in range(8)]
    world = World(tmp_path, flat(), START, *nope, answer(says("Done.")))
    lines = world.run()
    (result,) = world.results
    assert (result.outcome, result.requests) == ("execution_error", 8)
    assert result.limit.startswith("Nope {} failed 8 times with the same result: ")
    assert [line["subtype"] for line in lines if line["type"] == "result"] == ["success"]
    some = [answer(calls(f"m{number}", "Nope"), stop="tool_calls") for number in range(4)]
    (tmp_path / "b").mkdir()
    world = World(tmp_path / "b", flat(), *some, START, *nope[:4], answer(says("Seen.")), answer(says("Done.")))
    lines = world.run()
    assert [line["result"] for line in lines if line["type"] == "result"] == ["Done."]


def test_every_event_of_a_child_carries_its_parent(tmp_path: Path) -> None:
    world = World(tmp_path, flat(), START, *CHILD, answer(says("Done.")))
    world.run()
    shown = [tagged for tagged in world.tagged if not isinstance(tagged.event, FactNoted)]
    kinds = [(type(tagged.event).__name__, tagged.parent_call_id) for tagged in shown]
    begin, end = kinds.index(("ToolStarted", None)), kinds.index(("ToolFinished", None))
    inside = kinds[begin + 1 : end]
    assert {parent for _, parent in inside} == {"p1"}
    assert [name for name, _ in inside if name in ("PromptTaken", "RequestStarted", "ToolStarted", "ToolFinished")] == [
        "PromptTaken",
        "RequestStarted",
        "ToolStarted",
        "ToolFinished",
        "RequestStarted",
    ]
    assert not {"TurnStarted", "TurnEnded", "TurnFailed", "Interrupted"} & {name for name, _ in inside}


def test_a_child_has_its_own_history_prompt_and_tools(tmp_path: Path) -> None:
    world = World(tmp_path, flat(), START, *CHILD, answer(says("Done.")))
    world.requested = [ChildRequest("look around", system_prompt="You look.", tools=("Look",))]
    world.run()
    first, child, again, last = world.bench.provider.requests
    assert [spec.name for spec in first.tools] == ["Agent", "Look"]
    assert (child.system[0], child.system[1].split("\n")[0]) == ("You look.", "# Where you are")
    assert [spec.name for spec in child.tools] == ["Look"]
    assert child.messages == (Message("user", (Text("look around"),)),)
    assert again.messages[:1] == child.messages
    assert last.messages[-1] == Message("user", (ToolResult("p1", "success: All seen.", is_error=False),))


def test_a_child_has_its_own_transcript(tmp_path: Path) -> None:
    world = World(tmp_path, flat(), START, *CHILD, answer(says("Done.")))
    world.run()
    assert b"All seen." not in world.transcript.read_bytes().replace(b"success: All seen.", b"")
    [child] = world.child_lines()
    assert {line["isSidechain"] for line in child} == {True}
    assert {line["sessionId"] for line in child} == {"s-1"}
    assert [line["type"] for line in child] == ["user", "assistant", "assistant", "user", "assistant"]


def test_children_may_run_on_another_model(tmp_path: Path) -> None:
    other = replace(SPEC, id="other-model")
    world = World(tmp_path, flat(), START, answer(says("Seen.")), answer(says("Done.")))
    world.requested = [ChildRequest("look", model=other)]
    world.run()
    assert [request.model.id for request in world.bench.provider.requests] == [SPEC.id, "other-model", SPEC.id]


def test_usage_of_a_turn_excludes_children_and_cost_includes_them(tmp_path: Path) -> None:
    world = World(tmp_path, flat(), START, *CHILD, answer(says("Done.")))
    world.run()
    [ended] = world.bench.of(TurnEnded)
    [result] = world.results
    assert (ended.usage.input, result.usage.input) == (20, 20)
    assert ended.model_usage[0].usage.input == 40
    assert (result.requests, result.tool_calls) == (2, 1)
    assert ended.total_cost_usd == pytest.approx(4 * 60 / 1_000_000)


def test_the_budget_is_shared(tmp_path: Path) -> None:
    world = World(tmp_path, flat(), START, *CHILD, answer(says("Done.")), max_budget_usd=0.0001)
    world.run()
    [ended] = world.bench.of(TurnEnded)
    assert [result.outcome for result in world.results] == ["max_budget"]
    assert (ended.outcome, ended.limit) == ("max_budget", "$0.0001")
    assert len(world.bench.provider.requests) == 2


def test_a_limit_of_requests_is_the_childs_own(tmp_path: Path) -> None:
    world = World(tmp_path, flat(), START, *CHILD[:1], answer(says("Done.")))
    world.requested = [ChildRequest("look", max_turns=1)]
    world.run()
    [ended] = world.bench.of(TurnEnded)
    assert [(result.outcome, result.text) for result in world.results] == [("max_turns", "Looking.")]
    assert (ended.outcome, ended.text) == ("success", "Done.")


def test_a_provider_that_fails_a_child_does_not_fail_the_turn(tmp_path: Path) -> None:
    world = World(tmp_path, flat(), START, fails(kind="bad_request", retryable=False), answer(says("Done.")))
    lines = world.run()
    [result] = world.results
    assert result.outcome == "provider_error"
    assert result.failure is not None
    assert [line["type"] for line in lines].count("result") == 1
    assert world.bench.of(TurnEnded)[0].outcome == "success"


def test_an_interrupt_reaches_the_child_and_every_call_gets_its_result(tmp_path: Path) -> None:
    inside = threading.Event()
    world = World(
        tmp_path,
        flat(),
        START,
        [*answer(says("Look"), calls("c1", "Look", index=1))[:-1], inside.set, HOLD],
    )
    stopper = threading.Thread(target=lambda: inside.wait(10) and world.session.interrupt("user"))
    stopper.start()
    lines = world.run()
    stopper.join()
    assert world.results == []
    assert [event.reason for event in world.bench.of(Interrupted)] == ["user"]
    results = {line["tool_use_id"]: line for line in lines if line["type"] == "tool_result"}
    assert set(results) == {"c1", "p1"}
    assert [line["type"] for line in lines][-3:] == ["interrupt", "result", "message_stop"]


def test_denials_inside_are_denials_of_the_turn(tmp_path: Path) -> None:
    world = World(tmp_path, flat(), START, *CHILD, answer(says("Done.")), gate=TableGate(Look="deny"))
    world.run()
    assert [denial.tool_name for denial in world.bench.of(TurnEnded)[0].denials] == ["Look"]


def test_a_denial_that_stops_the_turn_stops_it_from_inside_a_child(tmp_path: Path) -> None:
    asker = ScriptedAsker(Answer("deny", message="no", interrupt=True))
    world = World(tmp_path, flat(), START, *CHILD[:1], gate=TableGate(Look="ask"), asker=asker)
    lines = world.run()
    [ended] = world.bench.of(TurnEnded)
    assert (ended.outcome, [denial.tool_name for denial in ended.denials]) == ("cancelled", ["Look"])
    assert {line["tool_use_id"] for line in lines if line["type"] == "tool_result"} == {"c1", "p1"}


def test_the_nesting_of_children_is_limited(tmp_path: Path) -> None:
    deeper = [answer(calls(f"p{depth}", "Agent"), stop="tool_calls") for depth in range(1, MAX_DEPTH + 2)]
    back = [answer(says(f"back {depth}")) for depth in range(MAX_DEPTH + 1)]
    world = World(tmp_path, flat(), *deeper, *back)
    world.run()
    finished = [tagged.event for tagged in world.tagged if isinstance(tagged.event, ToolFinished)]
    assert "No such tool available: Agent" in str(finished[0].result.content)
    assert [result.text for result in world.results] == ["back 0", "back 1", "back 2"]
    assert len(world.child_lines()) == MAX_DEPTH


def test_an_engine_without_an_output_for_children_starts_none() -> None:
    from yume_shim.engine.children import Children

    bench = Bench(ScriptedProvider())
    parent = Conversation(bench.services, SPEC, "s-1")
    with pytest.raises(ToolFailed, match="No agent can be started here"):
        Children(bench.services, parent, SPEC, 0, []).run(ChildRequest("x"), "p1", CancelSignal())
