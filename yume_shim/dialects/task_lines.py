"""The lines about background tasks, in both dialects. Loaded with the first task."""

from __future__ import annotations

from yume_shim.dialects.records.task_records import (
    FlatTaskNotification,
    FlatTaskProgress,
    FlatTasksChanged,
    FlatTaskStarted,
    FlatTaskUpdated,
    ListedTask,
    Listing,
    Notification,
    Progress,
    Started,
    TaskFigures,
    TaskNotificationLine,
    TaskPatch,
    TaskProgressLine,
    TasksChangedLine,
    TaskStartedLine,
    TaskUpdatedLine,
    Updated,
)
from yume_shim.types.side_events import (
    TaskNotification,
    TaskProgress,
    TasksChanged,
    TaskStarted,
    TaskUpdated,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Json
    from yume_shim.types.side_events import TaskEvent
    from yume_shim.types.tasks import TaskUsage

_NESTED: dict[type, Any] = {
    TaskStarted: TaskStartedLine,
    TaskUpdated: TaskUpdatedLine,
    TaskProgress: TaskProgressLine,
    TaskNotification: TaskNotificationLine,
    TasksChanged: TasksChangedLine,
}
_FLAT: dict[type, Any] = {
    TaskStarted: FlatTaskStarted,
    TaskUpdated: FlatTaskUpdated,
    TaskProgress: FlatTaskProgress,
    TaskNotification: FlatTaskNotification,
    TasksChanged: FlatTasksChanged,
}


def nested_task_line(event: TaskEvent, at: float, session: str, uuid: str) -> Json:
    """`at` is when it happened, in seconds."""
    line: Json = _NESTED[type(event)](**_fields(event, at), session_id=session, uuid=uuid)
    return line


def flat_task_line(event: TaskEvent, at: float) -> Json:
    """`at` is when it happened, in seconds."""
    line: Json = _FLAT[type(event)](**_fields(event, at))
    return line


def _fields(event: TaskEvent, at: float) -> Json:
    """What both dialects print."""
    match event:
        case TasksChanged(tasks):
            return Listing(
                tasks=[
                    ListedTask(
                        task_id=task.task_id,
                        run_id=task.run_id,
                        task_type=task.kind,
                        subagent_type=task.agent_type or None,
                        description=task.description,
                    )
                    for task in tasks
                ]
            )
        case TaskStarted(facts, backgrounded):
            return Started(
                task_id=facts.task_id,
                run_id=facts.run_id,
                tool_use_id=facts.call_id,
                description=facts.description,
                subagent_type=facts.agent_type or None,
                is_backgrounded=backgrounded,
                spawn_depth=facts.depth or None,
                parent_task_id=facts.parent_task_id or None,
                task_type=facts.kind,
                prompt=facts.prompt or None,
            )
        case TaskUpdated(facts, status, error):
            moved = TaskPatch(is_backgrounded=True)
            ended = TaskPatch(status=status, end_time=round(at * 1000), error=error or None)
            patch = moved if status is None else ended
            return Updated(task_id=facts.task_id, run_id=facts.run_id, patch=patch)
        case TaskProgress(facts, description, last_tool, usage):
            return Progress(
                task_id=facts.task_id,
                run_id=facts.run_id,
                tool_use_id=facts.call_id,
                description=description,
                subagent_type=facts.agent_type or None,
                usage=_figures(usage),
                last_tool_name=last_tool,
            )
        case TaskNotification(facts, end):
            return Notification(
                task_id=facts.task_id,
                run_id=facts.run_id,
                tool_use_id=facts.call_id,
                status="stopped" if end.status == "killed" else end.status,
                output_file=end.output_file,
                summary=end.summary,
                usage=_figures(end.usage) if end.usage is not None else None,
            )


def _figures(usage: TaskUsage) -> TaskFigures:
    return TaskFigures(total_tokens=usage.total_tokens, tool_uses=usage.tool_uses, duration_ms=usage.duration_ms)
