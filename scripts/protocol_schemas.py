"""Write yume_shim/schemas/ from the records of the protocol: JSON Schemas and TypeScript types. `--check` only looks.

The schemas are open: they accept fields, lines and members of unions that they do not know, because further ones are
added without a new protocol version. The keyword `x-open` marks places where other programs decide what there is;
`yume-shim check-stream --strict` reads it.
"""

from __future__ import annotations

import json
import os
import sys
import types
import typing

import _venv

if typing.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from yume_shim.types.record import Definition, Record

    Schema = dict[str, Any]
    Kind = tuple[tuple[str, Any], ...]

FOLDER = os.path.join(_venv.ROOT, "yume_shim", "schemas")
DRAFT = "https://json-schema.org/draft/2020-12/schema"
KINDS = ("type", "subtype", "behavior")
"""Fields that say which member of a union a record is."""
PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    types.NoneType: {"type": "null"},
}


def main() -> int:
    """Exit code 1 when a file is out of step and was only looked at."""
    _venv.ready()
    sys.path.insert(0, _venv.ROOT)
    wrong = 0
    wanted = files()
    os.makedirs(FOLDER, exist_ok=True)
    for name in sorted({*wanted, *os.listdir(FOLDER)}):
        path = os.path.join(FOLDER, name)
        text = wanted.get(name)
        if text == read(path):
            continue
        if "--check" in sys.argv[1:]:
            print(f"yume_shim/schemas/{name} is out of step; run scripts/protocol_schemas.py", file=sys.stderr)
            wrong = 1
        elif text is None:
            os.unlink(path)
            print(f"yume_shim/schemas/{name}: removed")
        else:
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            print(f"yume_shim/schemas/{name}: written")
    return wrong


