"""The print modes: the answer as text, or one JSON object for the whole run."""

from __future__ import annotations

from yume_shim.dialects.results import budget, error_text
from yume_shim.types.events import (
    SUCCESSES,
    Interrupted,
    SessionEnding,
    TurnEnded,
)
from yume_shim.types.side_events import TaskStarted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import BlockDelta, Tagged
    from yume_shim.types.ports import Dialect

_NOT_MESSAGES = (
    "command_lifecycle",
    "control_request",
    "control_response",
    "control_cancel_request",
    "pong",
    "transcript_mirror",
)


class TextDialect:
    """Prints the answer when the turn has ended, and nothing else. Failures are printed too, because in this mode
    callers read only stdout."""

    def __init__(self, *, errors: bool = True) -> None:
        """`errors`: failures are printed as well."""
        self._muted, self._errors = False, errors

    def feed(self, tagged: Tagged) -> list[Json]:
        """`{"!text": …}` at the end of a turn."""
        event = tagged.event
        if isinstance(event, Interrupted) and event.reason == "shutdown":
            self._muted = True
        if not isinstance(event, TurnEnded) or tagged.parent_call_id is not None or self._muted:
            return []
        if not self._errors and event.outcome not in SUCCESSES:
            return []
        text = closing_text(event)
        if event.origin is not None:  # a further turn of the same run
            text = f"\n{text}"
        return [{"!text": text if text.endswith("\n") else f"{text}\n"}]

    def delta_lines(self, event: BlockDelta, uuids: Sequence[str]) -> list[bytes] | None:
        """Nothing."""
        return []


def closing_text(event: TurnEnded) -> str:
    """The outcome of a turn as one text."""
    match event.outcome:
        case "success" | "hook_stopped" | "stop_prevented" | "tool_deferred" | "prompt_blocked":
            return event.text
        case "provider_error" | "auth_error":
            return error_text(event.failure) if event.failure is not None else event.text
        case "max_turns":
            return f"Error: Reached max turns ({event.limit})"
        case "max_budget":
            return f"Error: Reached max budget ({budget(event)})"
        case "structured_output_retries":
            return "Error: No output matched the schema"
        case "cancelled":
            return "Execution error"
        case "execution_error":
            why = event.failure.message if event.failure is not None else event.limit
            return f"Execution error: {why}" if why else "Execution error"


class JsonDialect:
    """Prints the `result` object of another dialect when the turn has ended; `verbose` prints one array of all its
    messages instead, init to result."""

    def __init__(self, inner: Dialect, *, verbose: bool = False) -> None:
        self._inner = inner
        self._verbose = verbose
        self._messages: list[Json] = []
        self._had_tasks = False
        self._held: Json | None = None

    def feed(self, tagged: Tagged) -> list[Json]:
        """One line at the end of a turn, or of the session if a background task may begin another turn. An array is not
        a line object, so it is returned as text that is already JSON."""
        event = tagged.event
        if isinstance(event, SessionEnding):
            held, self._held = self._held, None
            return self._closing(held) if held is not None else []
        self._had_tasks = self._had_tasks or isinstance(event, TaskStarted)
        for line in self._inner.feed(tagged):
            if line["type"] == "result":
                line.pop("model_usage_since_last_result", None)
                if not self._had_tasks:
                    return self._closing(line)
                if self._held is not None and self._verbose:
                    self._messages.append(self._held)
                self._held = line
                return []
            if self._verbose and line["type"] not in _NOT_MESSAGES:
                self._messages.append(line)
        return []

    def delta_lines(self, event: BlockDelta, uuids: Sequence[str]) -> None:
        """Deltas are kept for the one array, or ignored."""

    def _closing(self, result: Json) -> list[Json]:
        if not self._verbose:
            return [result]
        from yume_shim.text.codec import dumps
        from yume_shim.text.separators import escape_separators

        messages, self._messages = [*self._messages, result], []
        return [{"!text": escape_separators(dumps(messages), wide=True).decode("utf-8") + "\n"}]
