"""The degradation table is true: every cell that is not full has a golden, and the golden shows it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.settings import settings_with
from tests.helpers.wire_cases import Case
from yume_shim.catalog.degradation import Cell, applies, degradation, features
from yume_shim.catalog.resolve import Catalog
from yume_shim.providers.load import known_apis
from yume_shim.types.models import Endpoint, ModelSpec, Quirks
from yume_shim.types.settings import Settings
from yume_shim.types.value import fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GOLDEN = Path(__file__).parents[1] / "golden"
CATALOG = Catalog(Settings(env={}), lambda endpoint: True)
ENDPOINTS = {
    name: endpoint
    for name in CATALOG.names()
    if (endpoint := CATALOG.endpoint(name, address=False)).api in known_apis()
}
OWNERS = {"quirk": Quirks, "endpoint": Endpoint, "model": ModelSpec}
SEED = {"text streaming", "tool calls", "parallel tool calls", "image input", "PDF input", "thinking", "effort levels"}
SEED |= {"session resume", "native session files", "MCP", "subagents", "prompt caching", "hooks", "skills"}
SEED |= {"context compaction", "cost tracking", "token counting"}
"""The features that must be there."""


def rules() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for row in features():
        for rule in row["rules"]:
            yield row["feature"], rule


RULES = list(rules())
WIRE_RULES = [(feature, rule) for feature, rule in RULES if rule["golden"].startswith("providers/")]


def named(pair: Any) -> str:
    return pair if isinstance(pair, str) else pair["golden"]


def test_every_feature_has_a_row() -> None:
    rows = [row["feature"] for row in features()]
    assert set(rows) >= SEED
    assert len(rows) == len(set(rows))


@pytest.mark.parametrize("name", ENDPOINTS)
def test_cells_that_are_not_full_name_a_golden_that_exists(name: str) -> None:
    for cell in degradation(ENDPOINTS[name]):
        assert cell == Cell(cell.feature) or (cell.text and (GOLDEN / cell.golden).is_dir()), cell


@pytest.mark.parametrize(("feature", "rule"), RULES, ids=named)
def test_rules_name_existing_fields(feature: str, rule: Mapping[str, Any]) -> None:
    assert rule["level"] in ("simulated", "silent", "warning", "error")
    assert (GOLDEN / rule["golden"]).is_dir()
    for path in rule["when"]:
        owner, _, field = path.partition(".")
        assert field in fields(OWNERS[owner]), path


@pytest.mark.parametrize(("feature", "rule"), WIRE_RULES, ids=named)
def test_the_golden_of_a_rule_is_a_case_of_it(feature: str, rule: Mapping[str, Any]) -> None:
    case = Case(GOLDEN / rule["golden"])
    assert applies(rule, case.endpoint, case.model)
    (cell,) = [cell for cell in degradation(case.endpoint, case.model) if cell.feature == feature]
    assert cell == Cell(feature, rule["level"], rule["text"], rule["golden"])


@pytest.mark.parametrize(("feature", "rule"), WIRE_RULES, ids=named)
def test_warnings_are_given_only_where_the_level_says_so(feature: str, rule: Mapping[str, Any]) -> None:
    warned = any(event["type"] == "notice" for event in Case(GOLDEN / rule["golden"]).expected_events())
    if rule["level"] == "warning":
        assert warned
    if rule["level"] == "silent":
        assert not warned


def test_a_model_can_lack_what_its_endpoint_has() -> None:
    endpoint = ENDPOINTS["google"]
    able, unable = (CATALOG.at(endpoint, name) for name in ("gemini-3.8-flash", "gemma-3-27b-it"))
    levels = [{cell.feature: cell.level for cell in degradation(endpoint, spec)} for spec in (None, able, unable)]
    assert [level["tool calls"] for level in levels] == ["full", "full", "simulated"]


def test_rows_of_the_config_file_get_their_table_too() -> None:
    row = {"api": "openai-chat", "base_url": "http://h", "quirks": {"noToolUse": True, "noTemperature": True}}
    made = Catalog(settings_with(env={}, endpoints={"acme": row}), lambda endpoint: True)
    cells = {cell.feature: cell.level for cell in degradation(made.endpoint("acme"))}
    assert (cells["tool calls"], cells["temperature"], cells["text streaming"]) == ("simulated", "warning", "full")
