"""Checks JSON values against the published schemas in `yume_shim/schemas`.

It knows the keywords that `scripts/protocol_schemas.py` writes and no others; a test compares it with `jsonschema`,
which is slower, says less clearly what is wrong, and has no strict mode. A plain turn does not load this.
"""

from __future__ import annotations

import os
from functools import cache

from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from yume_shim.types.blocks import Json

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "schemas")
MAX_SHOWN = 60
"""Characters of a value that a reason quotes."""
CUT_MARK = "_truncated"
"""A line that was shortened has this mark for each field that lost something."""

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
_ARTICLES = {"object": "an object", "array": "a list", "integer": "a whole number", "null": "null"}


@cache
def load_schema(name: str) -> Json:
    """A published schema, by the name of its file without `.schema.json`."""
    with open(os.path.join(FOLDER, f"{name}.schema.json"), "rb") as file:
        loaded: Json = codec.loads(file.read())
    return loaded


class SchemaCheck:
    """Checks values against one schema. `strict`: unknown fields, lines and members of unions are wrong, too."""

    def __init__(self, schema: Json, *, strict: bool = False) -> None:
        self._schema = schema
        self._defs: Json = schema.get("$defs", {})
        self._strict = strict
        self._tables: dict[int, tuple[str, dict[Any, list[Json]]]] = {}
        """Of each choice the field that all its branches ask for, and the branches by its value: lines have dozens."""

    def problems(self, value: Any) -> list[str]:
        """What is wrong, as `field: reason`; [] if nothing is."""
        return list(self._check(value, self._schema, ""))

    def member(self, name: str, value: Any) -> list[str]:
        """What is wrong with one member of the object that the schema describes."""
        return list(self._check(value, self._schema["properties"][name], ""))

    def _check(self, value: Any, schema: Json, path: str) -> Iterator[str]:
        if "$ref" in schema:
            schema = self._defs[schema["$ref"].rpartition("/")[2]]
        if "const" in schema:
            if not _same(value, schema["const"]):
                yield f"{_at(path)}must be {_quote(schema['const'])}, not {_quote(value)}"
            return
        if "enum" in schema:
            if not any(_same(value, item) for item in schema["enum"]):
                known = ", ".join(map(_quote, schema["enum"]))
                yield f"{_at(path)}must be one of {known}, not {_quote(value)}"
            return
        if "anyOf" in schema:
            yield from self._any_of(value, schema["anyOf"], path)
            return
        kind = schema.get("type")
        if kind is not None and not _TYPES[kind](value):
            yield f"{_at(path)}must be {_ARTICLES.get(kind, f'a {kind}')}, not {_quote(value)}"
        elif isinstance(value, dict):
            yield from self._object(value, schema, path)
        elif isinstance(value, list) and "items" in schema:
            for place, item in enumerate(value):
                yield from self._check(item, schema["items"], f"{path}[{place}]")

    def _any_of(self, value: Any, choices: list[Json], path: str) -> Iterator[str]:
        """The problems of the choice that fits best: the one whose own kind is right, with the fewest problems."""
        found: list[str] | None = None
        for choice in choices:
            problems = list(self._check(value, choice, path))
            if not problems:
                return
            if found is None or _badness(problems, path) < _badness(found, path):
                found = problems
        yield from found or ()

    def _object(self, value: Json, schema: Json, path: str) -> Iterator[str]:
        fields: Json = schema.get("properties", {})
        cut = {name for name in fields if value.get(name + CUT_MARK) is True} if not path else ()
        for name in schema.get("required", ()):
            if name not in value and name not in cut:
                yield f"{_at(_join(path, name))}missing"
        for name, part in fields.items():
            if name in value and name not in cut:  # of a field that was cut, anything may be missing
                yield from self._check(value[name], part, _join(path, name))
        others = schema.get("additionalProperties")
        if others is not None:
            for name, item in value.items():
                if name not in fields:
                    yield from self._check(item, others, _join(path, name))
        elif "allOf" in schema:
            yield from self._branches(value, schema, path)
        elif self._strict and not schema.get("x-open"):
            yield from self._unknown_fields(value, fields, path)

    def _branches(self, value: Json, schema: Json, path: str) -> Iterator[str]:
        applied = False
        for branch in self._branches_for(schema["allOf"], value):
            if self._matches(value, branch["if"]):
                applied = True
                yield from self._check(value, branch["then"], path)
        if not applied and self._strict and not schema.get("x-open"):
            kind = " ".join(_quote(value[name]) for name in ("type", "subtype", "behavior") if name in value)
            yield f"{_at(path)}unknown kind {kind}".rstrip()

    def _branches_for(self, branches: list[Json], value: Json) -> list[Json]:
        if id(branches) not in self._tables:
            common = set.intersection(*(set(branch["if"]["properties"]) for branch in branches))
            name = min(common, default="")
            table: dict[Any, list[Json]] = {}
            for branch in branches if name else ():
                table.setdefault(branch["if"]["properties"][name]["const"], []).append(branch)
            self._tables[id(branches)] = name, table
        name, table = self._tables[id(branches)]
        kind = value.get(name)
        return table.get(kind, []) if isinstance(kind, str) else branches

    def _matches(self, value: Json, condition: Json) -> bool:
        fits = all(_same(value.get(name, _MISSING), part["const"]) for name, part in condition["properties"].items())
        return fits and not any(self._matches(value, other) for other in condition.get("not", {}).get("anyOf", ()))

    def _unknown_fields(self, value: Json, fields: Iterable[str], path: str) -> Iterator[str]:
        for name in value:
            if name not in fields and not (not path and name.removesuffix(CUT_MARK) in fields):
                yield f"{_at(_join(path, name))}unknown field"


_MISSING = object()


def _same(value: Any, constant: Any) -> bool:
    return type(value) is type(constant) and bool(value == constant)


def _badness(problems: list[str], path: str) -> tuple[bool, int, int]:
    """A choice whose whole value has the wrong type is worse than one with wrong fields; that is worse than one where
    fields are missing."""
    wrong = sum(": must be" in text for text in problems)
    return any(text.startswith(f"{_at(path)}must be") for text in problems), wrong, len(problems)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _at(path: str) -> str:
    return f"{path}: " if path else ""


def _quote(value: Any) -> str:
    text = codec.dumps(value).decode("utf-8", "replace")
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
