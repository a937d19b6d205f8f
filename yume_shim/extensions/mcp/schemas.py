"""Input schemas of MCP tools: parts that are no JSON Schema are dropped, because a vendor refuses the whole request for
one of them. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.types.blocks import Json

MAX_DEPTH = 60
"""Levels of a schema that are kept; what lies deeper accepts anything."""
TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
_SCHEMA = ("additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties")
_SCHEMAS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_TEXT = ("title", "description", "format", "pattern", "$ref", "$schema", "$id", "$comment")
_NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNT = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")


def object_root(given: Any) -> Json | None:
    """The schema of a tool's input, without its malformed parts; None if it can never describe an object."""
    if given is None or given is True:
        return {"type": "object", "properties": {}}
    if not isinstance(given, dict):
        return None
    kept = sound(given)
    kind = kept.get("type", "object")
    if "object" not in ([kind] if isinstance(kind, str) else kind):
        return None
    return kept if kept.get("type") == "object" else {**kept, "type": "object"}


def sound(schema: Any, depth: int = 0) -> Any:
    """A schema without its malformed parts; the parts that are kept are copied."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return schema if isinstance(schema, bool) else {}
    found: Json = {}
    for key, part in schema.items():
        kept = _part(key, part, depth + 1)
        if kept is not None:
            found[key] = kept
    return found


def _part(key: str, part: Any, depth: int) -> Any:
    """What is kept of a keyword's value; None = nothing."""
    if key in _NAMED:
        return _named(part, depth)
    if key in _SCHEMAS or (key == "items" and isinstance(part, list)):
        branches = [sound(each, depth) for each in part if _is_schema(each)] if isinstance(part, list) else []
        return branches or None
    if key == "items" or key in _SCHEMA:
        return sound(part, depth) if _is_schema(part) else None
    check = _CHECKS.get(key)
    return part if check is None or check(part) else None


def _named(part: Any, depth: int) -> Json | None:
    if not isinstance(part, dict):
        return None
    return {name: sound(each, depth) for name, each in part.items() if _is_schema(each)}


def _is_schema(given: Any) -> bool:
    return isinstance(given, dict | bool)


def _is_type(given: Any) -> bool:
    each = given if isinstance(given, list) else [given]
    return bool(each) and all(isinstance(kind, str) and kind in TYPES for kind in each)


def _are_texts(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(each, str) for each in given)


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


def _is_count(given: Any) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and given >= 0


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "type": _is_type,
    "required": _are_texts,
    "enum": lambda given: isinstance(given, list) and bool(given),
    **dict.fromkeys(_TEXT, lambda given: isinstance(given, str)),
    **dict.fromkeys(_NUMBER, _is_number),
    **dict.fromkeys(_COUNT, _is_count),
}
