"""A JSON Schema in the OpenAPI subset of Gemini's older `parameters` field, for backends that have no other.

The whole request is refused (400) for an unknown keyword ("Unknown name … Cannot find field"), a union beside other
fields, a `required` name without a property, an `enum` of anything but non-empty strings, an array without `items`.
References are replaced by their target, and end where they form a cycle.
"""

from __future__ import annotations

import re

from yume_shim.providers.fitting.schema import object_schema
from yume_shim.providers.fitting.schema.combine import both, kind_of, target, types_of, values_of
from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Json

    Refs = tuple[str, ...]

MAX_DEPTH = 32
MAX_NODES = 2_000
"""Schemas that are written at most; further ones become "anything"."""
MAX_NOTE = 300
"""Characters of a list of values that is put into the description."""
FORMATS = {
    "string": ("date-time", "enum"),
    "number": ("float", "double"),
    "integer": ("int32", "int64"),
}
SIZE_KEYWORDS = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_BEYOND_RE2 = re.compile(r"\(\?[=!<]|\\[1-9]")
"""Look-around and back references."""
_PLAIN = ("STRING", "NUMBER", "BOOLEAN", "OBJECT")


def openapi_form(schema: Json) -> Json:
    """The parameters of a function: an object."""
    return _Writer(schema).typed(object_schema(schema), "object", (), 0)


class _Writer:
    def __init__(self, root: Json) -> None:
        self._root = root
        self._left = MAX_NODES

    def write(self, schema: Any, refs: Refs, depth: int) -> Json:
        """Any schema."""
        self._left -= 1
        if not isinstance(schema, dict) or depth > MAX_DEPTH or self._left < 0:
            return _anything({})
        ref = schema.get("$ref")
        if isinstance(ref, str):
            return self._follow(schema, ref, refs, depth)
        if isinstance(parts := schema.get("allOf"), list):
            joined: Any = {key: item for key, item in schema.items() if key != "allOf"}
            for part in parts:
                joined = both(joined, part) or {}
            return self.write(joined, refs, depth + 1)
        for key in ("anyOf", "oneOf"):
            if isinstance(branches := schema.get(key), list) and branches:
                return self._choose(schema, key, branches, refs, depth)
        kinds = types_of(schema)
        if not kinds:
            return _anything(schema)
        written = [self.typed(schema, kind, refs, depth) for kind in kinds if kind != "null"]
        return _union(written, nullable="null" in kinds)

    def _follow(self, schema: Json, ref: str, refs: Refs, depth: int) -> Json:
        rest = {key: item for key, item in schema.items() if key != "$ref"}
        found = target(self._root, ref)
        if ref not in refs:
            return self.write(both(rest, found), (*refs, ref), depth + 1)
        if isinstance(found, dict) and types_of(found) == ("object",):
            return {"type": "OBJECT", **_described(rest)}
        return _anything(rest)

    def _choose(self, schema: Json, key: str, branches: list[Any], refs: Refs, depth: int) -> Json:
        """No field is allowed beside a union, so such fields are copied into each branch."""
        beside = {name: item for name, item in schema.items() if name not in ("anyOf", "oneOf")}
        written: list[Json] = []
        nullable = False
        for branch in branches:
            whole = both(branch, beside)
            if whole is False:
                continue
            if isinstance(whole, dict) and types_of(whole) == ("null",):
                nullable = True
            else:
                written.append(self.write(whole, refs, depth + 1))
        return _union(written, nullable=nullable)

    def typed(self, schema: Json, kind: str, refs: Refs, depth: int) -> Json:
        """The schema for values of one type."""
        out: Json = {"type": kind.upper(), **_described(schema)}
        if schema.get("format") in FORMATS.get(kind, ()):
            out["format"] = schema["format"]
        for size in SIZE_KEYWORDS.get(kind, ()):
            if _is_whole(schema.get(size)):
                out[size] = int(schema[size])
        match kind:
            case "string":
                pattern = schema.get("pattern")
                if isinstance(pattern, str) and not _BEYOND_RE2.search(pattern):
                    out["pattern"] = pattern
            case "number" | "integer":
                out.update(_bounds(schema, kind))
            case "array":
                out["items"] = self._items(schema, refs, depth)
            case "object":
                out.update(self._properties(schema, refs, depth))
            case _:
                pass
        return _limited(out, schema, kind)

    def _properties(self, schema: Json, refs: Refs, depth: int) -> Json:
        found = schema.get("properties")
        if not isinstance(found, dict):
            return {}
        written = {name: self.write(part, refs, depth + 1) for name, part in found.items() if part is not False}
        needed = schema.get("required")
        needed = [name for name in needed if name in written] if isinstance(needed, list) else []
        return {"properties": written, **({"required": needed} if needed else {})}

    def _items(self, schema: Json, refs: Refs, depth: int) -> Json:
        first, rest = schema.get("prefixItems"), schema.get("items")
        if isinstance(rest, list):
            first, rest = rest, schema.get("additionalItems")
        if not isinstance(first, list):
            return self.write(rest, refs, depth + 1) if isinstance(rest, dict) else _anything({})
        most: Any = schema.get("maxItems")
        closed = rest is False or (_is_whole(most) and most <= len(first))
        parts = [*first, *([] if closed else [rest])]
        if not all(isinstance(part, dict) for part in parts):
            return _anything({})
        return self._choose({}, "anyOf", parts, refs, depth) if parts else _anything({})


