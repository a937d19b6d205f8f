"""Says what happens to each feature at an endpoint that lacks it, derived from the quirks that the adapters read."""

from __future__ import annotations

import os

from yume_shim.text import codec
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Literal

    from yume_shim.types.models import Endpoint, ModelSpec

    Level = Literal["full", "simulated", "silent", "warning", "error"]


class Cell(Value):
    """One feature at one endpoint. `golden` names a case that shows the degradation; "" if there is none."""

    feature: str
    level: Level = "full"
    text: str = ""
    golden: str = ""


def degradation(endpoint: Endpoint, model: ModelSpec | None = None) -> tuple[Cell, ...]:
    """Every feature at an endpoint; with a model, what that model lacks counts, too."""
    return tuple(_cell(row, endpoint, model) for row in features())


def degraded(endpoint: Endpoint, model: ModelSpec | None = None) -> tuple[Cell, ...]:
    """Only the features that the endpoint does not fully have."""
    return tuple(cell for cell in degradation(endpoint, model) if cell.level != "full")


def features() -> Iterable[Mapping[str, Any]]:
    """The rows of the data file: `feature` and its `rules`."""
    with open(os.path.join(os.path.dirname(__file__), "degradation.json"), "rb") as file:
        rows: list[Mapping[str, Any]] = codec.loads(file.read())["features"]
    return rows


def applies(rule: Mapping[str, Any], endpoint: Endpoint, model: ModelSpec | None) -> bool:
    """Do all conditions of a rule hold? Conditions on a model do not hold without a model."""
    return all(_holds(path, expected, endpoint, model) for path, expected in rule["when"].items())


def _cell(row: Mapping[str, Any], endpoint: Endpoint, model: ModelSpec | None) -> Cell:
    for rule in row["rules"]:
        if applies(rule, endpoint, model):
            return Cell(row["feature"], rule["level"], rule["text"], rule["golden"])
    return Cell(row["feature"])


def _holds(path: str, expected: Any, endpoint: Endpoint, model: ModelSpec | None) -> bool:
    owner, _, name = path.partition(".")
    holders = {"quirk": endpoint.quirks, "endpoint": endpoint, "model": model}
    if holders[owner] is None:
        return False
    found = getattr(holders[owner], name)
    match expected:
        case list():
            return found in expected
        case {"not": usual}:
            return bool(found != usual)
        case _:
            return bool(found == expected)
