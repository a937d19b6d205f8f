"""The TypeScript types of the protocol, from the same records as the JSON Schemas."""

from __future__ import annotations

import json
import types
import typing

if typing.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from yume_shim.types.record import Record

HEAD = """\
// The lines of the yume-shim protocol: one JSON object per line, in both directions.
// Written by scripts/protocol_schemas.py. Lines and fields that are not here may be added at any time: ignore them.
"""
WORDS: dict[Any, str] = {str: "string", int: "number", float: "number", bool: "boolean", types.NoneType: "null"}


def type_definitions() -> str:
    """The whole file."""
    from yume_shim.dialects.records.index import FLAT, INPUT, NESTED, QUESTIONS, REQUESTS
    from yume_shim.types.record import describe

    def subtype(record: type[Record]) -> str:
        return str(describe(record).constants()["subtype"])

    answers = {subtype(request): (answer,) if answer else () for request, answer in REQUESTS.items()}
    replies = {subtype(question): found for question, found in QUESTIONS.items()}
    parts = [
        HEAD,
        _namespace("Flat", "Lines that the flat dialect prints.", FLAT),
        _namespace("StreamJson", "Lines that `--output-format stream-json` prints.", NESTED),
        _namespace("Input", "Lines that a host writes to stdin, in both dialects.", INPUT),
        _bodies("ControlAnswers", "Our answers to control requests, by subtype of the request.", answers),
        _bodies("HostAnswers", "The host's answers to our questions, by subtype of the question.", replies),
    ]
    return "\n".join(parts)


def _namespace(name: str, title: str, lines: Sequence[type[Record]]) -> str:
    from yume_shim.types.record import describe

    union = "".join(f"\n    | {describe(line).name}" for line in lines)
    return f"/** {title} */\nexport namespace {name} {{\n  type Line ={union};\n{_interfaces(lines)}}}\n"


def _bodies(name: str, title: str, bodies: Mapping[str, Sequence[type[Record]]]) -> str:
    from yume_shim.types.record import describe

    rows = [
        f"    {key}: {' | '.join(describe(record).name for record in found) or 'undefined'};\n"
        for key, found in bodies.items()
    ]
    records = [record for found in bodies.values() for record in found]
    text = "".join(rows)
    return (
        f"/** {title} */\nexport namespace {name} {{\n  interface BySubtype {{\n{text}  }}\n{_interfaces(records)}}}\n"
    )


def _interfaces(records: Sequence[type[Record]]) -> str:
    """These records, and all records inside them, each once."""
    from tests.helpers.record_check import hints, records_in
    from yume_shim.types.record import describe

    done: set[str] = set()
    waiting, text = list(records), ""
    while waiting:
        record = waiting.pop(0)
        definition = describe(record)
        if definition.name in done:
            continue
        done.add(definition.name)
        text += f"  /** {' '.join(definition.doc.split())} */\n  interface {definition.name} {{\n"
        for name, hint in hints(record).items():
            waiting += list(records_in(hint))
            mark = "?" if name in definition.optional() else ""
            constant = definition.constants().get(name, ...)
            shown = _type(_without_null(hint) if mark else hint) if constant is ... else json.dumps(constant)
            text += f"    {name}{mark}: {shown};\n"
        text += "  }\n"
    return text


def _type(hint: Any) -> str:
    from yume_shim.types.record import describe

    if hasattr(hint, "record"):
        return describe(hint.record).name
    if hint is typing.Any:
        return "unknown"
    if hint in WORDS:
        return WORDS[hint]
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return " | ".join(json.dumps(part) for part in parts)
    if origin is list:
        inner = _type(parts[0])
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if origin is dict:
        return f"Record<string, {_type(parts[1])}>"
    if origin in (typing.Union, types.UnionType):
        return " | ".join(_type(part) for part in parts)
    raise SystemExit(f"no TypeScript type for {hint}")


def _without_null(hint: Any) -> Any:
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return hint
    return typing.Union[tuple(part for part in typing.get_args(hint) if part is not types.NoneType)]  # noqa: UP007
