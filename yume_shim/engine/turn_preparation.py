"""What a turn reads before its first request. A file system or server that does not answer does not hold the turn: an
interrupt abandons the work, and after a limit the turn goes on without it."""

from __future__ import annotations

from yume_shim.types.errors import Abandoned, Cancelled
from yume_shim.types.events import Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.engine.conversation import Conversation
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.ports import Cancel

READ_LIMIT_S = 30.0
"""How long a turn waits for files that it reads before its first request."""
LEFT_OUT = "{what} took longer than {limit:g} s and was abandoned: the turn goes on without it."


def prepare(services: EngineServices, conversation: Conversation, cancel: Cancel) -> None:
    """Build the conversation's instructions; after the limit those that need no files."""
    if conversation.is_prepared:
        return
    attempt(services, cancel, "Reading the instruction files", conversation.prepare, READ_LIMIT_S)
    if not cancel.is_set():
        conversation.prepare_without_files()  # nothing to do if they were read


def attempt(
    services: EngineServices, cancel: Cancel, what: str, work: Callable[[], Any], limit: float | None = None
) -> Any:
    """What the work returns; None if it was abandoned, which is said, or stopped. What it does must have no effect once
    nobody waits for it."""
    try:
        return cancel.job(work, what, blocked=services.output_blocked).result(limit)
    except Abandoned:
        if cancel.is_set():
            from yume_shim.engine.abandonment import report_abandoned

            report_abandoned(services, what)
        else:
            services.emit(Notice("abandoned", LEFT_OUT.format(what=what, limit=limit)))
    except Cancelled:
        pass
    return None
