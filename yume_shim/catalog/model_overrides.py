"""Applies what the config file says about single models (`[models."name"]`) to the catalogue's data."""

from __future__ import annotations

from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.types.models import ModelSpec
    from yume_shim.types.settings import ModelSettings

SAMPLING = ("temperature", "top_p", "stop_sequences")
LIMITS_AND_PRICES = ("window", "max_output", "prices")
"""A user who sets any of these knows the model, so the endpoint is not asked about it."""


def with_overrides(spec: ModelSpec, settings: ModelSettings) -> ModelSpec:
    """The model with the user's settings: its own row first, then the sampling settings for all models."""
    row = _row(spec, settings.overrides)
    changes: dict[str, Any] = {name: getattr(settings, name) for name in SAMPLING}
    changes |= row
    if any(name in row for name in LIMITS_AND_PRICES):
        changes["known"] = True
    if "prices" in row:
        changes["prices_given"] = True
    return replace(spec, **changes)


def _row(spec: ModelSpec, rows: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings for this model; `provider/model` overrides the bare name."""
    bare = spec.id.removesuffix("[1m]")
    found: dict[str, Any] = {}
    for name in (bare.rpartition("/")[2], bare, spec.id, f"{spec.endpoint.name}/{bare}"):
        found |= rows.get(name, {})
    return found
