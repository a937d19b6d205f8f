"""The models that a client may choose from: those of every provider that has a key."""

from __future__ import annotations

from yume_shim.dialects.acp_state import ModelEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.app.start import Startup

MAX_MODELS = 200


def model_menu(startup: Startup) -> tuple[ModelEntry, ...]:
    """Known models whose provider has a key, those of the session's provider first."""
    own = startup.spec.endpoint
    usable = [spec for spec in startup.models.catalog.known_models() if startup.keys.at(spec.endpoint)]
    usable.sort(key=lambda spec: spec.endpoint != own)
    entries = {f"{spec.endpoint.name}/{spec.id}": spec.endpoint.name for spec in usable}
    return tuple(ModelEntry(id, id.partition("/")[2], name) for id, name in list(entries.items())[:MAX_MODELS])
