"""Every form of a schema accepts what the schema accepts, and keeps the rules of its endpoint.

Schemas and values are generated together: a value is made for a schema, kept if the schema takes it (jsonschema
decides), and must then pass the reduced form. Values have the properties that their schema names, as calls do.
"""

from __future__ import annotations

import copy
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from yume_shim.providers.fitting.schema import (
    object_schema,
    openapi_schema,
    reduce_schema,
    strict_schema,
    without_nulls,
)
from yume_shim.providers.fitting.schema.combine import target

NAMES = ("format", "default", "title", "examples", "$ref", "path", "limit", "items")
DEFS = ("node", "leaf")
LEAF_DEPTH = 9
"""No references from here on: a definition that is only a reference to itself has no meaning."""
UNDECLARED = "other"
CHECKS = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
SLOW = settings(deadline=None, suppress_health_check=CHECKS)

Draw = Any


# ---------------------------------------------------------------- schemas

LITERALS = st.sampled_from(("a", "", "format", 1, 2.5, 0, True, False, None, [1], {"path": 1}))


def annotated(schema: dict[str, Any], draw: Draw) -> dict[str, Any]:
    more = draw(st.sampled_from(({}, {}, {"title": "T"}, {"description": "d"}, {"default": 1}, {"examples": ["x"]})))
    return {**more, **schema}


def leaf(draw: Draw) -> Any:
    return draw(
        st.sampled_from(
            (
                {"type": "string"},
                {"type": "string", "minLength": 1, "maxLength": 4},
                {"type": "string", "pattern": "^[a-c]*$"},
                {"type": "string", "pattern": "^(?!x)"},
                {"type": "string", "format": "uri"},
                {"type": "integer"},
                {"type": "integer", "minimum": 1, "exclusiveMaximum": 4},
                {"type": "integer", "exclusiveMinimum": 0.5},
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "number", "multipleOf": 0.5},
                {"type": "boolean"},
                {"type": "null"},
                {"type": ["string", "null"]},
                {"type": ["string", "integer", "array"], "items": {"type": "string"}},
                {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
                {"type": "object"},
                {"type": "object", "additionalProperties": {"type": "integer"}},
                {},
                True,
            )
        )
    )


def object_of(draw: Draw, depth: int) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True))
    made: dict[str, Any] = {"type": "object", "properties": {name: schema(draw, depth + 1) for name in names}}
    made["required"] = [name for name in names if draw(st.booleans())]
    extra = draw(st.sampled_from(("", "closed", "typed", "patterns", "dependent", "then", "names")))
    match extra:
        case "closed":
            made["additionalProperties"] = False
        case "typed":
            made["additionalProperties"] = schema(draw, depth + 2)
        case "patterns":
            made.update(patternProperties={"^p": {"type": ["string", "null"]}}, additionalProperties=False)
        case "dependent" if len(names) > 1:
            made["dependentRequired"] = {names[0]: [names[1]]}
        case "then" if names:
            made["if"] = {"properties": {names[0]: {"const": "a"}}, "required": [names[0]]}
            made["then"] = {"required": names[-1:]}
            made["else"] = {"minProperties": 0}
        case "names":
            made["propertyNames"] = {"maxLength": 9}
    return made


def schema(draw: Draw, depth: int) -> Any:
    kinds = ["leaf", "values"]
    if depth < LEAF_DEPTH:
        kinds += ["ref"]
    if depth < 4:
        kinds += ["object", "object", "array", "tuple", "any", "one", "all", "not"]
    match draw(st.sampled_from(kinds)):
        case "values":
            listed = draw(st.lists(LITERALS, min_size=1, max_size=3))
            made = {"const": listed[0]} if draw(st.booleans()) else {"enum": listed}
        case "ref":
            made = {"$ref": f"#/$defs/{draw(st.sampled_from(DEFS))}"}
        case "object":
            made = object_of(draw, depth)
        case "array":
            made = {"type": "array", "items": schema(draw, depth + 1), "maxItems": 3}
            if draw(st.booleans()):
                made.update(contains=schema(draw, depth + 2), maxContains=2)
        case "tuple":
            made = {"type": "array", "prefixItems": [schema(draw, depth + 1), schema(draw, depth + 1)]}
            rest = draw(st.sampled_from(("free", "closed", "typed")))
            made.update({"free": {}, "closed": {"items": False}, "typed": {"items": schema(draw, depth + 1)}}[rest])
        case "any":
            made = {"anyOf": [schema(draw, depth + 1), schema(draw, depth + 1)]}
        case "one":
            made = {"oneOf": [schema(draw, depth + 1), schema(draw, depth + 1)]}
        case "all":
            made = {"allOf": [schema(draw, depth + 1), schema(draw, depth + 1)]}
        case "not":
            made = {**leaf_object(draw), "not": schema(draw, depth + 2)}
        case _:
            found = leaf(draw)
            return found if isinstance(found, bool) else annotated(found, draw)
    return annotated(made, draw)


