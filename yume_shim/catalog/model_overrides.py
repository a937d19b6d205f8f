"""What the config file says about single models (`[models."name"]`), laid over what the catalogue knows."""

from __future__ import annotations

from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.types.models import ModelSpec
    from yume_shim.types.settings import ModelSettings

SAMPLING = ("temperature", "top_p", "stop_sequences")
MAKES_KNOWN = ("window", "max_output", "prices")
"""Who says these knows the model: its endpoint is not asked about it."""


def with_overrides(spec: ModelSpec, settings: ModelSettings) -> ModelSpec:
    """The model as the user describes it; his sampling settings for all models where its own row has none."""
    row = _row(spec, settings.overrides)
    wanted: dict[str, Any] = {name: getattr(settings, name) for name in SAMPLING}
    wanted |= row
    if any(name in row for name in MAKES_KNOWN):
        wanted["known"] = True
    return replace(spec, **wanted)


def _row(spec: ModelSpec, rows: Mapping[str, Any]) -> Mapping[str, Any]:
    """`provider/model` goes before the bare name."""
    bare = spec.id.removesuffix("[1m]")
    found: dict[str, Any] = {}
    for name in (bare.rpartition("/")[2], bare, spec.id, f"{spec.endpoint.name}/{bare}"):
        found |= rows.get(name, {})
    return found
