"""OpenAI's strict form of a schema, and the arguments of calls made with it.

Strict demands `additionalProperties: false` and every property in `required`. An optional property becomes nullable,
and `relaxed` removes those nulls from the calls. Most keywords are refused ("'default' is not permitted"), so the
schema is first reduced to the accepted ones.
"""

from __future__ import annotations

from yume_shim.providers.fitting.schema import object_schema
from yume_shim.providers.fitting.schema.combine import KEYWORDS_OF, both, target, types_of
from yume_shim.providers.fitting.schema.reduce import Reducer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Json

ACCEPTED_KEYWORDS = frozenset(
    [
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "const",
        "definitions",
        "description",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "items",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "multipleOf",
        "pattern",
        "properties",
        "required",
        "title",
        "type",
    ]
)
OPEN_KEYWORDS = frozenset(
    ("patternProperties", "dependentSchemas", "dependencies", "if", "$dynamicRef", "$recursiveRef")
)
"""Keywords that allow properties without listing them: a closed object would refuse those."""
UNIONS = ("anyOf", "oneOf", "allOf", "if", "$ref")
"""At the top they are merged into one object, which may accept properties that it does not list."""
FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
MAX_DEPTH = 10
MAX_PROPERTIES = 5_000
MAX_VALUES = 1_000
_NULL = {"type": "null"}


class _NotStrict(Exception):
    """A part accepts keys that cannot be listed, or is beyond the limits of strict."""


def strict_form(schema: Json) -> Json | None:
    """The schema in strict form, or None if it has none."""
    if any(key in schema for key in UNIONS):
        return None
    top = object_schema(schema)
    met: set[str] = set()

    def takes(key: str) -> bool:
        met.add(key)
        return key in ACCEPTED_KEYWORDS

    reduced = Reducer(top, takes).whole()
    if not isinstance(reduced, dict) or met & OPEN_KEYWORDS:
        return None
    try:
        strict: Json = _Strict().close(reduced, 0)
    except _NotStrict:
        return None
    return strict


class _Strict:
    def __init__(self) -> None:
        self._properties = 0

    def close(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, dict) or depth > MAX_DEPTH or schema.get("additionalProperties", False) is not False:
            raise _NotStrict
        if not any(key in schema for key in ("type", "enum", "const", "anyOf", "$ref")):
            raise _NotStrict  # "schema must have a 'type' key"
        if "$ref" in schema:
            if any(key not in ("$ref", "title", "description") for key in schema):
                raise _NotStrict
            return {"$ref": schema["$ref"]}  # no other key is allowed beside it
        kinds = types_of(schema)
        idle = [word for kind in ("array", "object") if kind not in kinds for word in KEYWORDS_OF[kind]]
        kept = {key: item for key, item in schema.items() if key not in idle}
        if kept.get("format") not in FORMATS:
            kept.pop("format", None)
        for key in ("$defs", "definitions"):
            if isinstance(found := kept.get(key), dict):
                kept[key] = {name: self.close(inner, depth) for name, inner in found.items()}
        if "anyOf" in kept:
            kept["anyOf"] = [self.close(inner, depth + 1) for inner in kept["anyOf"]]
        if "items" in kept:
            kept["items"] = self.close(kept["items"], depth + 1)
        if len(kept.get("enum") or ()) > MAX_VALUES:
            raise _NotStrict
        if "type" not in kept and ("enum" in kept or "const" in kept):
            kept["type"] = kinds[0] if len(kinds) == 1 else list(kinds)
        if "array" in kinds and "items" not in kept and "enum" not in kept and "const" not in kept:
            raise _NotStrict
        return self._closed_object(kept, depth) if "object" in kinds else kept

    def _closed_object(self, kept: Json, depth: int) -> Json:
        properties = kept.get("properties")
        if not isinstance(properties, dict) or (not properties and depth > 0) or "anyOf" in kept:
            raise _NotStrict  # branches of a union beside `properties` have properties of their own
        self._properties += len(properties)
        if self._properties > MAX_PROPERTIES:
            raise _NotStrict
        needed = kept.get("required") or ()
        if any(name not in properties for name in needed):
            raise _NotStrict
        kept["properties"] = {
            name: closed if name in needed else nullable(closed)
            for name, inner in properties.items()
            for closed in (self.close(inner, depth + 1),)
        }
        kept["required"] = list(properties)
        kept["additionalProperties"] = False
        return kept


def nullable(schema: Json) -> Json:
    """The schema, or null."""
    kind = schema.get("type")
    if not any(key in schema for key in ("enum", "const", "anyOf", "$ref")):
        if isinstance(kind, str) and kind != "null":
            return {**schema, "type": [kind, "null"]}
        if isinstance(kind, list) and "null" in kind:
            return schema
    if all(key in ("anyOf", "title", "description") for key in schema):
        return schema if _NULL in schema["anyOf"] else {**schema, "anyOf": [*schema["anyOf"], _NULL]}
    return {"anyOf": [schema, _NULL]}


def relaxed(given: Any, schema: Any, root: Any = None) -> Any:
    """A call's input without the nulls that mean "left out" in the strict form of `schema`."""
    root = schema if root is None else root
    schema = _meant(given, schema, root, 0)
    if not isinstance(schema, dict):
        return given
    if isinstance(given, list):
        return [relaxed(item, schema.get("items"), root) for item in given]
    properties = schema.get("properties")
    if not isinstance(given, dict) or not isinstance(properties, dict):
        return given
    needed = schema.get("required") or ()
    return {
        name: relaxed(item, properties.get(name), root)
        for name, item in given.items()
        if item is not None or name in needed or name not in properties
    }


def _meant(given: Any, schema: Any, root: Any, depth: int) -> Any:
    """The branch of a union that a value belongs to: strict objects have all properties of one branch."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return schema
    if isinstance(ref := schema.get("$ref"), str):
        return _meant(given, target(root, ref), root, depth + 1)
    for part in _listed(schema, "allOf"):
        schema = both(schema, _meant(given, part, root, depth + 1))
    branches = [_meant(given, branch, root, depth + 1) for key in ("anyOf", "oneOf") for branch in _listed(schema, key)]
    if not isinstance(schema, dict) or "properties" in schema or "items" in schema or not branches:
        return schema
    if isinstance(given, dict):
        fitting = (b for b in branches if isinstance(b, dict) and set(b.get("properties") or ()) == set(given))
    else:
        fitting = (b for b in branches if isinstance(b, dict) and "items" in b)
    return next(fitting, schema)


def _listed(schema: Any, key: str) -> list[Any]:
    found = schema.get(key) if isinstance(schema, dict) else None
    return found if isinstance(found, list) else []
