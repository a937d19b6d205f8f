"""Checks JSON objects against the records that define them, and resolves the records' annotations.

Annotations are strings, and the names in them are imported for type checkers only. `names_in` collects those names from
the source of a module. A record is a function at run time, so a stand-in class takes its place in the annotations.
"""

from __future__ import annotations

import ast
import importlib
import types
import typing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yume_shim.types.record import describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from yume_shim.types.record import Definition, Record

PACKAGE = "yume_shim"
CUT_MARK = "_truncated"
"""A line that was shortened has this mark for each field that lost something."""


# ---------------------------------------------------------------- types


@cache
def stand_in(record: type[Record]) -> type:
    """A class for annotations."""
    definition = describe(record)
    return type(definition.name, (), {"record": staticmethod(record), "__annotations__": definition.annotations()})


@cache
def hints(record: type[Record]) -> dict[str, Any]:
    """Field → type."""
    return typing.get_type_hints(stand_in(record), globalns=names_in(describe(record).module))


_NAMES: dict[str, dict[str, Any]] = {}


def names_in(module: str) -> dict[str, Any]:
    """The names of a module, with those that only type checkers import. Such imports may be circular: then a module is
    known by its run-time names first."""
    if module in _NAMES:
        return _NAMES[module]
    loaded = importlib.import_module(module)
    names = _NAMES[module] = {name: _as_type(item) for name, item in vars(loaded).items()}
    assert loaded.__file__ is not None
    for node in ast.parse(Path(loaded.__file__).read_text("utf-8")).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for inner in node.body:
                _bind(inner, names)
    return names


def _bind(node: ast.stmt, names: dict[str, Any]) -> None:
    if isinstance(node, ast.ImportFrom):
        assert node.module is not None
        source = (
            names_in(node.module) if node.module.startswith(PACKAGE) else vars(importlib.import_module(node.module))
        )
        names.update({each.asname or each.name: source[each.name] for each in node.names if each.name in source})
    elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        names[ast.unparse(target)] = eval(ast.unparse(node.value), names)


def _as_type(item: Any) -> Any:
    return stand_in(item) if hasattr(item, "definition") else item


def reachable(lines: Sequence[type[Record]]) -> set[str]:
    """The names of these records and of all records inside them."""
    found: set[str] = set()
    waiting = list(lines)
    while waiting:
        record = waiting.pop()
        name = f"{describe(record).module}.{describe(record).name}"
        if name not in found:
            found.add(name)
            waiting += [each for hint in hints(record).values() for each in records_in(hint)]
    return found


def records_in(hint: Any) -> Iterator[type[Record]]:
    """The records that a type refers to."""
    if hasattr(hint, "record"):
        yield hint.record
    for part in typing.get_args(hint):
        yield from records_in(part)


# ---------------------------------------------------------------- values


def check_lines(lines: Iterable[dict[str, Any]], records: Sequence[type[Record]]) -> None:
    """Fail if a line is described by none of the records."""
    for line in lines:
        assert complaints(line, records) == [], line


def complaints(line: dict[str, Any], lines: Sequence[type[Record]]) -> list[str]:
    """What is wrong with a line: nothing, if one of the records describes it."""
    fitting = [record for record in lines if _is_kind(line, describe(record))]
    if not fitting:
        return [f"no record for type {line.get('type')!r}, subtype {line.get('subtype')!r}"]
    found = [_record_complaints(line, record, "", top=True) for record in fitting]
    return min(found, key=len)


def _is_kind(value: Any, definition: Definition) -> bool:
    """Do `type` and `subtype` say that this is such a record?"""
    constants = definition.constants()
    return isinstance(value, dict) and all(
        value.get(name) == constants[name] for name in ("type", "subtype") if name in constants
    )


def _record_complaints(value: Any, record: type[Record], path: str, *, top: bool = False) -> list[str]:
    definition = describe(record)
    if not isinstance(value, dict):
        return [f"{path}: not an object"]
    fields = hints(record)
    constants, optional = definition.constants(), definition.optional()
    found: list[str] = []
    for name, item in value.items():
        at = f"{path}.{name}" if path else name
        if top and name.endswith(CUT_MARK) and name.removesuffix(CUT_MARK) in fields:
            continue
        if name not in fields:
            found.append(f"{at}: {definition.name} has no such field")
        elif name in constants and (item != constants[name] or type(item) is not type(constants[name])):
            found.append(f"{at}: {item!r} is not {constants[name]!r}")
        elif name in optional and item is None:
            found.append(f"{at}: null, but should be left out")
        else:
            found += _value_complaints(item, fields[name], at)
    found += [
        f"{path}.{name}: missing in {definition.name}" for name in fields if name not in value and name not in optional
    ]
    shown = [name for name in value if name in fields]
    if shown != [name for name in fields if name in value]:
        found.append(f"{path}: fields of {definition.name} in the order {shown}")
    return found


def _value_complaints(value: Any, hint: Any, path: str) -> list[str]:
    if hasattr(hint, "record"):
        return _record_complaints(value, hint.record, path)
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _union_complaints(value, parts, path)
    if origin is typing.Literal:
        fits = any(value == part and type(value) is type(part) for part in parts)
        return [] if fits else [f"{path}: {value!r} is none of {parts}"]
    if origin is list:
        if not isinstance(value, list):
            return [f"{path}: not a list"]
        return [
            each for place, item in enumerate(value) for each in _value_complaints(item, parts[0], f"{path}[{place}]")
        ]
    if origin is dict:
        if not isinstance(value, dict):
            return [f"{path}: not an object"]
        return [each for name, item in value.items() for each in _value_complaints(item, parts[1], f"{path}.{name}")]
    return [] if _is_plain(value, hint) else [f"{path}: {value!r} is not {hint}"]


def _union_complaints(value: Any, parts: Sequence[Any], path: str) -> list[str]:
    """A value that names its kind by `type` must be that record, even where any object is allowed."""
    named = [part for part in parts if hasattr(part, "record") and describe(part.record).constants()]
    kinds = [part for part in named if _is_kind(value, describe(part.record))]
    found = [_value_complaints(value, part, path) for part in kinds or parts]
    return min(found, key=lambda each: (any(text.startswith(f"{path}:") for text in each), len(each)))


def _is_plain(value: Any, hint: Any) -> bool:
    if hint is Any:
        return True
    if hint is types.NoneType:
        return value is None
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is hint
