"""The nested dialect's lines of hooks, background tasks and questions to the host. Loaded with the first of them."""

from __future__ import annotations

from yume_shim.dialects.records.nested_records import ControlCancel
from yume_shim.types.side_events import (
    ElicitationAsked,
    FileAsked,
    HookAsked,
    HookEnded,
    HookNotice,
    HookStarted,
    PermitAsked,
    QuestionWithdrawn,
    ServerMessage,
    TaskNotification,
    TaskProgress,
    TasksChanged,
    TaskStarted,
    TaskUpdated,
    TrustAsked,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.dialects.nested_answers import Answers
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import Tagged
    from yume_shim.types.side_events import SideEvent


def side_lines(event: SideEvent, tagged: Tagged, session_id: str, answers: Answers) -> list[Json]:
    """The lines of one event."""
    match event:
        case TaskStarted() | TaskUpdated() | TaskProgress() | TaskNotification() | TasksChanged():
            from yume_shim.dialects.task_lines import nested_task_line

            if isinstance(event, TaskNotification):
                answers.forget(event.facts.call_id)  # an agent in the background outlives its call
            return [nested_task_line(event, tagged.at, session_id, tagged.uuid)]
        case HookStarted() | HookEnded() | HookNotice():
            from yume_shim.dialects.hook_lines import nested_hook_line

            return [nested_hook_line(event, tagged.parent_call_id, session_id, tagged.uuid)]
        case ServerMessage() | ElicitationAsked() | HookAsked() | TrustAsked() | PermitAsked():
            from yume_shim.dialects.host_lines import question_line

            return [question_line(event)]
        case QuestionWithdrawn():
            return [ControlCancel(request_id=event.ask_id)]
        case FileAsked():  # for clients of ACP
            return []
