"""Background commands: reading their output, filtering it, ending them."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import cancel
from tests.helpers.timing import soon, wait_until
from tests.helpers.tool_cases import call, toolbox, without_ripgrep
from yume_shim.engine.tasks import Tasks
from yume_shim.tools import task_output
from yume_shim.tools.dispatch.builtin import open_builtin_tools
from yume_shim.types.errors import Cancelled, ToolFailed
from yume_shim.types.settings import Settings
from yume_shim.types.side_events import (
    TaskNotification,
    TasksChanged,
    TaskStarted,
    TaskUpdated,
)
from yume_shim.types.tasks import TaskEnd, TaskFacts, TaskNotice

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from yume_shim.tools.dispatch.builtin import BuiltinTools
    from yume_shim.types.outputs import ToolOutput
    from yume_shim.types.tasks import TaskStatus

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a POSIX shell is spoken here")


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[BuiltinTools]:
    made = toolbox(tmp_path, tmp_path / "scratch")
    yield made
    made.close()


def start(tools: BuiltinTools, command: str) -> None:
    call(tools, "Bash", {"command": command, "run_in_background": True})


def look(tools: BuiltinTools, **more: str) -> ToolOutput:
    return call(tools, "TaskOutput", {"task_id": "bash_1", **more})


def wait_for_output(tmp_path: Path, end: bytes) -> None:
    """Wait until the saved output ends with this; the tool itself would consume the output."""
    saved = tmp_path / "scratch" / "bash_1.output"
    wait_until(lambda: saved.exists() and saved.read_bytes().endswith(end), f"output that ends with {end!r}")


def look_until(tools: BuiltinTools, wanted: str) -> str:
    """All output until it holds `wanted`."""
    seen: list[str] = []

    def has_come() -> bool:
        seen.append(look(tools).structured["stdout"])
        return wanted in "".join(seen)

    wait_until(has_come, f"the output {wanted!r}")
    return "".join(seen)


def test_only_new_output_is_shown(tools: BuiltinTools, tmp_path: Path) -> None:
    start(tools, "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; while :; do sleep 0.1; done")
    assert look_until(tools, "one") == "one"
    assert look(tools).content == "<status>running</status>\n\n(no new output)"
    (tmp_path / "go").touch()
    assert look_until(tools, "two") == "two"
    assert call(tools, "KillBash", {"task_id": "bash_1"}).structured["task_id"] == "bash_1"
    assert look(tools).structured["status"] == "killed"
    with pytest.raises(ToolFailed, match=r"^Task bash_1 is not running, so it cannot be stopped \(status: killed\)\.$"):
        call(tools, "TaskStop", {"task_id": "bash_1"})


def test_only_the_newest_part_of_long_output_is_shown(tools: BuiltinTools, tmp_path: Path) -> None:
    start(tools, "seq 1 200000")
    wait_for_output(tmp_path, b"\n200000\n")
    text = look(tools).structured["stdout"]
    assert text.startswith("… 1.2MB cut, all of it is in ")
    assert text.endswith("\n199999\n200000")
    assert len(text) < task_output.MAX_SHOWN + 300


def test_a_filter_that_would_take_for_ever_can_be_stopped(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch", without_ripgrep())  # ripgrep takes no pattern for ever
    start(tools, f"echo {'a' * 60}!")
    wait_for_output(tmp_path, b"!\n")
    stop = cancel()
    threading.Timer(0.5, stop.set).start()
    with soon(), pytest.raises(Cancelled):
        call(tools, "TaskOutput", {"task_id": "bash_1", "filter": "^(a+)+$"}, "1", stop=stop)
    tools.close()


def test_a_bad_filter(tools: BuiltinTools) -> None:
    start(tools, "echo x")
    with pytest.raises(ToolFailed, match="regex parse error"):
        look(tools, filter="(")


def test_filtered_lines_are_dropped(tools: BuiltinTools, tmp_path: Path) -> None:
    start(tools, "echo one; echo two; echo three")
    wait_for_output(tmp_path, b"three\n")
    assert look(tools, filter="t").structured["stdout"] == "two\nthree"
    assert look(tools).structured["stdout"] == ""


def test_killing_ends_the_whole_group(tools: BuiltinTools, tmp_path: Path) -> None:
    start(tools, "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 0.1; done'")
    pid = tmp_path / "pid"
    wait_until(lambda: pid.exists() and pid.read_text().endswith("\n"), "the start of the command")
    call(tools, "TaskStop", {"task_id": "bash_1"})

    def has_ended() -> bool:
        try:
            with open(f"/proc/{pid.read_text().strip()}/stat", encoding="ascii") as file:
                return file.read().rpartition(")")[2].split()[0] == "Z"
        except FileNotFoundError:
            return True

    wait_until(has_ended, "the end of the whole group")


class Reports:
    """The tools with a real registry, and what it reports."""

    def __init__(self, tmp_path: Path, **variables: str) -> None:
        self.events: list[object] = []
        self.notices: list[TaskNotice] = []
        self.registry = Tasks(self._emit, lambda: "r1", self.notices.append)
        settings = Settings(cwd=str(tmp_path), env={"PATH": os.environ["PATH"], **variables})
        self.tools = open_builtin_tools(
            settings, str(tmp_path / "s"), settings.env, lambda *_: None, tasks=lambda: self.registry
        )

    def _emit(self, event: object) -> str:
        self.events.append(event)
        return "u"

    def close(self) -> None:
        self.registry.close()
        self.tools.close()


@pytest.fixture
def reports(tmp_path: Path) -> Iterator[Reports]:
    made = Reports(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [("true", "completed", "completed (exit code 0)"), ("exit 3", "failed", "failed with exit code 3")],
)
def test_the_end_is_reported(reports: Reports, tmp_path: Path, command: str, status: TaskStatus, words: str) -> None:
    call(reports.tools, "Bash", {"command": command, "description": "try it", "run_in_background": True}, "c1")
    wait_until(lambda: len(reports.events) == 5, "the report of its end")
    facts = TaskFacts("bash_1", "r1", "local_bash", "try it", "c1", command=command)
    end = TaskEnd(status, f'Background command "try it" {words}', str(tmp_path / "s" / "bash_1.output"))
    assert reports.events == [
        TasksChanged((facts,)),
        TaskStarted(facts),
        TaskUpdated(facts, status, end.summary if status == "failed" else ""),
        TaskNotification(facts, end),
        TasksChanged(()),
    ]
    assert reports.notices == [TaskNotice(facts, end)]


def test_nothing_is_reported_after_close(reports: Reports) -> None:
    call(reports.tools, "Bash", {"command": "sleep 30", "run_in_background": True}, "c1")
    reports.registry.close()
    ended = [event for event in reports.events if isinstance(event, TaskUpdated)]
    assert [event.status for event in ended] == ["killed"]
    before = len(reports.events)
    reports.registry.report()
    reports.registry.begin(TaskFacts("late", "", "local_bash", "late", "c2")).end(TaskEnd("killed", "late"))
    assert len(reports.events) == before


def test_the_host_ends_a_background_command(reports: Reports) -> None:
    call(reports.tools, "Bash", {"command": "sleep 30", "run_in_background": True}, "c1")
    assert not reports.registry.stop("bash_9")
    assert reports.registry.stop("bash_1")
    assert not reports.registry.stop("bash_1")
    [notice] = reports.notices
    assert (notice.urgent, notice.end.status, notice.end.summary) == (False, "killed", "sleep 30")
    assert notice.end.told == 'Task "sleep 30" was stopped by the user or the host'


def test_the_model_is_not_told_of_a_command_that_it_killed(reports: Reports) -> None:
    call(reports.tools, "Bash", {"command": "sleep 30", "run_in_background": True}, "c1")
    call(reports.tools, "TaskStop", {"task_id": "bash_1"}, "c2")
    assert reports.registry.was_seen("bash_1")
    assert [event.status for event in reports.events if isinstance(event, TaskUpdated)] == ["killed"]


def test_a_long_foreground_command_is_reported_too(reports: Reports) -> None:
    call(reports.tools, "Bash", {"command": "true"}, "c1")
    call(reports.tools, "Bash", {"command": "sleep 3.5"}, "c2")
    facts = TaskFacts("bash_1", "r1", "local_bash", "sleep 3.5", "c2", command="sleep 3.5")
    assert reports.events == [
        TaskStarted(facts, backgrounded=False),
        TaskUpdated(facts, "completed"),
        TaskNotification(facts, TaskEnd("completed", 'Command "sleep 3.5" completed')),
    ]
    assert reports.notices == []


def test_a_command_that_takes_too_long_continues_in_the_background(reports: Reports, tmp_path: Path) -> None:
    command = "echo one; until [ -e go ]; do sleep 0.02; done; echo two; cd /"
    moved = call(reports.tools, "Bash", {"command": command, "timeout": 200, "description": "wait"}, "c1")
    assert isinstance(moved.content, str)
    assert moved.content.startswith(
        "one\nThe command did not end within 0.2s and continues in the background with ID: bash_1."
    )
    saved = tmp_path / "s" / "c1.txt"
    assert moved.structured == {
        "stdout": "one",
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
        "backgroundTaskId": "bash_1",
        "timedOutAfterMs": 200,
    }
    (tmp_path / "go").touch()
    seen = call(reports.tools, "TaskOutput", {"task_id": "bash_1", "block": True}, "c2")
    assert seen.structured["stdout"] == "one\ntwo"
    assert reports.registry.was_seen("bash_1")
    facts = TaskFacts("bash_1", "r1", "local_bash", "wait", "c1", command=command)
    end = TaskEnd("completed", 'Background command "wait" completed (exit code 0)', str(saved))
    assert reports.events == [
        TasksChanged((facts,)),
        TaskStarted(facts),
        TaskUpdated(facts, "completed"),
        TaskNotification(facts, end),
        TasksChanged(()),
    ]
    assert saved.read_text() == "one\ntwo\n"
    assert [path.name for path in (tmp_path / "s").iterdir()] == ["c1.txt"]


@pytest.mark.parametrize("why", ["it only sleeps", "it is switched off"])
def test_a_command_that_may_not_move_is_stopped(tmp_path: Path, why: str) -> None:
    off = {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"} if why == "it is switched off" else {}
    reports = Reports(tmp_path, **off)
    command = "sleep 30" if why == "it only sleeps" else "true; sleep 30"
    try:
        with pytest.raises(ToolFailed, match=r"timed out after 0\.1s"):
            call(reports.tools, "Bash", {"command": command, "timeout": 100}, "c1")
    finally:
        reports.close()
    assert reports.events == []


def test_the_output_of_an_agent(reports: Reports) -> None:
    task = reports.registry.begin(TaskFacts("a1", "r1", "local_agent", "look", "c1"))
    task.output = lambda: "so far"
    running = call(reports.tools, "TaskOutput", {"task_id": "a1", "block": True, "timeout": 10}, "c2")
    assert running.structured == {"task_id": "a1", "status": "running", "output": "so far"}
    assert not reports.registry.was_seen("a1")
    task.end(TaskEnd("completed", "done", result="The answer"))
    ended = call(reports.tools, "TaskOutput", {"task_id": "a1"}, "c3")
    assert ended.content == "<status>completed</status>\n\nThe answer"
    assert reports.registry.was_seen("a1")
    with pytest.raises(ToolFailed, match="is not running"):
        call(reports.tools, "TaskStop", {"task_id": "a1"}, "c4")
    with pytest.raises(ToolFailed, match=r"No task found with ID: a9\. There are: a1"):
        call(reports.tools, "TaskOutput", {"task_id": "a9"}, "c5")
