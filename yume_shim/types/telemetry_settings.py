"""Whether telemetry is on. What is exported where is said by the customary variables (`telemetry/options.py`)."""

from __future__ import annotations

from yume_shim.types.value import Value


class TelemetrySettings(Value):
    """Off unless the user or an administrator switches it on; the files of a project cannot."""

    on: bool = False
    """CLAUDE_CODE_ENABLE_TELEMETRY."""
    headers_helper: str = ""
    """`otelHeadersHelper`: a command that prints headers for the collector as a JSON object."""
