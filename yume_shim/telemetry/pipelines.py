"""Builds the OpenTelemetry SDK: resource, exporters, and a provider for each signal that has one.

The SDK reads its own variables (endpoints, headers, certificates, time limits) from the process's environment, so those
of the settings are put there. Providers stay our own: nothing is registered globally, and nothing runs at exit.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from yume_shim import __version__
from yume_shim.telemetry import names
from yume_shim.text.redact import shown_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from opentelemetry._logs import Logger
    from opentelemetry.metrics import Meter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.trace import Tracer

    from yume_shim.telemetry.options import TelemetryOptions

    Log = Callable[[str, str], None]
    AddHeaders = Callable[[], Mapping[str, str]]

DELTA = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"
OWN_VARIABLES = ("OTEL_",)
ARCHITECTURES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "ARM64": "arm64"}
SIGNAL_WORDS = {"metrics": "metrics", "logs": "logs", "traces": "traces", "spans": "traces"}
"""What the SDK calls the signals in its messages."""
MESSAGE_LENGTH = 300


def use_variables(env: Mapping[str, str]) -> None:
    """Let the SDK see the variables as the settings have them. Children of this process get an environment of their
    own, without these."""
    for name in [name for name in os.environ if name.startswith(OWN_VARIABLES)]:
        if name not in env:
            del os.environ[name]
    os.environ.update({name: text for name, text in env.items() if name.startswith(OWN_VARIABLES)})
    os.environ.setdefault(DELTA, "delta")  # the Claude CLI's default; that of the SDK is cumulative
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # gRPC would write to stderr itself


class Pipelines:
    """The providers. `shutdown` exports what is left."""

    def __init__(self, options: TelemetryOptions, log: Log, add_headers: AddHeaders | None) -> None:
        self._options, self._log, self._add_headers = options, log, add_headers
        self._providers: dict[str, Any] = {}
        self._exporters: dict[str, list[Any]] = {}
        self._failed: set[str] = set()
        self._ending = False
        _watch_sdk(self._on_message)
        resource = _resource()
        self.resource_attributes = _own_attributes(resource)
        self.meter: Meter | None = None
        self.logger: Logger | None = None
        self.tracer: Tracer | None = None
        for signal, make in (("metrics", self._metrics), ("logs", self._logs), ("traces", self._traces)):
            kinds = getattr(options, signal)
            if kinds:
                try:
                    make(kinds, resource)
                except ImportError:
                    raise
                except Exception as error:  # a wrong variable: the other signals go on
                    log("warning", f"telemetry: no {signal} are exported: {error}")

    # ------------------------------------------------------------ the signals

    def _metrics(self, kinds: tuple[str, ...], resource: Resource) -> None:
        from opentelemetry.sdk.metrics import Counter, MeterProvider
        from opentelemetry.sdk.metrics.export import (
            AggregationTemporality,
            ConsoleMetricExporter,
            PeriodicExportingMetricReader,
        )

        delta = os.environ.get(DELTA, "").strip().lower() != "cumulative"
        readers = []
        for kind in kinds:
            exporter: Any
            if kind == "console":
                preferred: dict[type, Any] = {Counter: AggregationTemporality.DELTA} if delta else {}
                exporter = ConsoleMetricExporter(out=sys.stderr, preferred_temporality=preferred)
            else:
                exporter = self._otlp("metrics", "metric_exporter", "OTLPMetricExporter")
            self._keep("metrics", exporter)
            readers.append(PeriodicExportingMetricReader(exporter, self._options.metric_interval_ms))
        provider = MeterProvider(readers, resource, shutdown_on_exit=False)
        self._providers["metrics"] = provider
        self.meter = provider.get_meter(names.METER, __version__)

    def _logs(self, kinds: tuple[str, ...], resource: Resource) -> None:
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, ConsoleLogRecordExporter

        provider = LoggerProvider(resource, shutdown_on_exit=False)
        for kind in kinds:
            exporter: Any
            if kind == "console":
                exporter = ConsoleLogRecordExporter(out=sys.stderr)
            else:
                exporter = self._otlp("logs", "_log_exporter", "OTLPLogExporter")
            self._keep("logs", exporter)
            provider.add_log_record_processor(BatchLogRecordProcessor(exporter, self._options.logs_interval_ms))
        self._providers["logs"] = provider
        self.logger = provider.get_logger(names.LOGGER, __version__)

    def _traces(self, kinds: tuple[str, ...], resource: Resource) -> None:
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        for kind in kinds:
            exporter: Any
            if kind == "console":
                exporter = ConsoleSpanExporter(out=sys.stderr)
            else:
                exporter = self._otlp("traces", "trace_exporter", "OTLPSpanExporter")
            self._keep("traces", exporter)
            processor = BatchSpanProcessor(exporter, schedule_delay_millis=self._options.traces_interval_ms)
            provider.add_span_processor(processor)
        self._providers["traces"] = provider
        self.tracer = provider.get_tracer(names.TRACER, __version__)

    def _otlp(self, signal: str, module: str, name: str) -> Any:
        """The exporter of a signal: the same class name in a module for each protocol."""
        import importlib

        if signal in self._options.grpc:
            return getattr(importlib.import_module(f"opentelemetry.exporter.otlp.proto.grpc.{module}"), name)()
        made = getattr(importlib.import_module(f"opentelemetry.exporter.otlp.proto.http.{module}"), name)
        changes: list[Callable[[Any], Any]] = []
        if signal in self._options.json:
            from yume_shim.telemetry.otlp_json import AsJson

            changes.append(AsJson(signal))
        if self._add_headers is not None:
            changes.append(self._sign)
        return made(session=_session(changes, lambda text: self._on_message((signal,), text)))

    def _sign(self, request: Any) -> Any:
        assert self._add_headers is not None
        request.headers.update(self._add_headers())
        return request

    def _keep(self, signal: str, exporter: Any) -> None:
        self._exporters.setdefault(signal, []).append(exporter)

    # ------------------------------------------------------------ the end

    def shutdown(self, until: float) -> None:
        """Export what is left, all signals at once, by this moment of the monotonic clock."""
        self._ending = True
        threads = {
            signal: threading.Thread(target=_shut, args=(provider,), name=f"telemetry-{signal}", daemon=True)
            for signal, provider in self._providers.items()
        }
        for thread in threads.values():
            thread.start()
        for thread in threads.values():
            thread.join(max(0.0, until - time.monotonic()))
        late = [signal for signal, thread in threads.items() if thread.is_alive() and signal not in self._failed]
        if late:
            limit = f"{self._options.flush_ms / 1000:g} s"
            self._log("warning", f"telemetry: the last export of {', '.join(late)} did not end within {limit}")

    def _on_message(self, words: tuple[str, ...], text: str) -> None:
        """The SDK has reported a failure: pass on each signal's first one. At the end a collector that does not answer
        is not asked again: its exporter stops waiting for the next try."""
        for signal in {SIGNAL_WORDS[word] for word in words if word in SIGNAL_WORDS} or {"telemetry"}:
            if signal not in self._failed:
                self._failed.add(signal)
                self._log("warning", f"telemetry: {text[:MESSAGE_LENGTH]}")
            if self._ending:
                for exporter in self._exporters.pop(signal, []):
                    threading.Thread(target=exporter.shutdown, name="telemetry-stop", daemon=True).start()


def _session(changes: list[Callable[[Any], Any]], on_redirect: Callable[[str], None]) -> Any:
    """A session that follows no redirect (headers for the collector are for nobody else), and changes requests."""
    import requests

    class Session(requests.Session):
        def get_redirect_target(self, resp: Any) -> None:
            if resp.is_redirect:
                on_redirect(f"{shown_address(resp.url)} redirects (status {resp.status_code}), which is not followed")

    def change(request: Any) -> Any:
        for each in changes:
            request = each(request)
        return request

    session = Session()
    if changes:
        session.auth = change
    return session


def _shut(provider: Any) -> None:
    """Runs on a thread of its own, which is given up when the time is over: the SDK's own limits are longer."""
    try:
        provider.shutdown()
    except Exception:  # the SDK wraps a failure that its log has reported already
        pass


