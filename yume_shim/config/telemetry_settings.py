"""Builds TelemetrySettings. Loaded only where telemetry is on."""

from __future__ import annotations

from yume_shim.config.settings_files import PROJECT_LAYERS
from yume_shim.types.telemetry_settings import TelemetrySettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.config.setting_sources import SettingSources

HELPER = "otelHeadersHelper"


def telemetry_settings(sources: SettingSources) -> TelemetrySettings:
    """The command comes from the strongest layer that has one; a project's never counts, trusted or not: it would run
    a command at every start, and see where the collector is."""
    found = ""
    for layer in sources.layers:
        given = layer.data.get(HELPER)
        if isinstance(given, str) and given:
            if layer.name in PROJECT_LAYERS:
                sources.report.warn(f"{HELPER} of the folder's settings files is ignored: it counts in the user's only")
            else:
                found = given
    return TelemetrySettings(True, found)
