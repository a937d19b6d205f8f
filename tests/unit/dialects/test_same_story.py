"""Both dialects and the transcript render one stream of events and may never disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claude_agent_sdk._internal.message_parser import parse_message
from hypothesis import given

from tests.helpers.event_stories import stories
from tests.helpers.fakes import FakeIds
from tests.helpers.record_check import check_lines
from yume_shim.dialects.flat import FlatDialect
from yume_shim.dialects.nested import NestedDialect
from yume_shim.dialects.records.index import FLAT, NESTED
from yume_shim.dialects.results import error_text, nested_error_category
from yume_shim.dialects.stream_check import StreamCheck
from yume_shim.store.entries import Entries
from yume_shim.text import codec
from yume_shim.types.events import TurnFailed

if TYPE_CHECKING:
    from yume_shim.types.events import Tagged


def blocks(lines: list[Any], kind: str) -> list[Any]:
    """Blocks of user and assistant lines, without synthetic messages."""
    return [
        block
        for line in lines
        if line.get("type") in ("user", "assistant") and line["message"].get("model") != "<synthetic>"
        for block in line["message"]["content"]
        if isinstance(block, dict) and block["type"] == kind
    ]


def seen(content: Any) -> str:
    """A result's content as the flat dialect shows it."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] if part["type"] == "text" else "[image: image/png, 5 bytes]" for part in content)


def answers(lines: list[Any]) -> str:
    return "".join(
        block["text"] for line in lines if line.get("type") == "assistant" for block in blocks([line], "text")
    )


@given(stories())
def test_one_story(story: list[Tagged]) -> None:
    flat_dialect, nested_dialect = FlatDialect("1.0.0", FakeIds()), NestedDialect("2.1.325", FakeIds(), partial=True)
    flat: list[Any] = [line for tagged in story for line in flat_dialect.feed(tagged)]
    nested: list[Any] = [line for tagged in story for line in nested_dialect.feed(tagged)]
    entries = Entries("2.1.325", lambda failure: (nested_error_category(failure), error_text(failure)), FakeIds().uuid)
    stored: list[Any] = [entry.line for tagged in story for entry in entries.feed(tagged) if entry.state != "settled"]

    check_lines(flat, FLAT)
    check_lines(nested, NESTED)
    check_stream(flat, "flat")
    check_stream(nested, "stream-json")
    for line in nested:
        assert line["type"] == "pong" or parse_message(line) is not None

    deltas = [line["event"].get("delta", {}) for line in nested if line["type"] == "stream_event"]
    shown = "".join(line["content"] for line in flat if line["type"] == "text")
    assert shown == "".join(delta.get("text", "") for delta in deltas)
    assert shown == answers(nested)
    assert shown == answers(stored)

    calls = [(line["id"], line["name"], line["input"]) for line in flat if line["type"] == "tool_use"]
    assert calls == [(block["id"], block["name"], block["input"]) for block in blocks(nested, "tool_use")]
    assert blocks(stored, "tool_use") == blocks(nested, "tool_use")

    results = [
        (each["tool_use_id"], each["content"], each["is_error"]) for each in flat if each["type"] == "tool_result"
    ]
    shown_results = blocks(nested, "tool_result")
    assert results == [
        (each["tool_use_id"], seen(each["content"]), each.get("is_error") or False) for each in shown_results
    ]
    assert blocks(stored, "tool_result") == shown_results

    ends = [[line for line in lines if line["type"] == "result"] for lines in (flat, nested)]
    assert [line["is_error"] for line in ends[0]] == [line["is_error"] for line in ends[1]]
    assert [line["uuid"] for line in nested if line.get("isSynthetic")] == [
        line["uuid"] for line in stored if line.get("isMeta")
    ]
    check_chain(stored)
    kept = [line for line in stored if line.get("subtype") != "api_error"]  # notes of retries lie beside the chain
    check_starts_and_stops(nested)
    printed = {line["uuid"] for line in nested if line["type"] in ("user", "assistant")}
    prompts = {line["uuid"] for line in stored if line["type"] == "user" and "permissionMode" in line}
    assert {line["uuid"] for line in kept if "uuid" in line} - prompts <= printed
    assert sum(isinstance(each.event, TurnFailed) for each in story) == sum("error" in line for line in kept)


def check_stream(lines: list[Any], dialect: str) -> None:
    """`yume-shim check-stream --strict` finds nothing wrong."""
    check = StreamCheck(dialect, strict=True)
    for line in lines:
        assert check.feed(codec.dumps(line) + b"\n") == [], line
    assert check.end() == []


def check_chain(stored: list[Any]) -> None:
    """The parent of every entry is an earlier entry; only dropped entries and notes of retries have no child."""
    known: list[str | None] = [None]
    made: list[Any] = []
    leaf = None
    for line in stored:
        if line["type"] == "last-prompt":
            assert line["leafUuid"] in known
            continue
        parent = line["parentUuid"]
        assert parent in known
        passed_over = made[known.index(parent) :] if parent != leaf else []
        assert all(each["type"] == "assistant" or each.get("subtype") == "api_error" for each in passed_over)
        made.append(line)
        leaf = line["uuid"]
        known.append(leaf)


def check_starts_and_stops(nested: list[Any]) -> None:
    """Every message and block that is opened is closed, one at a time."""
    message = block = False
    for line in nested:
        if line["type"] != "stream_event":
            continue
        kind = line["event"]["type"]
        if kind == "message_start":
            assert not message
            message = True
        elif kind == "content_block_start":
            assert message
            assert not block
            block = True
        elif kind == "content_block_delta":
            assert block
        elif kind == "content_block_stop":
            assert block
            block = False
        elif kind == "message_stop":
            assert message
            assert not block
            message = False
    assert not message