def _watch_sdk(on_message: Callable[[tuple[str, ...], str], None]) -> None:
    """Send the SDK's own messages to our log: by default Python writes them to stderr, one for each try."""
    import logging

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            words = tuple(str(each) for each in record.args) if isinstance(record.args, tuple) else ()
            on_message(words, record.getMessage().splitlines()[0])

    logger = logging.getLogger("opentelemetry")
    logger.handlers[:] = [Handler(logging.WARNING)]
    logger.propagate = False


def _resource() -> Resource:
    import platform

    from opentelemetry.sdk.resources import Resource

    machine = platform.machine()
    facts = {
        "service.version": __version__,
        "os.type": platform.system().lower(),
        "os.version": platform.release(),
        "host.arch": ARCHITECTURES.get(machine, machine.lower()),
    }
    given = _own_attributes(Resource.create())
    if "service.name" not in given and not os.environ.get("OTEL_SERVICE_NAME"):
        facts["service.name"] = names.SERVICE
    return Resource.create({name: text for name, text in facts.items() if name not in given})


def _own_attributes(resource: Resource) -> dict[str, str]:
    """The attributes of OTEL_RESOURCE_ATTRIBUTES, decoded by the SDK."""
    given = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    wanted = [item.partition("=")[0].strip() for item in given.split(",") if "=" in item]
    return {name: str(resource.attributes[name]) for name in wanted if name in resource.attributes}
