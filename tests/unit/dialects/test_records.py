"""The records of both dialects: complete, documented, resolvable, and the only place where lines are defined."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import yume_shim.dialects
from tests.helpers.record_check import complaints, hints, reachable
from yume_shim.dialects.records import acp_records, flat_records, nested_records, stream_records
from yume_shim.dialects.records.index import ACP, INPUT, QUESTIONS, RECORDS, REQUESTS
from yume_shim.types.record import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.types.record import Record

LINES = [(name, record) for name, records in {**RECORDS, "input": INPUT}.items() for record in records]
ANSWERS = [answer for answer in REQUESTS.values() if answer is not None]
REPLIES = [reply for replies in QUESTIONS.values() for reply in replies]
ROOM = Path(yume_shim.dialects.__path__[0])
PROGRAM = ROOM.parent
RECORD_MODULES = [
    "yume_shim.types.answer_records",
    "yume_shim.types.message_records",
    "yume_shim.types.permission_records",
    *(f"yume_shim.dialects.records.{path.stem}" for path in sorted(ROOM.glob("records/*_records.py"))),
]
MERGED_INTO_LINES = {
    "yume_shim.dialects.records.nested_records.AgentFields",
    "yume_shim.dialects.records.result_records.ResultFields",
    *(f"yume_shim.dialects.records.task_records.{name}" for name in ("Started", "Updated", "Progress", "Notification")),
    "yume_shim.dialects.records.task_records.Listing",
}
"""Their fields become fields of a line."""
INSIDE_FREE_FORM = {"yume_shim.types.message_records.RawInput"}
"""Records inside objects whose annotation is any JSON object."""
each_line = pytest.mark.parametrize(
    "record", [record for _, record in LINES], ids=[f"{name}-{describe(record).name}" for name, record in LINES]
)


def defined(module: str) -> Iterator[type[Record]]:
    for item in vars(importlib.import_module(module)).values():
        if hasattr(item, "definition") and describe(item).module == module:
            yield item


ALL = [record for module in RECORD_MODULES for record in defined(module)]


@each_line
def test_a_line_begins_with_its_type(record: type[Record]) -> None:
    definition = describe(record)
    assert next(iter(definition.annotations())) == "type"
    assert isinstance(definition.constants()["type"], str)


@pytest.mark.parametrize("record", ALL, ids=[describe(record).name for record in ALL])
def test_a_record_can_be_read_by_a_generator(record: type[Record]) -> None:
    definition = describe(record)
    assert definition.doc.endswith((".", ")"))
    assert list(hints(record)) == list(definition.annotations())
    assert "typing.Any" not in {str(hint) for name, hint in hints(record).items() if name in definition.constants()}


def test_every_record_is_part_of_a_line() -> None:
    names = {f"{describe(record).module}.{describe(record).name}" for record in ALL}
    lines = [record for _, record in LINES]
    assert names - reachable([*lines, *ANSWERS, *REPLIES, *ACP]) == INSIDE_FREE_FORM | MERGED_INTO_LINES


def test_no_two_lines_of_a_dialect_look_the_same() -> None:
    for records in RECORDS.values():
        fields = [(tuple(describe(each).constants().items()), tuple(describe(each).annotations())) for each in records]
        assert len(set(fields)) == len(fields)


# ---------------------------------------------------------------- what is written without a record, for speed


@pytest.mark.parametrize(
    ("quick", "record"),
    [
        (
            acp_records.text_update("s", "agent_message_chunk", "a", "m"),
            acp_records.SessionUpdate(
                params=acp_records.UpdateParams(
                    sessionId="s",
                    update=acp_records.MessageChunk(
                        sessionUpdate="agent_message_chunk",
                        content=acp_records.TextContent(text="a"),
                        messageId="m",
                    ),
                )
            ),
        ),
        (flat_records.text_line("a", "m:0"), flat_records.TextLine(content="a", id="m:0")),
        (flat_records.thinking_line("a", "i"), flat_records.ThinkingLine(thought="a", id="i")),
        (
            nested_records.stream_event_line(stream_records.MessageStop(), "s", "u", "m"),
            nested_records.StreamEventLine(
                event=stream_records.MessageStop(), session_id="s", uuid="u", api_message_id="m"
            ),
        ),
        (
            stream_records.delta_event(1, "text", "a"),
            stream_records.ContentBlockDelta(index=1, delta=stream_records.TextDelta(text="a")),
        ),
        (
            stream_records.delta_event(1, "thinking", "a"),
            stream_records.ContentBlockDelta(index=1, delta=stream_records.ThinkingDelta(thinking="a")),
        ),
        (
            stream_records.delta_event(1, "json", "a"),
            stream_records.ContentBlockDelta(index=1, delta=stream_records.InputJsonDelta(partial_json="a")),
        ),
        (
            stream_records.delta_event(1, "signature", "a"),
            stream_records.ContentBlockDelta(index=1, delta=stream_records.SignatureDelta(signature="a")),
        ),
    ],
    ids=[
        "acp text",
        "text",
        "thinking",
        "stream_event",
        "text_delta",
        "thinking_delta",
        "input_json_delta",
        "signature_delta",
    ],
)
def test_a_template_writes_what_its_record_writes(quick: dict[str, Any], record: dict[str, Any]) -> None:
    assert repr(quick) == repr(record)


def test_a_parent_is_a_field_of_every_flat_line() -> None:
    shared = {"ControlCancel", "ControlRequest", "ControlResponse", "Pong"}
    for record in RECORDS["flat"]:
        if describe(record).name not in shared:
            assert list(describe(record).annotations())[-2:] == ["parent_tool_use_id", "agent_id"]


# ---------------------------------------------------------------- no line is built beside the records


def functions(path: Path) -> Iterator[ast.AST]:
    """Every node inside a function: tables of a module are not lines."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield from ast.walk(node)


