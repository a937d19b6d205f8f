"""Combines schemas into one: values that fit `both`, or `either` of several. The result never refuses a value that the
originals accept.

Schemas are read as their authors mean them: keywords of one type (`properties`, `items`, `minLength` …) imply that
type, and a branch accepts the properties that it names. Otherwise `oneOf [{path}, {url}]` could not become one object
with two optional properties: strictly read, its first branch accepts any `url`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.types.blocks import Json

    Union = Callable[[list[Any]], Any]
    """How a choice between schemas is written where unions are allowed; `either` where they are not."""

KEYWORDS_OF: dict[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": (
        "items",
        "prefixItems",
        "additionalItems",
        "contains",
        "minContains",
        "maxContains",
        "minItems",
        "maxItems",
        "uniqueItems",
    ),
    "object": (
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
    ),
}
"""Keywords that apply to values of one type only."""
JSON_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_GROUPS = (
    ("items", "prefixItems", "additionalItems"),
    ("contains", "minContains", "maxContains"),
    ("if", "then", "else"),
    ("$ref",),
)
"""Keywords that mean something only together: taken from one schema, never mixed."""
_HIGHER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_LOWER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
MAX_TARGET_STEPS = 64


def types_of(schema: Json) -> tuple[str, ...]:
    """The types of the values that a schema describes; () = any."""
    declared = schema.get("type")
    if isinstance(declared, str):
        return (declared,) if declared in JSON_TYPES else ()
    if isinstance(declared, list):
        return tuple(kind for kind in JSON_TYPES if kind in declared)
    values = values_of(schema)
    if values is not None:
        return tuple(kind for kind in JSON_TYPES if any(kind_of(item) == kind for item in values))
    implied = tuple(kind for kind, words in KEYWORDS_OF.items() if any(word in schema for word in words))
    return implied if len(implied) == 1 else ()


def values_of(schema: Json) -> list[Any] | None:
    """The accepted values, if they are listed."""
    if "const" in schema:
        return [schema["const"]]
    listed = schema.get("enum")
    return list(listed) if isinstance(listed, list) else None


def kind_of(item: Any) -> str:
    """The JSON type of a value."""
    match item:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def target(root: Any, ref: str) -> Any:
    """The schema that a local reference (`#/$defs/Name`) points to; {} (anything) if there is none."""
    found: Any = root
    if not ref.startswith("#") or ref.count("/") > MAX_TARGET_STEPS or (ref != "#" and not ref.startswith("#/")):
        return {}
    if "%" in ref:
        from urllib.parse import unquote

        ref = unquote(ref)
    for part in ref.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = found[int(name)] if name.isdecimal() and int(name) < len(found) else None
        else:
            found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict | bool) else {}


# ---------------------------------------------------------------- both


def both(first: Any, second: Any) -> Any:
    """A schema for values that fit both. Where two values of a keyword cannot be combined, the first is kept."""
    if first is False or second is False:
        return False
    if not isinstance(first, dict) or not isinstance(second, dict):
        return first if isinstance(first, dict) else second
    out = dict(first)
    taken = {key for group in _GROUPS if any(key in first for key in group) for key in group}
    for key, item in second.items():
        if key not in out:
            if key not in taken:
                out[key] = item
        elif key not in taken:
            out[key] = _joined(key, out[key], item)
    return out


def _joined(key: str, mine: Any, other: Any) -> Any:
    if mine == other:
        return mine
    if isinstance(mine, dict) and isinstance(other, dict) and key in ("properties", "patternProperties", "$defs"):
        shared = {name: both(mine[name], other[name]) for name in mine if name in other}
        return {**mine, **other, **shared}
    if key == "required" and isinstance(mine, list) and isinstance(other, list):
        return [*mine, *(name for name in other if name not in mine)]
    if key == "type":
        return _common_types(mine, other) or mine
    if key == "enum" and isinstance(mine, list) and isinstance(other, list):
        return [item for item in mine if any(same(item, their) for their in other)] or mine
    if key in (*_HIGHER, *_LOWER) and isinstance(mine, int | float) and isinstance(other, int | float):
        return max(mine, other) if key in _HIGHER else min(mine, other)
    return mine


def _common_types(mine: Any, other: Any) -> Any:
    ours = [mine] if isinstance(mine, str) else mine
    theirs = [other] if isinstance(other, str) else other
    if not isinstance(ours, list) or not isinstance(theirs, list):
        return None
    common = [kind for kind in ours if kind in theirs or (kind == "integer" and "number" in theirs)]
    if "number" in ours and "integer" in theirs and "integer" not in common and "number" not in common:
        common.append("integer")
    return common[0] if len(common) == 1 else common


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: in Python True equals 1."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


# ---------------------------------------------------------------- either


def either(branches: list[Any], union: Union | None = None) -> Json:
    """One schema, without a union at its top, for values that fit any of the branches."""
    union_of = union or either
    real = [branch for branch in branches if branch is not False]
    if not real or not all(isinstance(branch, dict) for branch in real):
        return {}
    if all(branch == real[0] for branch in real):
        return dict(real[0])
    kinds = [types_of(branch) for branch in real]
    out: Json = {}
    if all(kinds):
        together = [kind for kind in JSON_TYPES if any(kind in some for some in kinds)]
        out["type"] = together[0] if len(together) == 1 else together
    values = [values_of(branch) for branch in real]
    if all(listed is not None for listed in values):
        out["enum"] = _unique([item for listed in values for item in listed or ()])
    for kind, words in KEYWORDS_OF.items():
        holders = [branch for branch, some in zip(real, kinds, strict=True) if _may_be(kind, some)]
        if len(holders) == 1:
            out.update((word, holders[0][word]) for word in words if word in holders[0])
        elif kind == "object":
            out.update(_either_object(holders, union_of))
        elif kind == "array":
            out.update(_either_array(holders, union_of))
        elif holders:
            out.update((w, holders[0][w]) for w in words if all(w in h and h[w] == holders[0][w] for h in holders))
    if len(texts := _unique([branch["description"] for branch in real if "description" in branch])) == 1:
        out["description"] = texts[0]
    return out


def _may_be(kind: str, kinds: tuple[str, ...]) -> bool:
    return not kinds or kind in kinds or (kind == "number" and "integer" in kinds)


def _either_object(holders: list[Json], union_of: Union) -> Json:
    named: dict[str, list[Any]] = {}
    for branch in holders:
        properties = branch.get("properties")
        for name, part in (properties if isinstance(properties, dict) else {}).items():
            named.setdefault(name, []).append(part)
    for name, parts in named.items():
        parts.extend(_unnamed(branch) for branch in holders if name not in (branch.get("properties") or ()))
    out: Json = {}
    if named and all("properties" in branch or branch.get("additionalProperties") is False for branch in holders):
        out["properties"] = {name: _choice(parts, union_of) for name, parts in named.items()}
    required = [branch.get("required") for branch in holders]
    if required and all(isinstance(names, list) for names in required):
        always = [name for name in required[0] or () if all(name in (names or ()) for names in required)]
        if always:
            out["required"] = always
    if holders and all(b.get("additionalProperties") is False and "patternProperties" not in b for b in holders):
        out["additionalProperties"] = False
    return out


def _unnamed(branch: Json) -> Any:
    """The schema of a branch for a name that is not among its properties; False if it says nothing about those."""
    return True if "patternProperties" in branch else branch.get("additionalProperties", False)


def _either_array(holders: list[Json], union_of: Union) -> Json:
    parts = [branch.get("items") for branch in holders]
    if not parts or any("prefixItems" in branch for branch in holders) or not all(isinstance(p, dict) for p in parts):
        return {}
    return {"items": _choice(parts, union_of)}


def _choice(parts: list[Any], union_of: Union) -> Any:
    if any(part is True or part == {} for part in parts):
        return {}
    distinct: list[Any] = []
    for part in parts:
        if part is not False and part not in distinct:
            distinct.append(part)
    if not distinct:
        return False
    return distinct[0] if len(distinct) == 1 else union_of(distinct)


def _unique(items: list[Any]) -> list[Any]:
    out: list[Any] = []
    for item in items:
        if not any(same(item, there) for there in out):
            out.append(item)
    return out
