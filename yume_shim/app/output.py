"""Builds the output of a session: its dialect, the cap of its lines, the writer, the order of events."""

from __future__ import annotations

from yume_shim import CLAUDE_VERSION, __version__
from yume_shim.host.descriptors import is_terminal
from yume_shim.host.event_output import EventOutput
from yume_shim.host.latch import Latch
from yume_shim.host.log import STDERR
from yume_shim.host.writer import STDOUT, LineWriter
from yume_shim.types.events import SUCCESSES, LocalCommandDone, ModelChanged, Notice, Retrying, TurnEnded
from yume_shim.types.settings import FLAT_LINE_BYTES, NESTED_LINE_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.app.resume import OpenedSession
    from yume_shim.host.event_output import Listener
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import Event, ModelUsage
    from yume_shim.types.ports import Clock, Dialect, Emit, Ids
    from yume_shim.types.settings import Settings


class OutputLink:
    """What one of several sessions of a process writes to: the shared writer, its own dialect, and what is called after
    each of its events was printed."""

    def __init__(self, writer: LineWriter, dialect: Dialect, after: Callable[[Event], None]) -> None:
        self.writer, self.dialect, self._after = writer, dialect, after

    def follow(self, emit: Emit) -> Emit:
        """An emitter that calls `after` with every event it has sent."""

        def emit_then(event: Event) -> str:
            uuid = emit(event)
            self._after(event)
            return uuid

        return emit_then


class Output:
    """The output of one session. `host_gone` is set when the host no longer reads."""

    def __init__(
        self,
        settings: Settings,
        opened: OpenedSession,
        clock: Clock,
        ids: Ids,
        *,
        flat: bool,
        log: Callable[[str, str], None],
        listeners: Sequence[Listener] = (),
        link: OutputLink | None = None,
    ) -> None:
        """`link`: the session shares its stdout with others."""
        self._log = log
        self._errors_to_stderr = settings.script.errors_to_stderr and settings.host.output_format == "text"
        self._transcript = opened.transcript if settings.session.persist else ""
        cap = settings.host.max_line_bytes or (FLAT_LINE_BYTES if flat else NESTED_LINE_BYTES)
        used = opened.stored.used if opened.stored is not None else ()
        self.host_gone = Latch()
        if link is not None:
            self.writer, dialect = link.writer, link.dialect
        else:
            self.writer = LineWriter(STDOUT, cap, wide_escapes=not flat, shrink=self._shrink, on_gone=self._gone)
            dialect = make_dialect(settings, ids, cap, used)
        self._live = dialect if settings.host.live and is_terminal(STDERR) else None
        written: LineWriter | DeltaMerger = self.writer
        if flat and link is None:
            from yume_shim.host.delta_merging import DeltaMerger

            written = DeltaMerger(self.writer, settings.host.delta_interval, cap)
        self.events = EventOutput(clock, ids, dialect, written, listeners, tell=self._tell)
        self.emit = self.events.emit if link is None else link.follow(self.events.emit)

    def _gone(self) -> None:
        if self.writer.problem:
            self._log("error", f"stdout cannot be written: {self.writer.problem}; the rest of the output is lost")
        self.host_gone.set("gone")

    def _tell(self, event: Event) -> None:
        if isinstance(event, (Notice, Retrying, ModelChanged, LocalCommandDone)):
            from yume_shim.dialects.stderr_notes import stderr_note

            if note := stderr_note(event):
                self._break_line()
                self._log("warning", note)
        elif self._errors_to_stderr and isinstance(event, TurnEnded) and event.outcome not in SUCCESSES:
            from yume_shim.dialects.plain import closing_text

            self._break_line()
            self._log("error", closing_text(event))

    def _break_line(self) -> None:
        """Text that comes and the log share a terminal: a note begins on a line of its own."""
        from yume_shim.dialects.terminal_text import LiveText

        if isinstance(self._live, LiveText):
            self.writer.write_text(self._live.break_line())

    def _shrink(self, line: Json, limit: int) -> Json:
        from yume_shim.dialects.line_shrinking import shrink

        return shrink(line, limit, self._transcript)


def refusal_output(settings: Settings | None, clock: Clock, ids: Ids) -> EventOutput:
    """The output of a process that cannot start; `settings` None = the flat dialect."""
    if settings is None:
        writer = LineWriter(STDOUT, FLAT_LINE_BYTES, wide_escapes=False)
        return EventOutput(clock, ids, flat_dialect(ids, FLAT_LINE_BYTES), writer)
    writer = LineWriter(STDOUT, NESTED_LINE_BYTES, wide_escapes=True)
    return EventOutput(clock, ids, make_dialect(settings, ids, NESTED_LINE_BYTES), writer)


def make_dialect(settings: Settings, ids: Ids, cap: int, used: tuple[ModelUsage, ...] = ()) -> Dialect:
    """The dialect of the output format. `used` is what a resumed session has used before."""
    output_format = settings.host.output_format
    if output_format == "flat":
        return flat_dialect(ids, cap, tool_deltas=settings.host.tool_deltas)
    if output_format == "text":
        return _text_dialect(settings)
    from yume_shim.dialects.nested import NestedDialect

    nested = NestedDialect(CLAUDE_VERSION, ids, partial=settings.host.partial_messages, spent_before=used)
    if output_format == "json":
        from yume_shim.dialects.plain import JsonDialect

        return JsonDialect(nested, verbose=settings.host.verbose)
    return nested


def _text_dialect(settings: Settings) -> Dialect:
    errors = not settings.script.errors_to_stderr
    if settings.host.live or settings.host.attended:
        from yume_shim.dialects.terminal_text import AttendedText, LiveText

        return LiveText(errors=errors) if settings.host.live else AttendedText(errors=errors)
    from yume_shim.dialects.plain import TextDialect

    return TextDialect(errors=errors)


def flat_dialect(ids: Ids, cap: int, *, tool_deltas: bool = False) -> Dialect:
    """The flat dialect, which shrinks long values itself."""
    from yume_shim.dialects.flat import FlatDialect

    return FlatDialect(__version__, ids, cap, tool_deltas=tool_deltas)
