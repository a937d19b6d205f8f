"""The lines about background tasks, in both dialects. They are loaded with the first task."""

from __future__ import annotations

from yume_shim.dialects.records.flat_records import FlatLine
from yume_shim.dialects.records.nested_system_records import SystemLine
from yume_shim.types.record import ABSENT, Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.types.tasks import TaskKind


@record
class TaskFigures(Record):
    """What an agent has used so far."""

    total_tokens: int
    tool_uses: int
    duration_ms: int


@record
class TaskPatch(Record):
    """What has changed about a task: its end (`end_time` in milliseconds, `error` if it failed), or that it now runs in
    the background."""

    status: Literal["completed", "failed", "killed"] | None = ABSENT
    end_time: int | None = ABSENT
    error: str | None = ABSENT
    is_backgrounded: Literal[True] | None = ABSENT


@record
class ListedTask(Record):
    """A task that runs in the background."""

    task_id: str
    run_id: str
    task_type: TaskKind
    subagent_type: str | None = ABSENT
    description: str


class StartedFields(Record):
    """A task goes on in the background, or (not `is_backgrounded`) the conversation waits for it. An agent's line also
    has its kind, its prompt and how deep it is nested."""

    task_id: str
    run_id: str
    tool_use_id: str
    description: str
    subagent_type: str | None = ABSENT
    is_backgrounded: bool
    spawn_depth: int | None = ABSENT
    parent_task_id: str | None = ABSENT
    task_type: TaskKind
    prompt: str | None = ABSENT


class UpdatedFields(Record):
    """A task has ended, or has moved into the background."""

    task_id: str
    run_id: str
    patch: TaskPatch


class ProgressFields(Record):
    """An agent has called a tool."""

    task_id: str
    run_id: str
    tool_use_id: str
    description: str
    subagent_type: str | None = ABSENT
    usage: TaskFigures
    last_tool_name: str


class NotificationFields(Record):
    """A task has ended. `output_file` is "" if there is none."""

    task_id: str
    run_id: str
    tool_use_id: str
    status: Literal["completed", "failed", "stopped"]
    output_file: str
    summary: str
    usage: TaskFigures | None = ABSENT


class ListFields(Record):
    """The tasks that run in the background, whenever they have changed."""

    tasks: list[ListedTask]


# ---------------------------------------------------------------- what both dialects print


@record
class Started(StartedFields):
    """The fields of the line in both dialects."""


@record
class Updated(UpdatedFields):
    """The fields of the line in both dialects."""


@record
class Progress(ProgressFields):
    """The fields of the line in both dialects."""


@record
class Notification(NotificationFields):
    """The fields of the line in both dialects."""


@record
class Listing(ListFields):
    """The fields of the line in both dialects."""


# ---------------------------------------------------------------- nested


@record
class TaskStartedLine(StartedFields, SystemLine):
    """A task goes on in the background, or (not `is_backgrounded`) the conversation waits for it."""

    type: Literal["system"] = "system"
    subtype: Literal["task_started"] = "task_started"


@record
class TaskUpdatedLine(UpdatedFields, SystemLine):
    """A task has ended, or has moved into the background."""

    type: Literal["system"] = "system"
    subtype: Literal["task_updated"] = "task_updated"


@record
class TaskProgressLine(ProgressFields, SystemLine):
    """An agent has called a tool."""

    type: Literal["system"] = "system"
    subtype: Literal["task_progress"] = "task_progress"


@record
class TaskNotificationLine(NotificationFields, SystemLine):
    """A task has ended."""

    type: Literal["system"] = "system"
    subtype: Literal["task_notification"] = "task_notification"


@record
class TasksChangedLine(ListFields, SystemLine):
    """The tasks that run in the background have changed, or the host asked for them with a second `initialize`."""

    type: Literal["system"] = "system"
    subtype: Literal["background_tasks_changed"] = "background_tasks_changed"


# ---------------------------------------------------------------- flat


@record
class FlatTaskStarted(StartedFields, FlatLine):
    """A command or agent goes on in the background, or (not `is_backgrounded`) a command has been running for some
    seconds or an agent has begun. An agent's line also has its kind, its prompt and how deep it is nested."""

    type: Literal["system"] = "system"
    subtype: Literal["task_started"] = "task_started"


@record
class FlatTaskUpdated(UpdatedFields, FlatLine):
    """A task has ended, or it has moved into the background (`patch.is_backgrounded`)."""

    type: Literal["system"] = "system"
    subtype: Literal["task_updated"] = "task_updated"


@record
class FlatTaskProgress(ProgressFields, FlatLine):
    """An agent has called a tool."""

    type: Literal["system"] = "system"
    subtype: Literal["task_progress"] = "task_progress"


@record
class FlatTaskNotification(NotificationFields, FlatLine):
    """A task has ended. `output_file` has the output of a command, "" if there is none."""

    type: Literal["system"] = "system"
    subtype: Literal["task_notification"] = "task_notification"


@record
class FlatTasksChanged(ListFields, FlatLine):
    """The tasks that run in the background, whenever they have changed."""

    type: Literal["system"] = "system"
    subtype: Literal["background_tasks_changed"] = "background_tasks_changed"
