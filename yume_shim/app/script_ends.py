"""The end of a run as scripts want it: detailed exit codes, `--fail-on`, and a JSON result for a failed start."""

from __future__ import annotations

import threading

from yume_shim.types.exit_codes import CODES, cause_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from yume_shim.types.errors import BadInvocation
    from yume_shim.types.events import TurnEnded
    from yume_shim.types.ports import Clock, Ids
    from yume_shim.types.settings import Settings

    Values = Mapping[str, str | bool | tuple[str, ...]]

REFUSED = 2
"""The exit code of a start that is refused for another reason than its key."""


class Deadline:
    """Stops a run that takes too long, once; `over` says that it has."""

    def __init__(self, seconds: float, log: Callable[[str, str], None]) -> None:
        self.over = False
        self._seconds, self._log = seconds, log
        self._timer: threading.Timer | None = None

    def start(self, stop: Callable[[], None]) -> None:
        """Begin to count."""

        def expire() -> None:
            self.over = True
            self._log("error", f"the run is stopped: it took longer than --deadline allows ({self._seconds:g} s)")
            stop()

        self._timer = threading.Timer(min(self._seconds, threading.TIMEOUT_MAX), expire)
        self._timer.daemon = True
        self._timer.name = "deadline"
        self._timer.start()

    def cancel(self) -> None:
        """The run has ended in time."""
        if self._timer is not None:
            self._timer.cancel()


def script_exit_code(plain: int, settings: Settings, signal: str, end: TurnEnded | None, *, deadline_over: bool) -> int:
    """The exit code of a process that could start; `plain` is the one without the flags of scripts."""
    script = settings.script
    if signal:
        from yume_shim.host.signals import EXIT_CODES

        return EXIT_CODES[signal] if script.detailed_codes else plain
    if end is not None and end.failed_command:
        return plain
    cause = "limit" if deadline_over else cause_of(end, script.fail_on) if end is not None else ""
    if not cause and script.detailed_codes and _ignores_schema(settings, end):
        cause = "limit"
    if not cause:
        return plain
    return CODES[cause] if script.detailed_codes else 1


def _ignores_schema(settings: Settings, end: TurnEnded | None) -> bool:
    """Whether a model was to answer by a schema, and did not. The Claude CLI calls that a success, and so does the
    result."""
    if settings.instructions.json_schema is None or end is None:
        return False
    return bool(end.num_turns) and end.structured_output is None


def refused_code(error: BadInvocation) -> int:
    """The detailed exit code of a start that is refused."""
    return CODES["auth"] if error.kind == "auth" else REFUSED


def print_refusal(message: str, values: Values, clock: Clock, ids: Ids) -> None:
    """The one JSON result of a start that is refused, under `--output-format json`."""
    from yume_shim import CLAUDE_VERSION
    from yume_shim.dialects.nested import NestedDialect
    from yume_shim.dialects.plain import JsonDialect
    from yume_shim.host.event_output import EventOutput
    from yume_shim.host.writer import STDOUT, LineWriter
    from yume_shim.types.events import ResumeFailed
    from yume_shim.types.settings import NESTED_LINE_BYTES

    dialect = JsonDialect(NestedDialect(CLAUDE_VERSION, ids), verbose=bool(values.get("verbose")))
    writer = LineWriter(STDOUT, NESTED_LINE_BYTES, wide_escapes=True)
    EventOutput(clock, ids, dialect, writer).emit(ResumeFailed(message, ids.uuid()))
