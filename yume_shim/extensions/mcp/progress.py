"""Progress notifications of MCP servers as reports for the host."""

from __future__ import annotations

from yume_shim.types.events import ProgressReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.blocks import Json

MAX_MESSAGE = 500


def progress_to(report: Callable[[ProgressReport], None] | None) -> Callable[[Json], None]:
    """A listener for the notifications of one call; what is not a number is no progress."""

    def on_progress(params: Json) -> None:
        progress, total, message = params.get("progress"), params.get("total"), params.get("message")
        if report is not None and _is_number(progress):
            text = message[:MAX_MESSAGE] if isinstance(message, str) else ""
            report(ProgressReport(progress, total if _is_number(total) else None, text))  # type: ignore[arg-type]

    return on_progress


def _is_number(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)
