"""What people read on stderr about events that a print mode does not print: what was substituted, failed or waits."""

from __future__ import annotations

from yume_shim.types.events import LocalCommandDone, ModelChanged, Notice, Retrying

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.events import Event

LONG_WAIT_MS = 1_000
"""A longer wait before a retry is reported when it begins; every wait where retries have no end."""
BY_CHOICE = ("host", "resume")
"""Reasons of a change of model that nothing failed for."""


def stderr_note(event: Event) -> str:
    """The text of a warning; "" if there is none."""
    match event:
        case Notice(code="store"):
            return ""  # the store reports that itself, also where no host can be told
        case Notice():
            from yume_shim.types.warning_text import with_advice

            return with_advice(event.text, event.code)
        case ModelChanged() if event.reason not in BY_CHOICE:
            return f"{event.provider}/{event.model} takes over ({event.reason})"
        case Retrying() if event.wait_ms > LONG_WAIT_MS or not event.max_retries:
            failure, seconds = event.failure, event.wait_ms / 1000
            where = f"{failure.provider}: " if failure.provider else ""
            count = f"{event.attempt} of {event.max_retries}" if event.max_retries else f"{event.attempt}"
            return f"{where}{failure.message} ({failure.kind}); retry {count} in {seconds:.1f} s"
        case LocalCommandDone() if event.failed:
            return f"/{event.name}: {event.text}"
        case _:
            return ""
