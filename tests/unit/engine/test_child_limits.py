"""Limits of children: which agents may start, how many, on which provider; what a line of progress says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.engine_fakes import SPEC, Bench, FunctionTools, NoHooks, ScriptedProvider, answer, calls, says
from yume_shim.engine.cancel import CancelSignal
from yume_shim.engine.child_reports import doing
from yume_shim.engine.children import MAX_RUNNING, Children
from yume_shim.engine.conversation import Conversation
from yume_shim.engine.tasks import Task, Tasks
from yume_shim.engine.toolbox import ToolLimit
from yume_shim.types.blocks import Message, Text, ToolCall
from yume_shim.types.calls import StopVerdict
from yume_shim.types.child import Child
from yume_shim.types.child_texts import message_text
from yume_shim.types.children import ChildRequest
from yume_shim.types.errors import Cancelled, ToolFailed
from yume_shim.types.events import ResponseEnded, ToolFinished
from yume_shim.types.models import ToolSpec
from yume_shim.types.side_events import TaskNotification, TaskProgress, TaskStarted
from yume_shim.types.tasks import TaskFacts
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.events import Event
    from yume_shim.types.ports import Cancel


class Output:
    """Where the events of children go in these tests: nowhere."""

    transcript = ""

    def __init__(self, child: Child) -> None:
        self.child = child

    def emit(self, event: Event) -> str:
        return ""

    def close(self) -> None:
        pass


class World:
    """Children of a session without a session."""

    def __init__(self, *scripts: list[Any], **services: Any) -> None:
        self.provider = ScriptedProvider(*scripts)
        self.bench = Bench(self.provider, FunctionTools(Look=lambda given, _: "seen", Agent=lambda given, _: ""))
        self.events: list[Event] = []
        self.tasks = Tasks(self.keep, self.bench.services.ids.uuid, lambda _: None)
        services = {"open_child": Output, "open_tasks": lambda: self.tasks, **services}
        self.services = replace(self.bench.services, **services)

    def keep(self, event: Event) -> str:
        self.events.append(event)
        return ""

    def children(self, depth: int = 0) -> Children:
        return Children(self.services, Conversation(self.services, SPEC, "s-1"), SPEC, depth, [])


def test_a_child_is_reported_as_a_task() -> None:
    world = World(answer(calls("c1", "Look"), stop="tool_calls"), answer(says("Seen.")))
    result = world.children().run(ChildRequest("Look.", "scout", "look"), "p1", CancelSignal())
    assert (result.text, result.tool_calls, result.tools_used) == ("Seen.", 1, ("Look",))
    kinds = [type(event) for event in world.events if not type(event).__name__.startswith("TaskU")]
    assert kinds == [TaskStarted, TaskProgress, TaskNotification]
    started = world.events[0]
    assert isinstance(started, TaskStarted)
    facts = replace(started.facts, run_id="")
    assert facts == TaskFacts(result.agent_id, "", "local_agent", "look", "p1", "scout", "Look.", 1, "")


def test_an_agent_starts_only_those_that_its_definition_names() -> None:
    world = World(agent_types=("tester",))
    with pytest.raises(ToolFailed, match="may only start these agents: tester"):
        world.children(1).run(ChildRequest("x", "reviewer"), "p1", CancelSignal())
    assert world.events == []


def test_no_more_than_a_number_of_agents_run_at_once() -> None:
    world = World()
    for number in range(MAX_RUNNING):
        world.tasks.begin(TaskFacts(f"a{number}", "", "local_agent", "d", f"c{number}", depth=1))
    with pytest.raises(ToolFailed, match=f"{MAX_RUNNING} agents run already"):
        world.children().run(ChildRequest("x"), "p1", CancelSignal())


def test_an_agent_of_an_untrusted_folder_stays_at_the_provider() -> None:
    other = replace(SPEC, id="m-2", endpoint=replace(SPEC.endpoint, base_url="http://elsewhere"))
    near = replace(SPEC, id="m-3")
    world = World(answer(says("one")), answer(says("two")), answer(says("three")))
    for request in (
        ChildRequest("x", model=other, same_provider=True),
        ChildRequest("x", model=near, same_provider=True),
        ChildRequest("x", model=other),
    ):
        world.children().run(request, "p1", CancelSignal())
    assert [request.model.id for request in world.provider.requests] == [SPEC.id, "m-3", "m-2"]


def test_the_tool_for_agents_ends_with_the_depth() -> None:
    world = World(answer(says("one")), answer(says("two")))
    world.children(0).run(ChildRequest("x"), "p1", CancelSignal())
    world.children(2).run(ChildRequest("x"), "p1", CancelSignal())
    first, second = world.provider.requests
    assert [{spec.name for spec in request.tools} for request in (first, second)] == [{"Look", "Agent"}, {"Look"}]
    with pytest.raises(ToolFailed, match="nested 3 deep"):
        world.children(3).run(ChildRequest("x"), "p1", CancelSignal())


def test_an_agent_that_starts_in_the_moment_of_an_interrupt_does_not_run() -> None:
    world, cancel = World(), CancelSignal()
    cancel.set()
    with pytest.raises(Cancelled):
        world.children().launch(ChildRequest("x", description="d"), "p1", cancel)
    [ended] = [event for event in world.events if isinstance(event, TaskNotification)]
    assert (ended.end.status, world.provider.requests) == ("killed", [])


def test_an_agent_in_the_background_ends_with_its_report() -> None:
    world = World(answer(says("Report.")))
    launched = world.children().launch(ChildRequest("x", "scout", "look"), "p1", CancelSignal())
    task = world.tasks.find(launched.agent_id)
    assert task is not None
    assert task.wait(30)
    assert task.ended is not None
    assert (task.ended.status, task.ended.result) == ("completed", "Report.")


def test_a_running_agent_reads_messages_and_says_which_came_too_late() -> None:
    world = World(
        answer(calls("c1", "Look"), stop="tool_calls"), answer(says("Seen.")), answer(says("Seen, and heard twice."))
    )

    def task() -> Task:
        [found] = world.tasks.all()
        return found

    class Talking(Output):
        """Sends a message while the call runs, one when the agent has finished, and one after that."""

        def emit(self, event: Event) -> str:
            if isinstance(event, ToolFinished):
                assert task().post("One.")
            elif isinstance(event, ResponseEnded) and len(world.provider.requests) == 2:
                assert task().post("Two.")
            return ""

    hooks = LateMessage(lambda: task().post("Three."))
    world.services = replace(world.services, open_child=Talking, hooks=lambda: hooks)
    launched = world.children().launch(ChildRequest("Look.", "scout", "look"), "p1", CancelSignal())
    assert task().wait(30)
    end = task().ended
    assert end is not None
    assert (end.result, hooks.posted, task().post("Four.")) == ("Seen, and heard twice.", [True], False)
    assert "1 message(s) came too late" in end.told
    texts = [
        [block.text for block in request.messages[-1].blocks if isinstance(block, Text)]
        for request in world.provider.requests
    ]
    assert texts[1:] == [[message_text("One.")], [message_text("Two.")]]
    assert launched.agent_id == task().facts.task_id


class LateMessage(NoHooks):
    """Hooks that send a message when the agent is about to end."""

    def __init__(self, post: Callable[[], bool]) -> None:
        self._post = post
        self.posted: list[bool] = []

    def for_agent(self, agent_id: str, agent_type: str) -> LateMessage:
        return self

    def stopping(self, text: str, cancel: Cancel, *, active: bool) -> StopVerdict:
        self.posted.append(self._post())
        return StopVerdict()


def test_an_agent_that_goes_on_keeps_its_first_call_and_history() -> None:
    opened: list[Child] = []

    class Listed(Output):
        def __init__(self, child: Child) -> None:
            super().__init__(child)
            opened.append(child)

    world = World(answer(says("More.")), open_child=Listed)
    before = (Message("user", (Text("Look."),)), Message("assistant", (Text("Seen."),)))
    request = ChildRequest("Again.", "scout", "look", history=before, agent_id="a1", begun_by="p1", leaf="l9")
    assert world.children().run(request, "p2", CancelSignal()).agent_id == "a1"
    [task] = world.tasks.all()
    assert (task.facts.task_id, task.facts.call_id) == ("a1", "p2")
    assert [(child.call_id, child.leaf) for child in opened] == [("p1", "l9")]
    [sent] = world.provider.requests
    said = [block.text for message in sent.messages for block in message.blocks if isinstance(block, Text)]
    assert said[-3:] == ["Look.", "Seen.", "Again."]


@pytest.mark.parametrize(
    ("limit", "allowed"),
    [
        (ToolLimit(), ["Read", "Agent", "mcp__kit__a", "mcp__kit_two__b", "StructuredOutput"]),
        (ToolLimit(("Read",)), ["Read", "StructuredOutput"]),
        (ToolLimit(("Task",)), ["Agent", "StructuredOutput"]),
        (ToolLimit(("mcp__kit",)), ["mcp__kit__a", "StructuredOutput"]),
        (ToolLimit(("mcp__kit__*",)), ["mcp__kit__a", "StructuredOutput"]),
        (ToolLimit(("mcp__*",)), ["mcp__kit__a", "mcp__kit_two__b", "StructuredOutput"]),
        (ToolLimit(None, ("Agent", "mcp__kit_two")), ["Read", "mcp__kit__a", "StructuredOutput"]),
        (ToolLimit(()), ["StructuredOutput"]),
    ],
)
def test_tools_of_an_agent(limit: ToolLimit, allowed: list[str]) -> None:
    specs = [
        ToolSpec("Read", "", {}),
        ToolSpec("Agent", "", {}, aliases=("Task",), source="agents"),
        ToolSpec("mcp__kit__a", "", {}, source="mcp"),
        ToolSpec("mcp__kit_two__b", "", {}, source="mcp"),
        ToolSpec("StructuredOutput", "", {}, source="engine"),
    ]
    assert [spec.name for spec in specs if limit.allows(spec)] == allowed


@pytest.mark.parametrize(
    ("spec", "given", "expected"),
    [
        (ToolSpec("Read", "", {}, kind="read", path_field="file_path"), {"file_path": "/a/b.txt"}, "Reading b.txt"),
        (ToolSpec("Write", "", {}, kind="edit", path_field="file_path"), {"file_path": "b.txt"}, "Writing b.txt"),
        (ToolSpec("Bash", "", {}, kind="shell", command_field="command"), {"command": "a\n  b"}, "Running a b"),
        (ToolSpec("Bash", "", {}, kind="shell", command_field="command"), {"command": 5}, "Bash"),
        (ToolSpec("Agent", "", {}, describing_field="description"), {"description": "look"}, "look"),
        (ToolSpec("Grep", "", {}, kind="search", describing_field="p"), {"p": "x" * 200}, f"Searching {'x' * 79}…"),
        (None, {"a": 1}, "Odd"),
    ],
)
def test_what_a_line_of_progress_says(spec: ToolSpec | None, given: dict[str, Any], expected: str) -> None:
    assert doing(ToolCall("c", "Odd" if spec is None else spec.name, given), spec) == expected