@pytest.mark.parametrize(
    "path", [*sorted(ROOM.glob("*.py")), PROGRAM / "types" / "shapes.py"], ids=lambda path: path.name
)
def test_no_field_is_named_outside_the_records(path: Path) -> None:
    free_form = {"!text", "__unparsedToolInput"}
    for node in functions(path):
        if isinstance(node, ast.Dict):
            named = {key.value for key in node.keys if isinstance(key, ast.Constant)}
            assert named <= free_form, f"{path.name}:{node.lineno}"
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            assert not isinstance(node.slice, ast.Constant), f"{path.name}:{node.lineno}"
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "dict":
            assert not node.keywords, f"{path.name}:{node.lineno}"


# ---------------------------------------------------------------- the check itself


TEXT = flat_records.TextLine(content="a", id="m:0")
USER = nested_records.UserLine(
    message=nested_records.UserMessage(content=[{"type": "text", "text": "a"}]),
    parent_tool_use_id=None,
    session_id="s",
    uuid="u",
    timestamp="t",
)


@pytest.mark.parametrize(
    ("dialect", "line", "words"),
    [
        ("flat", TEXT, None),
        ("flat", TEXT | {"content_truncated": True}, None),
        ("flat", TEXT | {"extra": 1}, "no such field"),
        ("flat", {"type": "text", "content": "a"}, "missing"),
        ("flat", TEXT | {"content": 1}, "is not"),
        ("flat", TEXT | {"parent_tool_use_id": None}, "left out"),
        ("flat", {"type": "text", "id": "m:0", "content": "a"}, "order"),
        ("flat", {"type": "shout"}, "no record"),
        ("nested", USER, None),
        ("nested", USER | {"isReplay": 1}, "none of"),
        ("nested", USER | {"message": {"role": "user", "content": [{"type": "text"}]}}, "missing"),
        ("nested", USER | {"message": {"role": "user", "content": [{"type": "server_tool_use"}]}}, None),
        ("nested", USER | {"message": {"role": "human", "content": "a"}}, "is not"),
    ],
)
def test_the_check_finds(dialect: str, line: dict[str, Any], words: str | None) -> None:
    found = complaints(line, RECORDS[dialect])
    if words is None:
        assert found == []
    else:
        assert words in " ".join(found)