def read(path: str) -> str | None:
    """The text of a file; None if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def files() -> dict[str, str]:
    """File name → text."""
    from protocol_types import type_definitions

    from yume_shim.dialects.records.index import FLAT, INPUT, NESTED, QUESTIONS, REQUESTS

    answers = {kind_of(request, "subtype"): (answer,) if answer else () for request, answer in REQUESTS.items()}
    replies = {kind_of(question, "subtype"): replies for question, replies in QUESTIONS.items()}
    schemas = {
        "flat-output": lines_schema("A line that the flat dialect prints.", FLAT),
        "stream-json-output": lines_schema("A line that `--output-format stream-json` prints.", NESTED),
        "input": lines_schema("A line that a host writes to stdin.", INPUT, nulls=True),
        "control-answers": bodies_schema("Our answers to control requests, by subtype of the request.", answers),
        "host-answers": bodies_schema("The host's answers to our questions, by subtype of the question.", replies),
    }
    made = {f"{name}.schema.json": json.dumps(schema, indent=1) + "\n" for name, schema in schemas.items()}
    return {**made, "protocol.d.ts": type_definitions()}


def kind_of(record: type[Record], field: str) -> str:
    """A constant of a record."""
    from yume_shim.types.record import describe

    return str(describe(record).constants()[field])


# ---------------------------------------------------------------- whole files


def lines_schema(title: str, lines: Sequence[type[Record]], *, nulls: bool = False) -> Schema:
    """One schema for every line: which record applies is decided by `type` and `subtype`; other lines are accepted.
    `nulls`: a field that may be left out may also be null."""
    maker = Maker(nulls=nulls)
    branches = maker.branches(lines)
    schema: Schema = {"$schema": DRAFT, "title": title, "type": "object", "required": ["type"]}
    schema["properties"] = {"type": {"type": "string"}}
    schema["allOf"] = branches
    return {**schema, "$defs": maker.definitions()}


def bodies_schema(title: str, bodies: Mapping[str, Sequence[type[Record]]]) -> Schema:
    """An object with one member: subtype → answer."""
    maker = Maker(nulls=True)
    members = {name: maker.any_of(records) if records else {} for name, records in bodies.items()}
    schema: Schema = {"$schema": DRAFT, "title": title, "type": "object", "properties": members}
    return {**schema, "$defs": maker.definitions()}


class Maker:
    """Makes the schemas of records, and remembers those that they refer to."""

    def __init__(self, *, nulls: bool) -> None:
        self._nulls = nulls
        self._made: dict[str, Schema] = {}
        self._of: dict[str, type[Record]] = {}

    def definitions(self) -> dict[str, Schema]:
        """Every record that was referred to, by name."""
        return {name: self._made[name] for name in sorted(self._made)}

    def reference(self, record: type[Record]) -> Schema:
        """A reference to the schema of a record, which is made at the first use."""
        from yume_shim.types.record import describe

        name = describe(record).name
        if name in self._of and self._of[name] is not record:
            raise SystemExit(f"two records of one file are called {name}")
        if name not in self._of:
            self._of[name] = record
            self._made[name] = self._record(record, describe(record))
        return {"$ref": f"#/$defs/{name}"}

    def _record(self, record: type[Record], definition: Definition) -> Schema:
        from tests.helpers.record_check import hints

        constants, optional = definition.constants(), definition.optional()
        fields: dict[str, Schema] = {}
        for name, hint in hints(record).items():
            if name in constants:
                fields[name] = {"const": constants[name]}
            else:
                fields[name] = self.value(without_none(hint) if name in optional and not self._nulls else hint)
        schema: Schema = {"type": "object", "description": " ".join(definition.doc.split()), "properties": fields}
        required = [name for name in fields if name not in optional]
        if required:
            schema["required"] = required
        if not fields:
            schema["x-open"] = True
        return schema

    def branches(self, records: Iterable[type[Record]]) -> list[Schema]:
        """If the kind is that of a record, the record's schema applies."""
        from yume_shim.types.record import describe

        groups: dict[Kind, list[type[Record]]] = {}
        for record in records:
            constants = describe(record).constants()
            kind = tuple((name, constants[name]) for name in KINDS if name in constants)
            groups.setdefault(kind, []).append(record)
        if {} in (dict(kind) for kind in groups):
            raise SystemExit("a record of a union has no field that says its kind")
        return [self._branch(kind, members, groups) for kind, members in groups.items()]

    def _branch(self, kind: Kind, members: list[type[Record]], groups: dict[Kind, list[type[Record]]]) -> Schema:
        """A general record applies where no more special one does, or beside it."""
        special = [other for other in groups if set(kind) < set(other)]
        general = [record for other, found in groups.items() if set(other) < set(kind) for record in found]
        condition = has_kind(kind)
        if special:
            condition["not"] = {"anyOf": [has_kind(other) for other in special]}
        return {"if": condition, "then": self.any_of([*members, *general])}

    def any_of(self, records: Sequence[type[Record]]) -> Schema:
        """One of these records."""
        found = [self.reference(record) for record in records]
        return found[0] if len(found) == 1 else {"anyOf": found}

    def value(self, hint: Any) -> Schema:
        """The schema of a type."""
        if hasattr(hint, "record"):
            return self.reference(hint.record)
        if hint is typing.Any:
            return {"x-open": True}
        if hint in PLAIN:
            return PLAIN[hint]
        origin, parts = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Literal:
            return {"const": parts[0]} if len(parts) == 1 else {"enum": list(parts)}
        if origin is list:
            return {"type": "array", "items": self.value(parts[0])}
        if origin is dict:
            members = self.value(parts[1])
            return {"type": "object"} | (
                {"x-open": True} if parts[1] is typing.Any else {"additionalProperties": members}
            )
        if origin in (typing.Union, types.UnionType):
            return self._union(parts)
        raise SystemExit(f"no schema for {hint}")

    def _union(self, parts: Sequence[Any]) -> Schema:
        records = [part.record for part in parts if hasattr(part, "record")]
        others = [part for part in parts if not hasattr(part, "record")]
        found: list[Schema] = []
        if len(records) == 1 and not any(typing.get_origin(part) is dict for part in others):
            found.append(self.reference(records[0]))
        elif records:
            is_open = any(typing.get_origin(part) is dict for part in others)
            others = [part for part in others if typing.get_origin(part) is not dict]
            members: Schema = {"type": "object", "allOf": self.branches(records)}
            found.append(members | ({"x-open": True} if is_open else {}))
        found += [self.value(part) for part in others]
        return found[0] if len(found) == 1 else {"anyOf": found}


def has_kind(kind: Kind) -> Schema:
    """Matches the objects of a kind."""
    return {"properties": {name: {"const": item} for name, item in kind}, "required": [name for name, _ in kind]}


def without_none(hint: Any) -> Any:
    """The type without null."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return hint
    return typing.Union[tuple(part for part in typing.get_args(hint) if part is not types.NoneType)]  # noqa: UP007


if __name__ == "__main__":
    sys.exit(main())
