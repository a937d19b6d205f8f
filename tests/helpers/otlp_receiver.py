"""A collector on loopback: takes OTLP over HTTP and gRPC, and decodes it with the official protobufs."""

from __future__ import annotations

import gzip
import re
import threading
import warnings
from base64 import b64encode
from collections import defaultdict
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.helpers.fake_server import LoopbackServer

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc
    from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from tests.helpers.fake_server import Exchange

REQUESTS: dict[str, Any] = {
    "/v1/metrics": metrics_service_pb2.ExportMetricsServiceRequest,
    "/v1/logs": logs_service_pb2.ExportLogsServiceRequest,
    "/v1/traces": trace_service_pb2.ExportTraceServiceRequest,
}


class Point(NamedTuple):
    """One data point of a counter."""

    name: str
    unit: str
    value: float
    attributes: dict[str, Any]


class Record(NamedTuple):
    """One event."""

    body: str
    attributes: dict[str, Any]
    trace_id: str


class Span(NamedTuple):
    """One span."""

    name: str
    id: str
    parent: str
    trace_id: str
    attributes: dict[str, Any]
    failed: bool
    events: list[str]
    kind: int


class Received:
    """What has come so far. Filled by the threads of servers."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.records: list[Record] = []
        self.spans: list[Span] = []
        self.resources: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.scopes: set[str] = set()
        self.temporalities: set[int] = set()
        self._lock = threading.Lock()

    def take(self, message: Any) -> None:
        """Decode one request."""
        with self._lock:
            for part in getattr(message, "resource_metrics", ()):
                self.resources.append(_attributes(part.resource.attributes))
                for scope in part.scope_metrics:
                    self.scopes.add(scope.scope.name)
                    for metric in scope.metrics:
                        self.temporalities.add(metric.sum.aggregation_temporality)
                        for point in metric.sum.data_points:
                            self.points.append(
                                Point(metric.name, metric.unit, point.as_double, _attributes(point.attributes))
                            )
            for part in getattr(message, "resource_logs", ()):
                self.resources.append(_attributes(part.resource.attributes))
                for scope in part.scope_logs:
                    self.scopes.add(scope.scope.name)
                    for record in scope.log_records:
                        found = _attributes(record.attributes)
                        self.records.append(Record(record.body.string_value, found, record.trace_id.hex()))
            for part in getattr(message, "resource_spans", ()):
                self.resources.append(_attributes(part.resource.attributes))
                for scope in part.scope_spans:
                    for span in scope.spans:
                        self.spans.append(
                            Span(
                                span.name,
                                span.span_id.hex(),
                                span.parent_span_id.hex(),
                                span.trace_id.hex(),
                                _attributes(span.attributes),
                                span.status.code == 2,
                                [event.name for event in span.events],
                                span.kind,
                            )
                        )

    def sums(self, name: str, *by: str) -> dict[Any, float]:
        """The total of a counter, by the values of these attributes."""
        found: dict[Any, float] = defaultdict(float)
        for point in self.points:
            if point.name == name:
                key = tuple(point.attributes.get(each) for each in by)
                found[key[0] if len(by) == 1 else key] += point.value
        return dict(found)

    def events(self, name: str) -> list[dict[str, Any]]:
        """The attributes of all events of this name, in their order."""
        found = [each.attributes for each in self.records if each.body == f"claude_code.{name}"]
        return sorted(found, key=lambda each: each["event.sequence"])

    def span(self, name: str) -> Span:
        """The one span of this name."""
        (found,) = [span for span in self.spans if span.name == name]
        return found


class HttpCollector(Received):
    """Speaks OTLP over HTTP."""

    protocol = "http/protobuf"

    def __init__(self) -> None:
        super().__init__()
        self._server = LoopbackServer(self._answer)
        self.url = self._server.url

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._server.close()

    def _decode(self, exchange: Exchange, message: Any) -> None:
        message.ParseFromString(exchange.request.body)

    def _answer(self, exchange: Exchange) -> bool:
        message = REQUESTS[exchange.request.path]()
        self._decode(exchange, message)
        self.headers.append(exchange.request.headers)
        self.take(message)
        exchange.reply(200, {"Content-Type": "application/x-protobuf"})
        return True


class JsonCollector(HttpCollector):
    """Speaks OTLP as JSON over HTTP, packed. Fields that the protocol does not have are an error."""

    protocol = "http/json"

    def _decode(self, exchange: Exchange, message: Any) -> None:
        request = exchange.request
        assert request.headers["content-type"] == "application/json"
        assert request.headers["content-encoding"] == "gzip"
        text = gzip.decompress(request.body).decode()
        ids = re.compile(r'"(traceId|spanId|parentSpanId)":"([0-9a-f]*)"')  # hexadecimal, unlike protobuf's own JSON
        text = ids.sub(lambda found: f'"{found[1]}":"{b64encode(bytes.fromhex(found[2])).decode()}"', text)
        import_module("google.protobuf.json_format").Parse(text, message)


class GrpcCollector(Received):
    """Speaks OTLP over gRPC."""

    protocol = "grpc"

    def __init__(self) -> None:
        super().__init__()
        from concurrent.futures import ThreadPoolExecutor

        grpc: Any = import_module("grpc")  # without types of its own

        collector = self

        def export(answer: Any) -> Any:
            def take(_: Any, request: Any, context: Any) -> Any:
                collector.headers.append({key.lower(): str(text) for key, text in context.invocation_metadata()})
                collector.take(request)
                return answer()

            return take

        self._server = grpc.server(ThreadPoolExecutor(max_workers=3))
        services: tuple[tuple[Any, Any, Any], ...] = (
            (
                metrics_service_pb2_grpc.MetricsServiceServicer,
                metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server,
                metrics_service_pb2.ExportMetricsServiceResponse,
            ),
            (
                logs_service_pb2_grpc.LogsServiceServicer,
                logs_service_pb2_grpc.add_LogsServiceServicer_to_server,
                logs_service_pb2.ExportLogsServiceResponse,
            ),
            (
                trace_service_pb2_grpc.TraceServiceServicer,
                trace_service_pb2_grpc.add_TraceServiceServicer_to_server,
                trace_service_pb2.ExportTraceServiceResponse,
            ),
        )
        for base, add, answer in services:
            add(type("Service", (base,), {"Export": export(answer)})(), self._server)
        port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()
        self.url = f"http://127.0.0.1:{port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._server.stop(None).wait()


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(found: Any) -> Any:
    kind = found.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in found.array_value.values]
    return getattr(found, kind) if kind else None
