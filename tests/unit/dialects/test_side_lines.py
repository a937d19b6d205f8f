"""Lines beside the turns: states, withdrawn prompts, background tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import FakeIds
from tests.helpers.record_check import check_lines
from yume_shim.dialects.flat import FlatDialect
from yume_shim.dialects.nested import NestedDialect
from yume_shim.dialects.records.index import FLAT, NESTED
from yume_shim.types.events import (
    PromptWithdrawn,
    SessionEnding,
    SessionInfo,
    StateChanged,
    Tagged,
    TurnStarted,
)
from yume_shim.types.side_events import (
    TaskNotification,
    TaskProgress,
    TasksChanged,
    TaskStarted,
    TaskUpdated,
)
from yume_shim.types.tasks import TaskEnd, TaskFacts, TaskOrigin, TaskUsage

FACTS = TaskFacts("bash_1", "r1", "local_bash", "wait", "c1")
AGENT = TaskFacts("a1", "r2", "local_agent", "look", "c2", "helper", "Look here", 2, "a0")

if TYPE_CHECKING:
    from yume_shim.types.events import Event

USAGE = {"total_tokens": 15, "tool_uses": 1, "duration_ms": 500}

CASES: list[tuple[Event, dict[str, object], bool]] = [
    (
        StateChanged("requires_action"),
        {"type": "system", "subtype": "session_state_changed", "state": "requires_action", "sdk_host_only": True},
        False,
    ),
    (PromptWithdrawn("u-9"), {"type": "command_lifecycle", "command_uuid": "u-9", "state": "cancelled"}, False),
    (
        TaskStarted(FACTS),
        {
            "type": "system",
            "subtype": "task_started",
            "task_id": "bash_1",
            "run_id": "r1",
            "tool_use_id": "c1",
            "description": "wait",
            "is_backgrounded": True,
            "task_type": "local_bash",
        },
        True,
    ),
    (
        TaskStarted(AGENT, backgrounded=False),
        {
            "type": "system",
            "subtype": "task_started",
            "task_id": "a1",
            "run_id": "r2",
            "tool_use_id": "c2",
            "description": "look",
            "subagent_type": "helper",
            "is_backgrounded": False,
            "spawn_depth": 2,
            "parent_task_id": "a0",
            "task_type": "local_agent",
            "prompt": "Look here",
        },
        True,
    ),
    (
        TaskUpdated(FACTS),
        {
            "type": "system",
            "subtype": "task_updated",
            "task_id": "bash_1",
            "run_id": "r1",
            "patch": {"is_backgrounded": True},
        },
        True,
    ),
    (
        TaskUpdated(FACTS, "killed"),
        {
            "type": "system",
            "subtype": "task_updated",
            "task_id": "bash_1",
            "run_id": "r1",
            "patch": {"status": "killed", "end_time": 2500},
        },
        True,
    ),
    (
        TaskProgress(AGENT, "Reading a.txt", "Read", TaskUsage(15, 1, 500)),
        {
            "type": "system",
            "subtype": "task_progress",
            "task_id": "a1",
            "run_id": "r2",
            "tool_use_id": "c2",
            "description": "Reading a.txt",
            "subagent_type": "helper",
            "usage": USAGE,
            "last_tool_name": "Read",
        },
        True,
    ),
    (
        TaskNotification(FACTS, TaskEnd("failed", "it failed", "out.txt")),
        {
            "type": "system",
            "subtype": "task_notification",
            "task_id": "bash_1",
            "run_id": "r1",
            "tool_use_id": "c1",
            "status": "failed",
            "output_file": "out.txt",
            "summary": "it failed",
        },
        True,
    ),
    (
        TaskNotification(AGENT, TaskEnd("killed", "look", usage=TaskUsage(15, 1, 500))),
        {
            "type": "system",
            "subtype": "task_notification",
            "task_id": "a1",
            "run_id": "r2",
            "tool_use_id": "c2",
            "status": "stopped",
            "output_file": "",
            "summary": "look",
            "usage": USAGE,
        },
        True,
    ),
    (
        TasksChanged((FACTS,)),
        {
            "type": "system",
            "subtype": "background_tasks_changed",
            "tasks": [{"task_id": "bash_1", "run_id": "r1", "task_type": "local_bash", "description": "wait"}],
        },
        True,
    ),
]


@pytest.mark.parametrize(("event", "line", "in_flat"), CASES, ids=lambda case: type(case).__name__)
def test_lines(event: Event, line: dict[str, object], in_flat: bool) -> None:
    [printed] = NestedDialect("2.1.325", FakeIds()).feed(Tagged(event, "u-1", 2.5))
    check_lines([printed], NESTED)
    assert printed.pop("session_id") == ""
    assert printed.pop("uuid")
    assert printed == line
    flat = FlatDialect("1", FakeIds()).feed(Tagged(event, "u-1", 2.5))
    check_lines(flat, FLAT)
    assert flat == ([line] if in_flat else [])


def test_a_flat_turn_without_a_prompt_says_why_it_begins() -> None:
    info = SessionInfo("s", "/", "p", "m", "default", ())
    lines = FlatDialect("1", FakeIds()).feed(Tagged(TurnStarted(info, (), TaskOrigin("bash_1", "r1")), "u-1", 0.0))
    check_lines(lines, FLAT)
    origin = {"kind": "task-notification", "producer": "session-task", "runId": "r1", "task_id": "bash_1"}
    assert lines == [{"type": "system", "subtype": "turn_started", "prompt_id": "u-1", "origin": origin}]
    plain = FlatDialect("1", FakeIds()).feed(Tagged(TurnStarted(info), "u-1", 0.0))
    assert plain == [{"type": "system", "subtype": "turn_started", "prompt_id": "u-1"}]
    assert NestedDialect("2", FakeIds()).feed(Tagged(SessionEnding(), "u-1", 0.0)) == []
