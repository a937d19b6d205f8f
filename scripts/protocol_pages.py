"""The generated parts of docs/protocol/: every line in both directions, every control request, and the objects in them.

Fields and sentences come from the records, examples from docs/protocol/examples.json. A line without an example gets
the shortest one of its kind from the session goldens.
"""

from __future__ import annotations

import json
import os
import re
import sys

import _venv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from yume_shim.types.record import Definition, Record

EXAMPLES = os.path.join(_venv.ROOT, "docs", "protocol", "examples.json")
GOLDENS = {"flat": "flat.jsonl", "stream-json": "nested.jsonl"}
WIDTH = 150
"""Characters of an example's line on the page."""


def sections() -> dict[str, dict[str, str]]:
    """Page → section → text."""
    sys.path.insert(0, _venv.ROOT)
    from yume_shim.dialects.records.index import FLAT, INPUT, NESTED, QUESTIONS, REQUESTS

    examples = Examples()
    answers = [answer for answer in REQUESTS.values() if answer is not None]
    replies = [reply for found in QUESTIONS.values() for reply in found]
    pages = {
        "flat.md": {
            "lines out": lines(FLAT, "flat", examples),
            "lines in": lines(INPUT, "input", examples),
            "control requests": requests(examples),
            "questions": questions(examples),
            "objects": objects([*FLAT, *INPUT, *answers, *replies], "ControlRequestBody"),
            "codes": codes(),
            "subtypes": subtypes(),
        },
        "stream-json.md": {"lines out": lines(NESTED, "stream-json", examples), "objects": objects(NESTED)},
    }
    examples.save()
    return pages


class Examples:
    """The examples, by group and name of the record."""

    def __init__(self) -> None:
        with open(EXAMPLES, encoding="utf-8") as file:
            self._text = file.read()
        self._all: dict[str, dict[str, Any]] = json.loads(self._text)

    def get(self, group: str, record: type[Record]) -> Any:
        """The example of a record."""
        from yume_shim.types.record import describe

        name = describe(record).name
        known = self._all.setdefault(group, {})
        if name not in known:
            known[name] = from_goldens(group, record)
        return known[name]

    def save(self) -> None:
        """Write examples that were found; sorted, one per line."""
        if "--check" in sys.argv[1:]:
            return
        groups = []
        for group, known in self._all.items():
            rows = ",\n".join(f"  {json.dumps(name)}: {compact(known[name])}" for name in sorted(known))
            groups.append(f"{json.dumps(group)}: {{\n{rows}\n}}")
        text = "{\n" + ",\n".join(groups) + "\n}\n"
        if text != self._text:
            with open(EXAMPLES, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)


def from_goldens(group: str, record: type[Record]) -> Any:
    """The shortest line of this kind that a golden session prints."""
    from pathlib import Path

    from tests.helpers.record_check import complaints
    from yume_shim.types.record import describe

    definition = describe(record)
    kind = str(definition.constants().get("subtype") or definition.constants().get("type"))
    found: list[Any] = []
    for path in Path(_venv.ROOT, "golden", "sessions").glob(f"*/expected/{GOLDENS.get(group, '-')}"):
        for raw in path.read_text("utf-8").splitlines():
            line = json.loads(raw)
            if kind in (line.get("type"), line.get("subtype")) and complaints(line, [record]) == []:
                found.append(line)
    if not found:
        raise SystemExit(f"docs/protocol/examples.json has no example of {group} {definition.name}: add one")
    return json.loads(compact(min(found, key=lambda line: len(compact(line)))).replace("{WS}", "/home/me/project"))


