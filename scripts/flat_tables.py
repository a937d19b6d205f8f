"""The tables of docs/protocol/flat.md: every line that the flat dialect prints, and the objects inside the lines."""

from __future__ import annotations

import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.types.record import Definition

_NAME = re.compile(r"\b[A-Z]\w+")


def lines_out() -> str:
    """One row per line."""
    from yume_shim.dialects.records.index import FLAT
    from yume_shim.types.record import describe

    rows = ["", "| line | fields | meaning |", "|---|---|---|"]
    for record in FLAT:
        definition = describe(record)
        constants = definition.constants()
        name = " ".join(f"`{constants[field]}`" for field in ("type", "subtype") if field in constants)
        rows.append(f"| {name} | {_fields(definition, ('type', 'subtype'))} | {_words(definition.doc)} |")
    return "\n".join(rows) + "\n\n"


def objects() -> str:
    """One row per object that is a field of a line, or inside one."""
    rows = ["", "| object | fields | meaning |", "|---|---|---|"]
    rows += [f"| {found.name} | {_fields(found, ())} | {_words(found.doc)} |" for found in inner_records()]
    return "\n".join(rows) + "\n\n"


def inner_records() -> list[Definition]:
    """The records that lines refer to, directly or not."""
    from yume_shim.dialects.records.index import FLAT
    from yume_shim.types import permission_records  # noqa: F401  # loaded for `_referred`
    from yume_shim.types.record import describe

    found: dict[str, Definition] = {}
    waiting = [describe(record) for record in FLAT]
    while waiting:
        for inner in _referred(waiting.pop()):
            if inner.name not in found:
                found[inner.name] = inner
                waiting.append(inner)
    return [found[name] for name in sorted(found)]


def _referred(definition: Definition) -> Iterator[Definition]:
    for annotation in definition.annotations().values():
        for name in _NAME.findall(annotation):
            for module in list(sys.modules.values()):
                if module.__name__.startswith("yume_shim.") and module.__name__.endswith("_records"):
                    built = getattr(module, name, None)
                    if built is not None and hasattr(built, "definition"):
                        yield built.definition
                        break


def _fields(definition: Definition, left_out: tuple[str, ...]) -> str:
    optional, constants = definition.optional(), definition.constants()
    shown = []
    for name, annotation in definition.annotations().items():
        if name in left_out and name in constants:
            continue
        mark = "?" if name in optional else ""
        shown.append(f"`{name}{mark}` {_type(annotation, optional=name in optional)}")
    return ", ".join(shown) or "–"


def _type(annotation: str, *, optional: bool) -> str:
    """A type in JSON's words."""
    text = annotation.removesuffix(" | None") if optional else annotation
    text = text.replace("FlatSubtype", _alias("FlatSubtype")).replace("ErrorKind", "a code (see below)")
    text = re.sub(r"Literal\[([^\]]*)\]", lambda found: _choices(found.group(1)), text)
    words = {"None": "null", "int": "number", "float": "number", "bool": "boolean", "str": "string", "Json": "object"}
    for python, plain in words.items():
        text = re.sub(rf"(?<!`)\b{python}\b(?!`)", plain, text)
    text = re.sub(r"\bAny\b", "any value", text)
    text = re.sub(r"list\[([^\]]*)\]", r"list of \1", text)
    text = re.sub(r"dict\[string, ([^\]]*)\]", r"object of \1 by name", text)
    return text.replace("|", "or")


def _choices(listed: str) -> str:
    values = [part.strip().strip("\"'") for part in listed.split(",") if part.strip()]
    return " or ".join(f"`{value.lower() if value in ('True', 'False') else value}`" for value in values)


def _alias(name: str) -> str:
    """The definition of a type that exists only for type checkers."""
    from yume_shim.dialects.records import shared_records

    with open(shared_records.__file__, encoding="utf-8") as file:
        found = re.search(rf"{name} = (Literal\[.*?\])", file.read(), re.DOTALL)
    return " ".join(found.group(1).split()) if found is not None else name


def _words(doc: str) -> str:
    return " ".join(doc.split()).replace("|", "\\|")
