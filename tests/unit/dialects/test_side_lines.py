"""Lines beside the turns: states, withdrawn prompts, commands in the background; none of them in the flat dialect."""

from __future__ import annotations

import pytest

from tests.helpers.fakes import FakeIds
from tests.helpers.record_check import check_lines
from yume_shim.dialects.flat import FlatDialect
from yume_shim.dialects.nested import NestedDialect
from yume_shim.dialects.records.index import NESTED
from yume_shim.types.events import Event, PromptWithdrawn, StateChanged, Tagged, TaskEnded, TaskStarted

CASES: list[tuple[Event, dict[str, object]]] = [
    (
        StateChanged("requires_action"),
        {"type": "system", "subtype": "session_state_changed", "state": "requires_action", "sdk_host_only": True},
    ),
    (PromptWithdrawn("u-9"), {"type": "command_lifecycle", "command_uuid": "u-9", "state": "cancelled"}),
    (
        TaskStarted("bash_1", "c1", "wait"),
        {
            "type": "system",
            "subtype": "task_started",
            "task_id": "bash_1",
            "tool_use_id": "c1",
            "description": "wait",
            "task_type": "local_bash",
            "is_backgrounded": True,
        },
    ),
    (
        TaskEnded("bash_1", "c1", "failed", "out.txt", "it failed"),
        {
            "type": "system",
            "subtype": "task_notification",
            "task_id": "bash_1",
            "tool_use_id": "c1",
            "status": "failed",
            "output_file": "out.txt",
            "summary": "it failed",
        },
    ),
]


@pytest.mark.parametrize(("event", "line"), CASES, ids=lambda case: type(case).__name__)
def test_lines(event: Event, line: dict[str, object]) -> None:
    [printed] = NestedDialect("2.1.325", FakeIds()).feed(Tagged(event, "u-1", 0.0))
    check_lines([printed], NESTED)
    assert printed.pop("session_id") == ""
    assert printed.pop("uuid")
    assert printed == line
    assert FlatDialect("1", FakeIds()).feed(Tagged(event, "u-1", 0.0)) == []