def leaf_object(draw: Draw) -> dict[str, Any]:
    found = leaf(draw)
    return dict(found) if isinstance(found, dict) else {}


@st.composite
def roots(draw: Draw) -> dict[str, Any]:
    """An object with definitions, one of which may be recursive; sometimes a union at the top."""
    made = object_of(draw, 0)
    top = draw(st.sampled_from(("plain", "plain", "anyOf", "oneOf", "allOf", "$ref")))
    if top == "$ref":
        made = {"$ref": "#/$defs/node"}
    elif top != "plain":
        made = {"type": "object", top: [object_of(draw, 2), object_of(draw, 2)]}
    node = {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"$ref": "#/$defs/node"}}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **made,
        "$defs": {"node": node, "leaf": schema(draw, LEAF_DEPTH)},
    }


# ---------------------------------------------------------------- values

ANYTHING = st.sampled_from(("a", "ab", "", 0, 1, 2, 2.5, True, None, [], ["a"], [1, 2], {}, {UNDECLARED: 1}))


def made_for(part: Any, root: Any, draw: Draw, depth: int = 0) -> Any:
    """A value that probably fits."""
    if not isinstance(part, dict) or depth > 6 or draw(st.integers(0, 9)) == 0:
        return draw(ANYTHING)
    if "$ref" in part:
        return made_for(target(root, part["$ref"]), root, draw, depth + 1)
    if "const" in part:
        return part["const"]
    if "enum" in part:
        return draw(st.sampled_from(part["enum"]))
    for union in ("anyOf", "oneOf", "allOf"):
        if union in part:
            branches = part[union]
            picked = branches if union == "allOf" else [draw(st.sampled_from(branches))]
            made = [made_for(branch, root, draw, depth + 1) for branch in picked]
            if all(isinstance(item, dict) for item in made):
                return {name: item for one in made for name, item in one.items()}
            return made[0]
    kinds = part.get("type")
    kind = draw(st.sampled_from(kinds)) if isinstance(kinds, list) else kinds
    match kind:
        case "object":
            named = part.get("properties", {})
            chosen = [n for n in named if n in part.get("required", ()) or draw(st.booleans())]
            made_object = {name: made_for(named[name], root, draw, depth + 1) for name in chosen}
            if "patternProperties" in part and draw(st.booleans()):
                made_object["pq"] = None
            return made_object
        case "array":
            first = [made_for(item, root, draw, depth + 1) for item in part.get("prefixItems", [])]
            more = part.get("items")
            if isinstance(more, dict):
                first += [made_for(more, root, draw, depth + 1) for _ in range(draw(st.integers(0, 2)))]
            return first
        case "string":
            return draw(st.sampled_from(("a", "abc", "", "http://x", "x")))
        case "integer":
            return draw(st.integers(0, 4))
        case "number":
            return draw(st.sampled_from((0.5, 1, 2.25)))
        case "boolean":
            return draw(st.booleans())
        case "null":
            return None
        case _:
            return draw(ANYTHING)


@st.composite
def pairs(draw: Draw) -> tuple[dict[str, Any], Any]:
    """A schema and an object that it takes."""
    root = draw(roots())
    item = made_for(root, root, draw)
    assume(isinstance(item, dict) and fits(item, root) and fits(item, as_meant(root)))
    return root, item


def as_meant(part: Any, *, branch: bool = False) -> Any:
    """The schema with branches of unions closed: an object made for one of them has the properties that it names."""
    if isinstance(part, list):
        return [as_meant(item, branch=branch) for item in part]
    if not isinstance(part, dict):
        return part
    out = {key: as_meant(item, branch=key in ("anyOf", "oneOf")) for key, item in part.items()}
    return (
        {**out, "unevaluatedProperties": False}
        if branch and ("$ref" in repr(part) or "properties" in repr(part))
        else out
    )