def compact(value: Any) -> str:
    """JSON as the program writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# ---------------------------------------------------------------- lines, requests, questions


def lines(records: Sequence[type[Record]], group: str, examples: Examples) -> str:
    """One section per line."""
    from yume_shim.types.record import describe

    text = ""
    for record in records:
        definition = describe(record)
        constants = definition.constants()
        name = " ".join(f"`{constants[field]}`" for field in ("type", "subtype") if field in constants)
        text += f"\n### {name}\n\n{words(definition)}\n\n{fields(definition, ('type', 'subtype'))}"
        text += f"```json\n{folded(examples.get(group, record))}\n```\n"
    return text + "\n"


def requests(examples: Examples) -> str:
    """One section per control request, with its answer."""
    from yume_shim.dialects.records.index import REQUESTS
    from yume_shim.types.record import describe

    text = ""
    for request, answer in REQUESTS.items():
        definition = describe(request)
        text += (
            f"\n### `{definition.constants()['subtype']}`\n\n{words(definition)}\n\n{fields(definition, ('subtype',))}"
        )
        text += f"```json\n{folded(examples.get('requests', request))}\n```\n\n"
        if answer is None:
            text += "The answer has no `response`.\n"
            continue
        text += f"Answer: {words(describe(answer))}\n\n{fields(describe(answer), ())}"
        text += f"```json\n{folded(examples.get('answers', request))}\n```\n"
    return text + "\n"


def questions(examples: Examples) -> str:
    """One section per question to the host, with the answers that it may give."""
    from yume_shim.dialects.records.index import QUESTIONS
    from yume_shim.types.record import describe

    text = ""
    for question, replies in QUESTIONS.items():
        definition = describe(question)
        text += (
            f"\n### `{definition.constants()['subtype']}`\n\n{words(definition)}\n\n{fields(definition, ('subtype',))}"
        )
        text += f"```json\n{folded(examples.get('questions', question))}\n```\n"
        for reply in replies:
            text += f"\nAnswer: {words(describe(reply))}\n\n{fields(describe(reply), ())}"
            text += f"```json\n{folded(examples.get('replies', reply))}\n```\n"
    return text + "\n"


def folded(value: Any) -> str:
    """An example on as few lines as the page is wide: broken after commas, as JSON allows."""
    text, found = compact(value), ""
    while len(text) > WIDTH:
        at = max(text.rfind(mark, 0, WIDTH) for mark in (',"', ",{", ",["))
        if at <= 0:
            break
        found += text[: at + 1] + "\n "
        text = text[at + 1 :]
    return found + text


# ---------------------------------------------------------------- objects


def objects(records: Sequence[type[Record]], left_out: str = "") -> str:
    """A table of the objects that are fields of these records, or inside one."""
    rows = ["", "| object | fields | meaning |", "|---|---|---|"]
    rows += [
        f"| {found.name} | {', '.join(shown_fields(found, ())) or '–'} | {words(found)} |"
        for found in inner_records(records, left_out)
    ]
    return "\n".join(rows) + "\n\n"


def inner_records(records: Sequence[type[Record]], left_out: str = "") -> list[Definition]:
    """The records that these refer to, directly or not; fields of the type `left_out` are not followed."""
    from tests.helpers.record_check import hints, records_in
    from yume_shim.types.record import describe

    found: dict[str, Definition] = {}
    waiting = list(records)
    while waiting:
        record = waiting.pop()
        annotations = describe(record).annotations()
        for name, hint in hints(record).items():
            for inner in records_in(hint) if annotations[name] != left_out else ():
                if describe(inner).name not in found:
                    found[describe(inner).name] = describe(inner)
                    waiting.append(inner)
    return [found[name] for name in sorted(found)]


# ---------------------------------------------------------------- lists of values


def codes() -> str:
    """Every code of `error` and `retry` lines."""
    from yume_shim.types import errors

    return "\n" + ", ".join(f"`{code}`" for code in choices(errors.__file__, "ErrorKind")) + ".\n\n"


def subtypes() -> str:
    """Every subtype of a flat `result`."""
    from yume_shim.dialects.records import shared_records

    return "\n" + ", ".join(f"`{name}`" for name in choices(shared_records.__file__, "FlatSubtype")) + ".\n\n"


def choices(path: str, name: str) -> list[str]:
    """The values of a type that exists only for type checkers."""
    with open(path, encoding="utf-8") as file:
        found = re.search(rf"{name} = Literal\[(.*?)\]", file.read(), re.DOTALL)
    return re.findall(r'"([^"]+)"', found.group(1)) if found is not None else []


# ---------------------------------------------------------------- fields


def fields(definition: Definition, left_out: Iterable[str]) -> str:
    """A list of fields, one per line."""
    shown = list(shown_fields(definition, left_out))
    return "".join(f"- {field}\n" for field in shown) + ("\n" if shown else "")


def shown_fields(definition: Definition, left_out: Iterable[str]) -> Iterator[str]:
    """Each field with its type."""
    optional, constants = definition.optional(), definition.constants()
    for name, annotation in definition.annotations().items():
        if not (name in left_out and name in constants):
            mark = "?" if name in optional else ""
            yield f"`{name}{mark}` {type_words(annotation, optional=name in optional)}"


def type_words(annotation: str, *, optional: bool) -> str:
    """A type in JSON's words."""
    text = " ".join(annotation.split())
    text = text.removesuffix(" | None") if optional else text
    named = {
        "FlatSubtype": "a subtype (see below)",
        "ErrorKind": "a code (see below)",
        "ErrorCategory": "the Claude CLI's name of the failure",
        "FailureSubtype": "string",
        "ControlRequestBody": "a request (see below)",
    }
    for name, meaning in named.items():
        text = re.sub(rf"\b{name}\b", meaning, text)
    text = re.sub(r"\bTaskKind\b", " or ".join(f"`{kind}`" for kind in choices(task_file(), "TaskKind")), text)
    text = re.sub(r"Literal\[([^\]]*)\]", lambda found: literal_words(found.group(1)), text)
    words = {"None": "null", "int": "number", "float": "number", "bool": "boolean", "str": "string", "Json": "object"}
    for python, plain in words.items():
        text = re.sub(rf"(?<!`)\b{python}\b(?!`)", plain, text)
    text = re.sub(r"\bAny\b", "any value", text)
    text = re.sub(r"list\[list\[([^\]]*)\]\]", r"list of lists of \1", text)
    text = re.sub(r"list\[([^\]]*)\]", r"list of \1", text)
    text = re.sub(r"dict\[string, ([^\]]*)\]", r"object of \1 by name", text)
    return text.replace("|", "or")


def task_file() -> str:
    """The module that defines the kinds of tasks."""
    from yume_shim.types import tasks

    return tasks.__file__


def literal_words(listed: str) -> str:
    """The values of a Literal."""
    values = [part.strip().strip("\"'") for part in listed.split(",") if part.strip()]
    return " or ".join(f"`{value.lower() if value in ('True', 'False') else value}`" for value in values)


def words(definition: Definition) -> str:
    """The sentence about a record."""
    return " ".join(definition.doc.split()).replace("|", "\\|")
