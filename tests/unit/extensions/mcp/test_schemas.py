"""Tools whose descriptions are wrong, and input schemas with parts that are no JSON Schema."""

from __future__ import annotations

from typing import Any

import pytest

from yume_shim.extensions.mcp.listing import tool_specs
from yume_shim.extensions.mcp.schemas import MAX_DEPTH, object_root, sound

ANYTHING = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, ANYTHING),
        (True, ANYTHING),
        ({}, {"type": "object"}),
        ({"type": ["object", "null"]}, {"type": "object"}),
        ({"type": "array", "items": {}}, None),
        ({"type": ["string", "null"]}, None),
        ("text", None),
        (5, None),
        (
            {"type": "object", "properties": {"a": 5, "b": {"type": "string"}, "c": True}, "required": "b"},
            {"type": "object", "properties": {"b": {"type": "string"}, "c": True}},
        ),
        (
            {"type": "object", "properties": {"a": {"type": "text", "enum": [], "minLength": -1, "title": 5}}},
            {"type": "object", "properties": {"a": {}}},
        ),
        (
            {"type": "object", "anyOf": [5, {"required": ["x"]}], "oneOf": [], "allOf": {}, "$defs": ["x"]},
            {"type": "object", "anyOf": [{"required": ["x"]}]},
        ),
        (
            {"type": "object", "properties": {"list": {"items": 5, "maximum": "9", "x-own": [1]}}, "not": "x"},
            {"type": "object", "properties": {"list": {"x-own": [1]}}},
        ),
        (
            {"type": "object", "properties": {"pair": {"type": "array", "items": [{"type": "string"}, 5]}}},
            {"type": "object", "properties": {"pair": {"type": "array", "items": [{"type": "string"}]}}},
        ),
    ],
)
def test_malformed_parts_are_dropped(given: Any, kept: Any) -> None:
    assert object_root(given) == kept


def test_a_schema_without_end_is_cut() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(500):
        deep = {"type": "array", "items": deep}
    kept, depth = sound(deep), 0
    while "items" in kept:
        kept, depth = kept["items"], depth + 1
    assert (kept, depth) == ({}, MAX_DEPTH + 1)


def test_tools_that_cannot_be_offered_are_named() -> None:
    logged: list[str] = []
    entries: list[dict[str, Any]] = [
        {"name": "good", "inputSchema": {"type": "object"}},
        {"name": 5, "inputSchema": {"type": "object"}},
        {"name": "list", "inputSchema": {"type": "array"}},
        {"name": "a.b", "inputSchema": {"type": "object"}},
        {"name": "a b", "inputSchema": {"type": "object"}},
        *({"name": ""} for _ in range(20)),
    ]
    found = tool_specs("kit", entries, lambda level, text: logged.append(f"{level}: {text}"))
    assert {name: own for name, (own, _) in found.items()} == {"mcp__kit__good": "good", "mcp__kit__a_b": "a.b"}
    [line] = logged
    assert line.startswith(
        "warning: MCP server kit: tools are left out: '5' is not a name; list: its input schema does not describe an "
        "object; a b: mcp__kit__a_b is there already; '' is not a name;"
    )
    assert line.endswith(" and 13 more")
