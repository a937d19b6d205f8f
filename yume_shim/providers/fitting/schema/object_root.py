"""Rewrites a schema with a union, a reference or almost nothing at its top as one object with properties."""

from __future__ import annotations

from yume_shim.providers.fitting.schema.combine import both, either, target, types_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Json

MAX_DEPTH = 16
"""Depth of unions inside unions at the top; deeper ones are ignored."""
_REWRITTEN = ("oneOf", "anyOf", "allOf", "enum", "const", "not", "if", "then", "else", "$ref")


def as_object(schema: Json) -> Json:
    """One object schema that accepts every object that the schema accepts."""
    flat = _flat(schema, schema, 0)
    properties = flat.get("properties")
    return {**flat, "type": "object", "properties": properties if isinstance(properties, dict) else {}}


def _flat(schema: Any, root: Json, depth: int) -> Json:
    """A schema without a union at its own top."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return {}
    flat: Json = {key: item for key, item in schema.items() if key not in _REWRITTEN}
    ref = schema.get("$ref")
    if isinstance(ref, str):
        flat = both(flat, _flat(target(root, ref), root, depth + 1))
    for part in _branches(schema, "allOf"):
        flat = both(flat, _flat(part, root, depth + 1))
    choices = [_branches(schema, "anyOf"), _branches(schema, "oneOf")]
    if "if" in schema and "then" in schema and "else" in schema:
        choices.append([schema["then"], schema["else"]])
    for branches in choices:
        objects = [part for branch in branches if _may_be_object(part := _flat(branch, root, depth + 1))]
        if objects:
            flat = both(flat, either([{"type": "object", **part} for part in objects], _any_of))
    return flat


def _branches(schema: Json, key: str) -> list[Any]:
    found = schema.get(key)
    return [branch for branch in found if branch is not False] if isinstance(found, list) else []


def _may_be_object(schema: Json) -> bool:
    kinds = types_of(schema)
    return not kinds or "object" in kinds


def _any_of(parts: list[Any]) -> Json:
    """Below the top, unions are allowed."""
    return {"anyOf": parts}
