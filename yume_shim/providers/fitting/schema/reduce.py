"""Removes keywords from a schema. Where another keyword can express the same, it does: `$ref` is replaced by its
target, `const` becomes `enum`, a union becomes one schema with the types and properties of all its branches.

A reduced schema accepts every value that the original accepts. That is why further keywords may have to go: the
condition of `not` or `if` must not change, `oneOf` counts how many of its branches fit, and `additionalProperties`
applies to everything that `properties` and `patternProperties` do not name.
"""

from __future__ import annotations

from yume_shim.providers.fitting.schema.combine import both, either, target
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.types.blocks import Json

SCHEMA_KEYS = frozenset(
    [
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
    ]
)
"""Keywords whose value is a schema (`items` may be a list of them)."""
LIST_KEYS = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
"""Keywords whose value is a list of schemas."""
MAP_KEYS = frozenset(("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"))
"""Keywords whose value is a map from names to schemas."""
DEFINITIONS = ("$defs", "definitions")
_BESIDE_LONE_REFS = ("$ref", "$schema", *DEFINITIONS, "title", "description", "default", "examples")
MAX_DEPTH = 64
"""A schema nested deeper than this becomes "anything"."""
MAX_NODES = 4_000
"""Schemas that are written at most: references to references can multiply without end."""
_OLD_DRAFTS = ("draft-03", "draft-04", "draft-06", "draft-07")


class Place(Value):
    """A position in the schema."""

    base: Any
    """What `#` refers to: the root, or the nearest schema with an `$id`."""
    refs: tuple[str, ...] = ()
    """The references that were followed to this position: following one again is a cycle."""
    depth: int = 0


class Reducer:
    """One walk over one schema. `takes` says which keywords are kept."""

    def __init__(self, root: Any, takes: Callable[[str], bool]) -> None:
        self._root = root
        self._takes = takes
        self._left = MAX_NODES
        self._keeps_refs = takes("$ref") and all(takes(name) for name in DEFINITIONS)
        dialect = root.get("$schema") if isinstance(root, dict) else None
        self._lone_refs = isinstance(dialect, str) and any(draft in dialect for draft in _OLD_DRAFTS)
        """Up to draft 7, keywords beside a `$ref` are ignored."""

    def whole(self) -> Any:
        return self.reduce(self._root, Place(self._root))

    def reduce(self, schema: Any, at: Place) -> Any:
        if not isinstance(schema, dict):
            return schema if isinstance(schema, bool) else {}
        self._left -= 1
        if at.depth > MAX_DEPTH or self._left < 0:
            return {}
        if at.depth and isinstance(schema.get("$id"), str):
            at = replace(at, base=schema)
        at = replace(at, depth=at.depth + 1)
        ref = schema.get("$ref")
        if isinstance(ref, str):
            if self._lone_refs:
                schema = {key: item for key, item in schema.items() if key in _BESIDE_LONE_REFS}
            if not self._keeps_ref(ref):
                return self._inlined(schema, ref, at)
        kept: Json = {}
        for key, item in schema.items():
            if self._takes(key) and key not in ("unevaluatedProperties", "unevaluatedItems"):
                self._keep(kept, schema, key, item, at)
        for key, item in schema.items():
            if not self._takes(key) or (key == "oneOf" and key not in kept):
                kept = self._replace(kept, schema, key, item, at)
        return kept

    def _keeps_ref(self, ref: str) -> bool:
        return self._keeps_refs and all(self._takes(part) for part in ref.split("/")[1:2])

    def _inlined(self, schema: Json, ref: str, at: Place) -> Any:
        rest = {key: item for key, item in schema.items() if key != "$ref"}
        where = f"{id(at.base)}{ref}"
        if where in at.refs:
            return self.reduce(rest, at)
        return self.reduce(both(rest, target(at.base, ref)), replace(at, refs=(*at.refs, where)))

    def _untouched(self, schema: Any, at: Place) -> bool:
        """Is it certain that nothing in it changes? The target of a reference may."""
        return self.reduce(schema, at) == schema and not _refers(schema)

    # ------------------------------------------------------------ kept keywords

    def _keep(self, kept: Json, schema: Json, key: str, item: Any, at: Place) -> None:
        match key:
            case "$defs" | "definitions" if not self._keeps_refs:
                pass
            case "not":
                if self._untouched(item, at):
                    kept[key] = item
            case "if" | "then" | "else":
                if "if" in schema and self._takes("if") and self._untouched(schema["if"], at):
                    kept[key] = item if key == "if" else self.reduce(item, at)
            case "oneOf":
                if isinstance(item, list) and all(self._untouched(branch, at) for branch in item):
                    kept[key] = item
            case "contains":
                if schema.get("minContains") != 0 or self._takes("minContains"):
                    kept[key] = self.reduce(item, at)
            case "maxContains":
                if "contains" in schema and self._untouched(schema["contains"], at):
                    kept[key] = item
            case "additionalProperties":
                if all(self._takes(other) for other in ("properties", "patternProperties") if other in schema):
                    kept[key] = self.reduce(item, at)
            case "items":
                self._keep_items(kept, schema, item, at)
            case _ if key in MAP_KEYS and isinstance(item, dict):
                kept[key] = {name: self._inner(inner, at) for name, inner in item.items()}
            case _ if key in LIST_KEYS:
                kept[key] = self._each(item, at)
            case _ if key in SCHEMA_KEYS:
                kept[key] = self.reduce(item, at)
            case _:
                kept[key] = item

    def _keep_items(self, kept: Json, schema: Json, item: Any, at: Place) -> None:
        if isinstance(item, list):  # the older form of prefixItems
            kept["items"] = self._each(item, at)
        elif "prefixItems" not in schema or self._takes("prefixItems"):
            kept["items"] = self.reduce(item, at)
        else:
            first = schema["prefixItems"]
            kept["items"] = self._union([*self._each(first, at), *([] if item is False else [self.reduce(item, at)])])

    def _inner(self, item: Any, at: Place) -> Any:
        return item if isinstance(item, list) else self.reduce(item, at)  # `dependencies` may list names

    def _each(self, items: Any, at: Place) -> list[Any]:
        return [self.reduce(item, at) for item in items] if isinstance(items, list) else []

    def _union(self, branches: list[Any]) -> Json:
        return {"anyOf": branches} if self._takes("anyOf") else either(branches)

    # ------------------------------------------------------------ replaced keywords

    def _replace(self, kept: Json, schema: Json, key: str, item: Any, at: Place) -> Json:
        match key:
            case "const" if self._takes("enum") and "enum" not in schema:
                return {**kept, "enum": [item]}
            case "anyOf" | "oneOf" if isinstance(item, list) and item:
                branches = self._each(item, at)
                more = self._union(branches) if key == "oneOf" and "anyOf" not in schema else either(branches)
                joined: Json = both(kept, more)
                return joined
            case "allOf" if isinstance(item, list):
                for inner in self._each(item, at):
                    kept = both(kept, inner) or {}
                return kept
            case "if" if "then" in schema and "else" in schema:
                branches = self._each([schema["then"], schema["else"]], at)
                fits: Json = both(kept, either(branches, self._union))
                return fits
            case _:
                return kept


def _refers(schema: Any) -> bool:
    if isinstance(schema, list):
        return any(map(_refers, schema))
    return isinstance(schema, dict) and ("$ref" in schema or any(map(_refers, schema.values())))
