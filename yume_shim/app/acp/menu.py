"""The models that a client may choose from: aliases, and those of every provider that has a key."""

from __future__ import annotations

from yume_shim.app.model_requests import ModelParts, list_models
from yume_shim.dialects.acp_state import ModelEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.app.start import Startup

MAX_MODELS = 200


def model_menu(startup: Startup) -> tuple[ModelEntry, ...]:
    """The same list as the control request `list_models` gives, from the catalogue and earlier answers of endpoints."""
    parts = ModelParts(
        startup.models.catalog, startup.keys, startup.settings, lambda: startup.spec, startup.clock.now, startup.log
    )
    answer = list_models({}, parts).work() or {}
    return tuple(
        ModelEntry(entry["value"], entry["displayName"], entry["description"])
        for entry in answer["models"][:MAX_MODELS]
    )
