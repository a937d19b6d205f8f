"""OTLP as JSON over HTTP (`http/json`): rewrites what the SDK's exporter for protobuf is about to send."""

from __future__ import annotations

import base64
import gzip
import importlib
import zlib

from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MESSAGES = {
    "metrics": ("metrics", "ExportMetricsServiceRequest"),
    "logs": ("logs", "ExportLogsServiceRequest"),
    "traces": ("trace", "ExportTraceServiceRequest"),
}
"""Signal → module and class of the message that an exporter sends."""
IDS = ("traceId", "spanId", "parentSpanId")
"""OTLP writes these in hexadecimal, other bytes in base64 as protobuf does."""
_UNPACK: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.decompress, "deflate": zlib.decompress}
_PACK: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "deflate": zlib.compress}


class AsJson:
    """Callable: a request with a protobuf message becomes one with JSON. Used by one exporter."""

    def __init__(self, signal: str) -> None:
        self._form = importlib.import_module("google.protobuf.json_format")  # without types of its own
        module, name = MESSAGES[signal]
        self._message = getattr(
            importlib.import_module(f"opentelemetry.proto.collector.{module}.v1.{module}_service_pb2"), name
        )

    def __call__(self, request: Any) -> Any:
        packed = request.headers.get("Content-Encoding", "")
        data = _UNPACK[packed](request.body) if packed in _UNPACK else request.body
        found = self._form.MessageToDict(self._message.FromString(data), use_integers_for_enums=True)
        _write_ids(found)
        body = codec.dumps(found)
        request.body = _PACK[packed](body) if packed in _PACK else body
        request.headers["Content-Type"] = "application/json"
        request.headers["Content-Length"] = str(len(request.body))
        return request


def _write_ids(found: Any) -> None:
    if isinstance(found, list):
        for part in found:
            _write_ids(part)
    elif isinstance(found, dict):
        for name, part in found.items():
            if name in IDS:
                found[name] = base64.b64decode(part).hex()
            else:
                _write_ids(part)
