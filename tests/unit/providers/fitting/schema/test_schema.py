"""Schemas are reduced without changing properties that have the name of a keyword."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yume_shim.providers.fitting.schema import object_schema, reduce_schema, strict_schema, without_nulls

KEYWORD_NAMES = ("format", "default", "title", "pattern", "const")
NAMES = st.sampled_from((*KEYWORD_NAMES, "path", "limit"))
LEAVES = st.sampled_from(
    (
        {"type": "string", "format": "uri", "title": "T"},
        {"type": "integer", "default": 3},
        {"type": "string", "enum": ["format", "default"]},
        {"type": "boolean", "examples": [{"format": "x"}]},
    )
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(NAMES, inner, max_size=4).map(
        lambda properties: {
            "type": "object",
            "properties": properties,
            "required": sorted(properties)[:1],
            "title": "O",
        }
    )


SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        objects(inner),
        inner.map(lambda item: {"type": "array", "items": item, "default": []}),
        st.lists(inner, min_size=1, max_size=2).map(lambda items: {"anyOf": items}),
    ),
    max_leaves=8,
)


def property_names(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for item in schema for name in property_names(item)]
    if not isinstance(schema, dict):
        return []
    found = list(schema.get("properties", {}))
    inner = [*schema.get("properties", {}).values(), schema.get("items"), *schema.get("anyOf", [])]
    return found + property_names(inner)


@given(SCHEMAS)
def test_properties_are_kept_whatever_their_names(schema: Any) -> None:
    cut = reduce_schema(schema, KEYWORD_NAMES)
    assert property_names(cut) == property_names(schema)
    jsonschema.Draft202012Validator.check_schema(cut)


def test_keywords_are_dropped_and_values_kept() -> None:
    schema = {
        "type": "object",
        "title": "Call",
        "properties": {
            "format": {"type": "string", "format": "date", "default": "format"},
            "tags": {"type": "array", "items": {"title": "Tag", "enum": ["title", "default"]}},
        },
        "required": ["format"],
        "additionalProperties": {"title": "Rest", "type": "string"},
        "$defs": {"title": {"title": "T", "type": "string"}},
    }
    assert reduce_schema(schema, ("title", "format", "default")) == {
        "type": "object",
        "properties": {
            "format": {"type": "string"},
            "tags": {"type": "array", "items": {"enum": ["title", "default"]}},
        },
        "required": ["format"],
        "additionalProperties": {"type": "string"},
        "$defs": {"title": {"type": "string"}},
    }


def test_nothing_to_drop_is_the_schema_itself() -> None:
    schema = {"type": "object", "title": "x"}
    assert reduce_schema(schema, ()) is schema


def test_references_are_inlined_and_cycles_end() -> None:
    schema = {
        "type": "object",
        "properties": {
            "tree": {"$ref": "#/$defs/a~1node", "description": "the root"},
            "gone": {"$ref": "#/$defs/none"},
        },
        "$defs": {
            "a/node": {
                "type": "object",
                "properties": {"value": {"type": "string"}, "next": {"$ref": "#/$defs/a~1node", "description": "more"}},
            }
        },
    }
    assert reduce_schema(schema, ("$ref", "$defs")) == {
        "type": "object",
        "properties": {
            "tree": {
                "type": "object",
                "properties": {"value": {"type": "string"}, "next": {"description": "more"}},
                "description": "the root",
            },
            "gone": {},
        },
    }


@pytest.mark.parametrize(
    ("schema", "drop", "expected"),
    [
        ({"const": "a"}, ("const",), {"enum": ["a"]}),
        ({"const": "a"}, ("const", "enum"), {}),
        (
            {"description": "d", "anyOf": [{"type": "null"}, {"type": "string", "description": "e"}]},
            ("anyOf",),
            {"description": "d", "type": ["string", "null"]},
        ),
        ({"oneOf": [{"type": "null"}]}, ("oneOf",), {"anyOf": [{"type": "null"}]}),
        (
            {
                "properties": {"a": {"type": "string"}},
                "required": ["a"],
                "allOf": [{"properties": {"b": {}}, "required": ["b", "a"]}, True],
            },
            ("allOf",),
            {"properties": {"b": {}, "a": {"type": "string"}}, "required": ["a", "b"]},
        ),
        (
            {"anyOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {}, "additionalProperties": True}]},
            ("anyOf",),
            {"type": "object", "properties": {"a": {}}},  # the second branch takes any `a`
        ),
        ({"items": [{"title": "x"}, False], "not": {"title": "y"}}, ("title",), {"items": [{}, False]}),
    ],
)
def test_a_dropped_keyword_is_expressed_by_others(schema: Any, drop: tuple[str, ...], expected: Any) -> None:
    assert reduce_schema(schema, drop) == expected


def test_endless_nesting_is_limited() -> None:
    schema: Any = {"title": "leaf"}
    for _ in range(500):
        schema = {"items": schema}
    cut = reduce_schema(schema, ("title",))
    depth = 0
    while cut:
        cut, depth = cut["items"], depth + 1
    assert depth < 100


def test_parameters_are_an_object_with_properties() -> None:
    assert object_schema({}) == {"type": "object", "properties": {}}
    assert object_schema({"type": "object"}) == {"type": "object", "properties": {}}
    whole = {"type": "object", "properties": {"a": {}}}
    assert object_schema(whole) is whole


def test_the_strict_form_and_its_arguments() -> None:
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "mode": {"enum": ["a", "b"]},
            "maybe": {"type": ["string", "null"]},
            "edits": {
                "type": "array",
                "items": {"type": "object", "properties": {"old": {"type": "string"}, "all": {"type": "boolean"}}},
            },
        },
        "required": ["path", "edits"],
    }
    strict: Any = strict_schema(schema)
    assert strict == {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "mode": {"anyOf": [{"enum": ["a", "b"], "type": "string"}, {"type": "null"}]},
            "maybe": {"type": ["string", "null"]},
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"old": {"type": ["string", "null"]}, "all": {"type": ["boolean", "null"]}},
                    "required": ["old", "all"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["path", "mode", "maybe", "edits"],
        "additionalProperties": False,
    }
    call = {"path": None, "mode": None, "maybe": None, "edits": [{"old": "x", "all": None}], "else": None}
    jsonschema.validate({"path": "p", "mode": None, "maybe": None, "edits": []}, strict)
    assert without_nulls(call, schema) == {"path": None, "edits": [{"old": "x"}], "else": None}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {}, "additionalProperties": True},
        {"type": "object", "properties": {"env": {"type": "object"}}},
        {"type": "object", "properties": {"env": {"type": "object", "additionalProperties": {"type": "string"}}}},
        {"type": "object", "properties": {"x": {"patternProperties": {"^a": {}}}}},
    ],
)
def test_schemas_with_unlisted_keys_have_no_strict_form(schema: Any) -> None:
    assert strict_schema(schema) is None


def test_closed_objects_are_opened_with_the_keyword_that_names_their_keys() -> None:
    """Without `patternProperties` the other allowed keys are unknown: none must be refused."""
    closed = {"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": False}
    assert "additionalProperties" not in reduce_schema(closed, ("patternProperties",))
    other = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
    merged = object_schema({"anyOf": [closed, other]})
    jsonschema.validate({"x-one": "1"}, merged)
    jsonschema.validate({"a": 1}, merged)
    both_closed = object_schema({"anyOf": [other, {**other, "properties": {"b": {"type": "integer"}}}]})
    assert both_closed["additionalProperties"] is False