def fits(item: Any, schema: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(schema).is_valid(item))


# ---------------------------------------------------------------- the rules of the endpoints

DROPS = (
    ("$ref", "$defs"),
    ("title", "default", "examples", "format", "$schema"),
    ("anyOf", "oneOf", "allOf"),
    ("oneOf", "const", "prefixItems", "patternProperties"),
    ("additionalProperties", "pattern", "not", "if", "contains"),
    ("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref", "$defs", "const", "format", "prefixItems"),
)
OPENAPI_KEYS = {
    "type", "format", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required", "anyOf",
    "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "items", "minimum", "maximum",
}  # fmt: skip
STRICT_KEYS = {
    "type", "description", "title", "enum", "const", "properties", "required", "additionalProperties", "items", "anyOf",
    "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems",
    "maxItems", "$ref", "$defs",
}  # fmt: skip


def schemas_in(schema: Any) -> list[dict[str, Any]]:
    """Every schema of a schema, itself first: keywords apart from names."""
    if not isinstance(schema, dict):
        return []
    found = [schema]
    for key in ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"):
        for inner in schema.get(key, {}).values():
            found += schemas_in(inner)
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for inner in schema.get(key, []):
            found += schemas_in(inner)
    for key in ("items", "not", "if", "then", "else", "contains", "additionalProperties", "propertyNames"):
        found += schemas_in(schema.get(key))
    return found


def as_json_schema(part: dict[str, Any]) -> dict[str, Any]:
    """What an OpenAPI schema means, in JSON Schema."""
    plain = {key: item for key, item in part.items() if key not in ("nullable", "type", "anyOf", "properties", "items")}
    if "type" in part:
        plain["type"] = part["type"].lower()
    if "anyOf" in part:
        plain["anyOf"] = [as_json_schema(branch) for branch in part["anyOf"]]
    if "properties" in part:
        plain["properties"] = {name: as_json_schema(inner) for name, inner in part["properties"].items()}
    if "items" in part:
        plain["items"] = as_json_schema(part["items"])
    return {"anyOf": [plain, {"type": "null"}]} if part.get("nullable") else plain


def check_openapi(part: dict[str, Any]) -> None:
    for one in schemas_in(part):
        assert set(one) <= OPENAPI_KEYS
        assert ("type" in one) != ("anyOf" in one)
        if "anyOf" in one:
            assert set(one) == {"anyOf"}
            assert len(one["anyOf"]) > 1
            continue
        kind = one["type"]
        assert kind in ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT")
        assert ("items" in one) == (kind == "ARRAY")
        assert "enum" not in one or (kind == "STRING" and all(isinstance(v, str) and v for v in one["enum"]))
        assert set(one.get("required", ())) <= set(one.get("properties", ()))
        assert one.get("format", "date-time") in ("date-time", "int32", "int64", "float", "double")


def check_strict(part: dict[str, Any]) -> None:
    for one in schemas_in(part):
        assert set(one) <= STRICT_KEYS
        assert {"type", "enum", "const", "anyOf", "$ref"} & set(one)
        assert "$ref" not in one or set(one) == {"$ref"}
        kinds = [one["type"]] if isinstance(one.get("type"), str) else one.get("type", [])
        if "object" in kinds:
            assert one["additionalProperties"] is False
            assert one["required"] == list(one["properties"])


def with_nulls(item: Any, schema: Any, root: Any) -> Any:
    """A value as a model writes it under the strict form: everything that was left out is null."""
    if not isinstance(schema, dict):
        return item
    if "$ref" in schema:
        return with_nulls(item, target(root, schema["$ref"]), root)
    if "anyOf" in schema:
        tries = (with_nulls(item, branch, root) for branch in schema["anyOf"])
        return next(
            (
                made
                for b, made in zip(schema["anyOf"], tries, strict=True)
                if fits(made, {**b, "$defs": root.get("$defs", {})})
            ),
            item,
        )
    if isinstance(item, list):
        return [with_nulls(part, schema.get("items"), root) for part in item]
    if isinstance(item, dict) and "properties" in schema:
        full = dict.fromkeys(schema["properties"]) | item
        return {name: with_nulls(part, schema["properties"].get(name), root) for name, part in full.items()}
    return item


