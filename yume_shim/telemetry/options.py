"""What the variables of the environment ask of telemetry. A wrong value is reported, and the default is used."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Log = Callable[[str, str], None]

SIGNALS = ("metrics", "logs", "traces")
EXPORTERS = ("otlp", "console", "none")
PROTOCOLS = ("http/protobuf", "http/json", "grpc")
METRIC_INTERVAL_MS, LOGS_INTERVAL_MS, TRACES_INTERVAL_MS = 60_000, 5_000, 5_000
"""Between exports; the Claude CLI's defaults."""
FLUSH_MS = 2_000
"""How long a process that ends waits for its last export, at most; the Claude CLI's default."""
MAX_FLUSH_MS = 60_000
HEADERS_MS = 1_740_000
"""How long the headers of `otelHeadersHelper` are used; the Claude CLI's default."""
CAPTURE = ("1", "true", "span_only", "span_and_event")
"""Values of the conventions' variable that put contents into spans."""
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


class TelemetryOptions(Value):
    """Exporters by signal; a signal without one is off."""

    metrics: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    traces: tuple[str, ...] = ()
    grpc: tuple[str, ...] = ()
    """The signals that are sent by gRPC; the others go by HTTP."""
    json: tuple[str, ...] = ()
    """Those that are sent as JSON over HTTP."""
    metric_interval_ms: int = METRIC_INTERVAL_MS
    logs_interval_ms: int = LOGS_INTERVAL_MS
    traces_interval_ms: int = TRACES_INTERVAL_MS
    flush_ms: int = FLUSH_MS
    headers_ms: int = HEADERS_MS
    prompts: bool = False
    responses: bool = False
    tool_details: bool = False
    content: bool = False
    """Messages, arguments and results are in spans."""
    session_id: bool = True
    version: bool = False
    entrypoint: bool = False
    resource_attributes: bool = True

    @property
    def anything(self) -> bool:
        """Is there an exporter at all?"""
        return bool(self.metrics or self.logs or self.traces)


def read_options(env: Mapping[str, str], log: Log) -> TelemetryOptions:
    """The options of this environment."""
    reader = _Reader(env, log)
    flag, number = reader.flag, reader.number
    prompts = flag("OTEL_LOG_USER_PROMPTS")
    exporters = {signal: reader.exporters(signal) for signal in SIGNALS}
    sent = [signal for signal in SIGNALS if "otlp" in exporters[signal]]
    protocols = {signal: reader.protocol(signal) for signal in sent}
    return TelemetryOptions(
        metrics=exporters["metrics"],
        logs=exporters["logs"],
        traces=exporters["traces"],
        grpc=tuple(signal for signal in sent if protocols[signal] == "grpc"),
        json=tuple(signal for signal in sent if protocols[signal] == "http/json"),
        metric_interval_ms=number("OTEL_METRIC_EXPORT_INTERVAL", METRIC_INTERVAL_MS),
        logs_interval_ms=number("OTEL_LOGS_EXPORT_INTERVAL", LOGS_INTERVAL_MS),
        traces_interval_ms=number("OTEL_TRACES_EXPORT_INTERVAL", TRACES_INTERVAL_MS),
        flush_ms=min(number("CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS", FLUSH_MS), MAX_FLUSH_MS),
        headers_ms=number("CLAUDE_CODE_OTEL_HEADERS_HELPER_DEBOUNCE_MS", HEADERS_MS),
        prompts=prompts,
        responses=flag("OTEL_LOG_ASSISTANT_RESPONSES", default=prompts),
        tool_details=flag("OTEL_LOG_TOOL_DETAILS"),
        content=env.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").strip().lower() in CAPTURE,
        session_id=flag("OTEL_METRICS_INCLUDE_SESSION_ID", default=True),
        version=flag("OTEL_METRICS_INCLUDE_VERSION"),
        entrypoint=flag("OTEL_METRICS_INCLUDE_ENTRYPOINT"),
        resource_attributes=flag("OTEL_METRICS_INCLUDE_RESOURCE_ATTRIBUTES", default=True),
    )


class _Reader:
    """Reads single values."""

    def __init__(self, env: Mapping[str, str], log: Log) -> None:
        self._env, self._log = env, log

    def exporters(self, signal: str) -> tuple[str, ...]:
        """The exporters that are named for a signal, without `none`."""
        variable = f"OTEL_{signal.upper()}_EXPORTER"
        names = tuple(dict.fromkeys(name.strip().lower() for name in self._env.get(variable, "").split(",")))
        for name in names:
            if name and name not in EXPORTERS:
                self._warn(f"{variable}: there is no exporter '{name}' here ({', '.join(EXPORTERS)})")
        return tuple(name for name in names if name in EXPORTERS and name != "none")

    def protocol(self, signal: str) -> str:
        """How a signal is sent to a collector."""
        for variable in (f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
            given = self._env.get(variable, "").strip().lower()
            if given in PROTOCOLS:
                return given
            if given:
                self._warn(f"{variable}: '{given}' is not supported here, http/protobuf is used")
                break
        return PROTOCOLS[0]

    def number(self, variable: str, default: int) -> int:
        """A number of milliseconds."""
        raw = self._env.get(variable, "").strip()
        if raw.isascii() and raw.isdigit() and int(raw) > 0:
            return int(raw)
        if raw:
            self._warn(f"{variable} must be a number of milliseconds, not '{raw}'; {default} is used")
        return default

    def flag(self, variable: str, *, default: bool = False) -> bool:
        """A switch."""
        raw = self._env.get(variable, "").strip().lower()
        return raw in _TRUE if raw in (*_TRUE, *_FALSE) else default

    def _warn(self, text: str) -> None:
        self._log("warning", f"telemetry: {text}")
