"""Tool schemas cut down to what an endpoint takes.

A keyword and a property may have the same name (`format`, `default`, `title`): keywords stand in a schema, properties
in a map of schemas, and only the former are ever dropped. What a dropped keyword said is kept where another keyword can
say it: `$ref` is written out, `const` becomes `enum`, a choice of schemas becomes its first real one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Json

SCHEMA_KEYS = frozenset(
    (
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    )
)
"""Keywords whose value is a schema (`items` may be a list of them)."""
LIST_KEYS = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
"""Keywords whose value is a list of schemas."""
MAP_KEYS = frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"))
"""Keywords whose value is a map from names of the author's choice to schemas."""
_INNER_KEYS = SCHEMA_KEYS | LIST_KEYS
MAX_DEPTH = 64
"""A schema nested deeper than this is cut to "anything"."""


def reduce_schema(schema: Json, drop: tuple[str, ...]) -> Json:
    """The schema without the keywords in `drop`. The schema itself when there is nothing to drop."""
    if not drop:
        return schema
    cut: Json = _Reducer(schema, frozenset(drop)).cut(schema, (), 0)
    return cut


class _Reducer:
    """One walk over one schema."""

    def __init__(self, root: Json, drop: frozenset[str]) -> None:
        self._root = root
        self._drop = drop

    def cut(self, schema: Any, refs: tuple[str, ...], depth: int) -> Any:
        """`refs` are the references being written out on the way here: meeting one again is a cycle."""
        if not isinstance(schema, dict):
            return schema  # true and false are schemas too
        if depth > MAX_DEPTH:
            return {}
        ref = schema.get("$ref")
        if isinstance(ref, str) and "$ref" in self._drop:
            rest = {key: item for key, item in schema.items() if key != "$ref"}
            if ref in refs:
                return self.cut(rest, refs, depth + 1)
            return self.cut({**_target(self._root, ref), **rest}, (*refs, ref), depth + 1)
        kept: Json = {}
        for key, item in schema.items():
            if key in self._drop:
                self._say_otherwise(kept, schema, key, item, refs, depth)
            elif key in MAP_KEYS and isinstance(item, dict):
                kept[key] = {name: self.cut(inner, refs, depth + 1) for name, inner in item.items()}
            elif key in _INNER_KEYS and isinstance(item, list):
                kept[key] = [self.cut(inner, refs, depth + 1) for inner in item]
            elif key in SCHEMA_KEYS:
                kept[key] = self.cut(item, refs, depth + 1)
            else:
                kept[key] = item
        return kept

    def _say_otherwise(self, kept: Json, schema: Json, key: str, item: Any, refs: tuple[str, ...], depth: int) -> None:
        if key == "const" and "enum" not in self._drop and "enum" not in schema:
            kept["enum"] = [item]
        elif key in ("anyOf", "oneOf") and isinstance(item, list):
            real = [inner for inner in item if isinstance(inner, dict) and inner.get("type") != "null"]
            if real:
                _fill(kept, self.cut(real[0], refs, depth + 1))
        elif key == "allOf" and isinstance(item, list):
            for inner in item:
                _fill(kept, self.cut(inner, refs, depth + 1))


def _fill(kept: Json, more: Any) -> None:
    """Add the keywords that are not there yet; properties and required names are joined."""
    if not isinstance(more, dict):
        return
    for key, item in more.items():
        there = kept.get(key)
        if key == "properties" and isinstance(there, dict) and isinstance(item, dict):
            kept[key] = {**item, **there}
        elif key == "required" and isinstance(there, list) and isinstance(item, list):
            kept[key] = [*there, *(name for name in item if name not in there)]
        else:
            kept.setdefault(key, item)


def _target(root: Json, ref: str) -> Json:
    """What a local reference (`#/$defs/Name`) points at; "anything" when it points nowhere."""
    found: Any = root
    if not ref.startswith("#"):
        return {}
    for part in ref[1:].split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def object_schema(schema: Json) -> Json:
    """The schema as parameters of a function: an object that names its properties, even when it has none.

    OpenAI answers `object schema missing properties` otherwise.
    """
    if schema.get("type") == "object" and "properties" in schema:
        return schema
    return {"type": "object", "properties": {}, **schema}


def strict_schema(schema: Json) -> Json | None:
    """The schema in OpenAI's strict form, or None when it cannot be said strictly.

    Strict wants `additionalProperties: false` and every property in `required`; a property that may be left out
    becomes one that may be null, and `without_nulls` takes those nulls out of the calls again.
    """
    try:
        strict: Json = _strict(schema, 0)
    except _NotStrict:
        return None
    return strict


class _NotStrict(Exception):
    """Some part takes keys that nobody can list."""


def _strict(schema: Any, depth: int) -> Any:
    if not isinstance(schema, dict):
        return schema
    if depth > MAX_DEPTH or "patternProperties" in schema or schema.get("additionalProperties", False) is not False:
        raise _NotStrict
    kept: Json = {}
    for key, item in schema.items():
        if key in MAP_KEYS and isinstance(item, dict):
            kept[key] = {name: _strict(inner, depth + 1) for name, inner in item.items()}
        elif key in _INNER_KEYS and isinstance(item, list):
            kept[key] = [_strict(inner, depth + 1) for inner in item]
        elif key in SCHEMA_KEYS:
            kept[key] = _strict(item, depth + 1)
        else:
            kept[key] = item
    if _is_object(kept):
        properties = kept.get("properties")
        if not isinstance(properties, dict) or (not properties and depth > 0):
            raise _NotStrict
        needed = kept.get("required") or ()
        kept["properties"] = {name: inner if name in needed else _nullable(inner) for name, inner in properties.items()}
        kept["required"] = list(properties)
        kept["additionalProperties"] = False
    return kept


def _is_object(schema: Json) -> bool:
    kind = schema.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind)


def _nullable(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    if isinstance(kind, str) and kind != "null" and "enum" not in schema and "const" not in schema:
        return {**schema, "type": [kind, "null"]}
    if isinstance(kind, list) and "null" in kind:
        return schema
    return {"anyOf": [schema, {"type": "null"}]}


def without_nulls(given: Any, schema: Any) -> Any:
    """A call's input without the nulls that stand for "left out" in the strict form of `schema`."""
    if not isinstance(schema, dict):
        return given
    if isinstance(given, list):
        return [without_nulls(item, schema.get("items")) for item in given]
    properties = schema.get("properties")
    if not isinstance(given, dict) or not isinstance(properties, dict):
        return given
    needed = schema.get("required") or ()
    return {
        name: without_nulls(item, properties.get(name))
        for name, item in given.items()
        if item is not None or name in needed or name not in properties
    }
