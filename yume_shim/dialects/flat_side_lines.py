"""The flat dialect's lines of hooks, background tasks and questions to the host. Loaded with the first of them."""

from __future__ import annotations

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
    from collections.abc import Callable

    from yume_shim.types.blocks import Json
    from yume_shim.types.side_events import SideEvent


def side_lines(event: SideEvent, at: float, forget: Callable[[str], object]) -> list[Json]:
    """The lines of one event. `forget` drops what is known of the answers of a subagent, named by its call."""
    match event:
        case TaskStarted() | TaskUpdated() | TaskProgress() | TaskNotification() | TasksChanged():
            from yume_shim.dialects.task_lines import flat_task_line

            if isinstance(event, TaskNotification):
                forget(event.facts.call_id)  # an agent in the background outlives its call
            return [flat_task_line(event, at)]
        case HookStarted() | HookEnded() | HookNotice():
            from yume_shim.dialects.hook_lines import flat_hook_line

            return [flat_hook_line(event)]
        case ServerMessage() | ElicitationAsked() | HookAsked() | TrustAsked() | PermitAsked():
            from yume_shim.dialects.host_lines import question_line

            return [question_line(event)]
        case QuestionWithdrawn():
            from yume_shim.dialects.flat_lines import withdrawal_line

            return [withdrawal_line(event)]
        case FileAsked():  # for clients of ACP
            return []
