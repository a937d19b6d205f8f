"""Turns that background tasks begin: the prompt that tells the model of an end, and the wait at the end of input."""

from __future__ import annotations

import time

from yume_shim.text.task_notice import marked, notice_text
from yume_shim.types.blocks import Text
from yume_shim.types.commands import UserInput
from yume_shim.types.events import Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.engine.inbox import Inbox
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.ports import BackgroundTasks
    from yume_shim.types.tasks import TaskNotice

OUT_OF_TIME = "was stopped: the input had ended and the time limit for background tasks was over"


def notice_prompt(notice: TaskNotice) -> UserInput:
    """The prompt of a notice: the transcript keeps it bare, the model reads it with a mark that no user wrote it."""
    facts, end = notice.facts, notice.end
    fields = {
        "task-id": facts.task_id,
        "tool-use-id": facts.call_id,
        "output-file": end.output_file,
        "status": end.status,
        "summary": end.told or end.summary,
        "result": end.result,
    }
    text = notice_text(fields)
    if end.usage is not None:
        usage = end.usage
        figures = f"total_tokens: {usage.total_tokens}, tool_uses: {usage.tool_uses}, duration_ms: {usage.duration_ms}"
        text = notice_text({**fields, "usage": figures})
    return UserInput((Text(marked(text)),), text, expand=False, origin=notice.origin)


class TaskWait:
    """Waits at the end of input, on the session's thread. The limit counts from the first wait."""

    def __init__(self, services: EngineServices, tasks: BackgroundTasks, inbox: Inbox) -> None:
        self._services, self._tasks, self._inbox = services, tasks, inbox
        self._limit = services.settings.limits.timeouts.background
        self._deadline = time.monotonic() + self._limit  # real time: it is really waited for

    def for_notice(self, leaving: Callable[[], bool]) -> bool:
        """Wait until a task has ended that the model is to be told about (True), none runs, the time is up (then those
        that run are stopped) or the session is left (False)."""
        while not leaving():
            running = self._tasks.running()
            if self._inbox.has_notice():
                return True
            left = self._deadline - time.monotonic()
            if running and left <= 0:
                self._expire([task.facts.task_id for task in running])
                return False
            if not running:
                return False
            self._inbox.await_change(left)
        return False

    def _expire(self, names: list[str]) -> None:
        text = (
            f"{', '.join(names)} still ran {self._limit:g} s after the end of input and was stopped. "
            "--background-timeout sets how long background tasks may take then."
        )
        self._services.emit(Notice("background_timeout", text))
        self._tasks.stop_all(OUT_OF_TIME)
