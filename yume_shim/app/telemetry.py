"""Plugs telemetry into a session. What needs the OpenTelemetry SDK is loaded on the thread of the feed."""

from __future__ import annotations

from yume_shim.telemetry.feed import EventFeed
from yume_shim.telemetry.options import read_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.app.resume import OpenedSession
    from yume_shim.host.event_output import Listener
    from yume_shim.telemetry.headers_helper import HeadersHelper
    from yume_shim.telemetry.options import TelemetryOptions
    from yume_shim.telemetry.reporter import SessionReporter
    from yume_shim.types.settings import Settings

    Log = Callable[[str, str], None]

FIRST_EXPORT_S = 5.0
"""When the first events of a long turn are reported, unless an export is wanted sooner."""
AGENT = "yume-shim"
"""The name of the session's own agent, where no definition gives it another."""


def with_telemetry(
    settings: Settings, opened: OpenedSession, secrets: Sequence[str], log: Log, listeners: Sequence[Listener]
) -> tuple[Sequence[Listener], Callable[[], None]]:
    """The listeners of a session with that of telemetry, if an exporter is chosen; and what exports the rest at its
    end, within a limit. `secrets` are keys that are in no export; the list may grow."""
    options = read_options(settings.env, log)
    if not options.anything:
        log("info", "telemetry is on, but no OTEL_METRICS_EXPORTER, OTEL_LOGS_EXPORTER or OTEL_TRACES_EXPORTER is set")
        return listeners, lambda: None
    start_type = "fresh"
    if opened.stored is not None:
        start_type = "continue" if settings.session.resume_newest else "resume"
    first = min(options.metric_interval_ms, options.logs_interval_ms, options.traces_interval_ms) / 1000
    helper = _helper(settings, options, log)
    feed = EventFeed(
        lambda: _reporter(settings, options, start_type, helper, secrets, log),
        log,
        first_s=min(first, FIRST_EXPORT_S),
        flush_s=options.flush_ms / 1000,
    )

    def close() -> None:
        feed.close()
        if helper is not None:
            helper.end()

    return (*listeners, feed), close


def _helper(settings: Settings, options: TelemetryOptions, log: Log) -> HeadersHelper | None:
    command = settings.telemetry.headers_helper
    if not command:
        return None
    from yume_shim.telemetry.headers_helper import HeadersHelper

    return HeadersHelper(command, settings.env, settings.cwd, log, options.headers_ms / 1000)


def _reporter(
    settings: Settings,
    options: TelemetryOptions,
    start_type: str,
    helper: HeadersHelper | None,
    secrets: Sequence[str],
    log: Log,
) -> SessionReporter:
    from yume_shim import __version__
    from yume_shim.host.imports import one_at_a_time
    from yume_shim.telemetry.lanes import SessionFacts
    from yume_shim.telemetry.pipelines import Pipelines, use_variables
    from yume_shim.telemetry.reporter import SessionReporter
    from yume_shim.telemetry.user_id import user_id

    one_at_a_time()
    use_variables(settings.env)
    pipelines = Pipelines(options, log, helper)
    facts, spans = SessionFacts(secrets), None
    if pipelines.tracer is not None:
        from yume_shim.telemetry.spans import Spans, parent_of

        agent = settings.agents.main or AGENT
        spans = Spans(pipelines.tracer, facts, parent_of(settings.env), agent, content=options.content)
    standard = {
        "user.id": user_id(settings.env),
        "terminal.type": "non-interactive",
        "app.version": __version__,
        "app.entrypoint": settings.session.entrypoint,
    }
    return SessionReporter(
        pipelines, options, spans, facts, {name: text for name, text in standard.items() if text}, start_type
    )