# ---------------------------------------------------------------- tests


@SLOW
@given(pairs(), st.sampled_from(DROPS))
def test_reduced_schemas_accept_what_the_original_accepts(pair: tuple[Any, Any], drop: tuple[str, ...]) -> None:
    root, item = pair
    before = copy.deepcopy(root)
    reduced = reduce_schema(root, drop)
    assert root == before
    assert reduce_schema(root, drop) == reduced
    jsonschema.Draft202012Validator.check_schema(reduced)
    for one in schemas_in(reduced):
        assert not set(one) & set(drop)
    assert fits(item, reduced)


@SLOW
@given(pairs())
def test_parameters_are_one_object_and_accept_what_the_original_accepts(pair: tuple[Any, Any]) -> None:
    root, item = pair
    made = object_schema(root)
    assert made["type"] == "object"
    assert isinstance(made["properties"], dict)
    assert not set(made) & {"oneOf", "anyOf", "allOf", "enum", "const", "not", "$ref"}
    jsonschema.Draft202012Validator.check_schema(made)
    assert fits(item, made)


@SLOW
@given(pairs())
def test_gemini_parameters_keep_their_rules_and_accept_what_the_original_accepts(pair: tuple[Any, Any]) -> None:
    root, item = pair
    before = copy.deepcopy(root)
    made = openapi_schema(root)
    assert root == before
    assert openapi_schema(root) == made
    check_openapi(made)
    assert fits(item, as_json_schema(made))


@settings(SLOW, max_examples=50)  # most schemas have no strict form
@given(pairs())
def test_the_strict_form_keeps_its_rules_and_accepts_the_value_with_nulls(pair: tuple[Any, Any]) -> None:
    root, item = pair
    strict = strict_schema(root)
    assume(strict is not None and UNDECLARED not in repr(item))
    assert strict is not None
    check_strict(strict)
    assert fits(with_nulls(item, strict, strict), strict)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(("object", "#/x", "#", "", "a")),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ("type", "properties", "items", "$ref", "anyOf", "allOf", "enum", "required", "not", "$defs", "if", "then",
             "else", "const", "minimum", "prefixItems", "contains", "$id", "additionalProperties", "x")
        ),
        inner,
        max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@SLOW
@given(st.dictionaries(st.sampled_from(("type", "properties", "anyOf", "$ref", "allOf", "oneOf", "$defs")), JSON), JSON)
def test_nonsense_never_raises(schema: dict[str, Any], item: Any) -> None:
    for drop in DROPS:
        assert isinstance(reduce_schema(schema, drop), dict)
    assert isinstance(object_schema(schema), dict)
    check_openapi(openapi_schema(schema))
    strict_schema(schema)
    without_nulls(item, schema)


def test_references_that_multiply_are_limited() -> None:
    """Each level refers to the next one twice: inlined, that is 2^40 schemas."""
    levels = {
        f"l{n}": {
            "type": "object",
            "properties": {"a": {"$ref": f"#/$defs/l{n + 1}"}, "b": {"$ref": f"#/$defs/l{n + 1}"}},
        }
        for n in range(40)
    }
    root = {
        "type": "object",
        "properties": {"top": {"$ref": "#/$defs/l0"}},
        "$defs": {**levels, "l40": {"type": "string"}},
    }
    assert len(repr(reduce_schema(root, ("$ref", "$defs")))) < 1_000_000
    assert len(repr(openapi_schema(root))) < 2_000_000


@pytest.mark.parametrize("form", [openapi_schema, object_schema, lambda schema: reduce_schema(schema, ("title",))])
def test_endless_nesting_is_limited_in_every_form(form: Any) -> None:
    schema: Any = {"type": "string"}
    for _ in range(400):
        schema = {"type": "array", "items": schema, "title": "x"}
    form({"type": "object", "properties": {"a": schema}, "anyOf": [{"type": "object"}]})
    deep: Any = {"type": "object"}
    for _ in range(400):
        deep = (
            {"anyOf": [deep, {"allOf": [deep]}]}
            if isinstance(deep, dict) and len(repr(deep)) < 2_000
            else {"anyOf": [deep]}
        )
    form(deep)