def _union(written: list[Json], *, nullable: bool) -> Json:
    """A union of several schemas; unions inside it are flattened."""
    flat: list[Json] = []
    for one in written:
        for branch in one.get("anyOf", [one]):
            if branch not in flat:
                flat.append(branch)
    if not flat:
        return {"type": "STRING", "nullable": True} if nullable else _anything({})
    if nullable:
        flat = [{**branch, "nullable": True} for branch in flat]
    return flat[0] if len(flat) == 1 else {"anyOf": flat}


def _anything(schema: Json, *, inside: bool = False) -> Json:
    """Any value. Every schema must have a type, so the nesting of arrays ends at the third level."""
    description = _described(schema)
    plain: list[Json] = [{"type": kind, "nullable": True, **description} for kind in _PLAIN]
    if inside:
        return {"anyOf": plain}
    return {"anyOf": [*plain, {"type": "ARRAY", "items": _anything({}, inside=True), "nullable": True, **description}]}


def _described(schema: Json) -> Json:
    text = schema.get("description")
    return {"description": text} if isinstance(text, str) and text else {}


def _bounds(schema: Json, kind: str) -> Json:
    """`minimum` and `maximum`, including the exclusive bounds: exact for integers, otherwise with the bound itself."""
    from math import ceil, floor

    least = [schema[key] for key in ("minimum",) if _is_number(schema.get(key))]
    most = [schema[key] for key in ("maximum",) if _is_number(schema.get(key))]
    above: Any = schema.get("exclusiveMinimum")
    if _is_number(above):
        least.append(floor(above) + 1 if kind == "integer" else above)
    below: Any = schema.get("exclusiveMaximum")
    if _is_number(below):
        most.append(ceil(below) - 1 if kind == "integer" else below)
    return {**({"minimum": max(least)} if least else {}), **({"maximum": min(most)} if most else {})}


def _limited(out: Json, schema: Json, kind: str) -> Json:
    """Listed values: as `enum` if they are strings, else in the description and, for numbers, as bounds."""
    listed = values_of(schema)
    if listed is None:
        return out
    own = [item for item in listed if kind_of(item) == kind or (kind == "number" and kind_of(item) == "integer")]
    if any(item is None for item in listed):
        out["nullable"] = True
    if not own:
        return out
    if kind == "string" and all(own):
        return {**out, "enum": own}
    if kind in ("number", "integer"):
        out.update(minimum=min(own), maximum=max(own))
    note = f"One of: {', '.join(codec.dumps(item).decode() for item in own)}."
    text = out.get("description", "")
    return {**out, "description": f"{text} {note}".strip()} if len(note) <= MAX_NOTE else out


def _is_number(item: Any) -> bool:
    return isinstance(item, int | float) and not isinstance(item, bool)


def _is_whole(item: Any) -> bool:
    return _is_number(item) and item == int(item)
