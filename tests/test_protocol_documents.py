"""docs/protocol/ describes every line in both directions, every request and question, with examples that are valid."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.record_check import complaints
from yume_shim.dialects.records.index import FLAT, INPUT, NESTED, QUESTIONS, REQUESTS
from yume_shim.dialects.schema_check import SchemaCheck, load_schema
from yume_shim.host import input_lines
from yume_shim.types.commands import Nothing
from yume_shim.types.record import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.types.record import Record

DOCS = Path(__file__).parent.parent / "docs" / "protocol"
PAGES = {"flat": (DOCS / "flat.md").read_text("utf-8"), "stream-json": (DOCS / "stream-json.md").read_text("utf-8")}
EXAMPLES: dict[str, dict[str, Any]] = json.loads((DOCS / "examples.json").read_text("utf-8"))
LINES = [
    *(("flat", "Lines out", "flat-output", record) for record in FLAT),
    *(("flat", "Lines in", "input", record) for record in INPUT),
    *(("stream-json", "Lines out", "stream-json-output", record) for record in NESTED),
]
MAKERS = input_lines._MAKERS


def name_of(record: type[Record]) -> str:
    return describe(record).name


def section(page: str, title: str) -> str:
    return PAGES[page].partition(f"\n## {title}\n")[2].split("\n## ")[0]


def parts(page: str, title: str, heading: str) -> list[str]:
    """The parts of a section under headings of this name."""
    return [text for text in section(page, title).split("\n### ") if text.startswith(f"{heading}\n")]


def examples_in(text: str) -> Iterator[Any]:
    for block in re.findall(r"```json\n(.*?)```", text, re.S):
        yield json.loads(block)


def mentions(text: str, record: type[Record]) -> bool:
    """Whether all fields are there that are not in the heading."""
    definition = describe(record)
    kinds = [name for name in ("type", "subtype") if name in definition.constants()]
    return all(
        f"- `{name}`" in text or f"- `{name}?`" in text for name in definition.annotations() if name not in kinds
    )


@pytest.mark.parametrize(
    ("page", "title", "schema", "record"), LINES, ids=[f"{schema}-{name_of(record)}" for _, _, schema, record in LINES]
)
def test_every_line_has_a_part_with_its_fields_and_a_valid_example(
    page: str, title: str, schema: str, record: type[Record]
) -> None:
    constants = describe(record).constants()
    heading = " ".join(f"`{constants[field]}`" for field in ("type", "subtype") if field in constants)
    [text] = [
        text
        for text in parts(page, title, heading)
        if mentions(text, record) and " ".join(describe(record).doc.split()).replace("|", "\\|") in text
    ]
    [example] = examples_in(text)
    assert SchemaCheck(load_schema(schema), strict=True).problems(example) == []
    if schema != "input":  # a host may write fields in any order
        assert complaints(example, [record]) == []


@pytest.mark.parametrize("request_record", REQUESTS, ids=name_of)
def test_every_request_has_a_part_with_its_answer(request_record: type[Record]) -> None:
    subtype, answer = str(describe(request_record).constants()["subtype"]), REQUESTS[request_record]
    [text] = parts("flat", "Control requests", f"`{subtype}`")
    assert mentions(text, request_record)
    asked, *answered = examples_in(text)
    assert asked["request"]["subtype"] == subtype
    assert SchemaCheck(load_schema("input"), strict=True).problems(asked) == []
    if answer is None:
        assert answered == []
        return
    assert mentions(text, answer)
    [line] = answered
    assert SchemaCheck(load_schema("flat-output"), strict=True).problems(line) == []
    check = SchemaCheck(load_schema("control-answers"), strict=True)
    assert check.member(subtype, line["response"]["response"]) == []


@pytest.mark.parametrize("question", QUESTIONS, ids=name_of)
def test_every_question_has_a_part_with_its_answers(question: type[Record]) -> None:
    subtype, replies = str(describe(question).constants()["subtype"]), QUESTIONS[question]
    [text] = parts("flat", "Questions to the host", f"`{subtype}`")
    assert mentions(text, question)
    asked, *answered = examples_in(text)
    assert SchemaCheck(load_schema("flat-output"), strict=True).problems(asked) == []
    assert len(answered) == len(replies)
    for reply, line in zip(replies, answered, strict=True):
        assert mentions(text, reply)
        assert SchemaCheck(load_schema("input"), strict=True).problems(line) == []
        assert SchemaCheck(load_schema("host-answers"), strict=True).member(subtype, line["response"]["response"]) == []


def test_no_example_is_left_over() -> None:
    """Examples of records that no longer exist."""
    known = {
        "flat": set(map(name_of, FLAT)),
        "stream-json": set(map(name_of, NESTED)),
        "input": set(map(name_of, INPUT)),
        "requests": set(map(name_of, REQUESTS)),
        "answers": {name_of(request) for request, answer in REQUESTS.items() if answer is not None},
        "questions": set(map(name_of, QUESTIONS)),
        "replies": {name_of(reply) for replies in QUESTIONS.values() for reply in replies},
    }
    assert {group: set(found) for group, found in EXAMPLES.items()} == known


# ---------------------------------------------------------------- the program reads what the page says


class Read(dict[str, Any]):
    """A line that remembers which fields were looked at."""

    def __init__(self, given: dict[str, Any], seen: set[str]) -> None:
        super().__init__({key: Read(item, seen) if isinstance(item, dict) else item for key, item in given.items()})
        self.seen = seen

    def get(self, key: str, default: Any = None) -> Any:
        self.seen.add(key)
        return super().get(key, default)


def test_every_line_that_is_read_is_described_with_its_fields() -> None:
    kinds = {str(describe(record).constants()["type"]) for record in INPUT}
    assert kinds == set(MAKERS)
    for record in INPUT:
        kind = str(describe(record).constants()["type"])
        seen: set[str] = set()
        command = MAKERS[kind](Read(EXAMPLES["input"][name_of(record)], seen))
        text = "".join(parts("flat", "Lines in", f"`{kind}`")) + section("flat", "Objects")
        assert sorted(field for field in seen if f"`{field}`" not in text and f"`{field}?`" not in text) == []
        assert isinstance(command, Nothing) == (kind in ("keep_alive", "update_environment_variables"))


def test_result_subtypes_are_explained() -> None:
    listed = PAGES["flat"].partition("<!-- subtypes")[2].partition("<!-- end")[0]
    rows = PAGES["flat"].partition("<!-- end of subtypes -->")[2].partition("### Codes")[0]
    assert re.findall(r"`(\w+)`", listed.partition("-->")[2]) == re.findall(r"^\| `(\w+)` \|", rows, re.M)


def test_the_codes_of_refused_requests_are_listed() -> None:
    """Every code that a handler of control requests raises."""
    package = Path(input_lines.__file__).parent.parent
    sources = [package / "host" / "control.py", package / "host" / "input_lines.py", *(package / "app").glob("*.py")]
    used = {
        code
        for path in sources
        for code in re.findall(r'(?:code="|^(?:UNSUPPORTED|FAILED) = ")(\w+)"', path.read_text("utf-8"), re.M)
    }
    listed = PAGES["flat"].partition("Codes of refused requests:")[2].partition("Lists with")[0]
    assert used <= set(re.findall(r"`(\w+)`", listed)), used
