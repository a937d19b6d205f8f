"""One reader, two policies: what is refused in a host's line is left out of a transcript line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from yume_shim.types.blocks import NOTHING, Block, Document, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.content_reader import ContentReader


class Refused(Exception):
    """The strict reader's answer to a problem."""


def refuse(problem: str) -> None:
    raise Refused(problem)


class Problems:
    """A lenient reader and the problems it met."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.reader = ContentReader(self.found.append, str, json.dumps, unknown_api="api")


STRICT = ContentReader(refuse, str, json.dumps)


@pytest.mark.parametrize(
    ("content", "read"),
    [
        (5, ()),
        (None, ()),
        ([5], ()),
        ([{"no": "type"}], ()),
        ([{"type": "text"}, {"type": "image"}], (Text(""), Other("", {"type": "image"}))),
        ([{"type": "tool_result", "content": 3}], (ToolResult("", ""),)),
        (
            [{"type": "tool_result", "tool_use_id": "c", "content": [7, {"type": "text", "text": "x"}]}],
            (ToolResult("c", (Text("x"),)),),
        ),
    ],
)
def test_user_content_that_is_refused_or_left_out(content: Any, read: tuple[Block, ...]) -> None:
    with pytest.raises(Refused):
        STRICT.user_blocks(content)
    lenient = Problems()
    assert lenient.reader.user_blocks(content) == read
    assert lenient.found


@pytest.mark.parametrize(
    ("content", "read"),
    [
        (None, ()),
        ([None], ()),
        ([{"type": "tool_use", "id": 3, "input": "x"}], (ToolCall("", "", {}),)),
        ([{"type": "thinking", "signature": "s"}], (Thinking("", opaque={"anthropic-messages": {"signature": "s"}}),)),
    ],
)
def test_assistant_content_that_is_refused_or_left_out(content: Any, read: tuple[Block, ...]) -> None:
    with pytest.raises(Refused):
        STRICT.assistant_blocks(content)
    lenient = Problems()
    assert lenient.reader.assistant_blocks(content) == read
    assert lenient.found


@pytest.mark.parametrize("content", ["", " ", [], [{"type": "text", "text": "\n"}]])
def test_blank_content_is_no_problem(content: Any) -> None:
    lenient = Problems()
    for reader in (STRICT, lenient.reader):
        assert reader.user_blocks(content) == (Text("(no content)"),)
    assert lenient.found == []


def test_a_text_document_in_base64_reads_the_same_everywhere() -> None:
    source = {"type": "base64", "media_type": "text/plain", "data": "d8O2cnRlcg=="}
    for reader in (STRICT, Problems().reader):
        assert reader.user_blocks([{"type": "document", "source": source}]) == (Document("text/plain", "wörter"),)


def test_provider_data_replaces_the_signature() -> None:
    content = [{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "text", "text": "x"}]
    echo = {"other-api": {"k": 1}}
    assert STRICT.assistant_blocks(content, echo) == (Thinking("t", opaque=echo), Text("x", echo))
    assert STRICT.assistant_blocks(content[1:]) == (Text("x", NOTHING),)


def test_an_unknown_assistant_block_belongs_to_the_readers_api() -> None:
    item = {"type": "server_tool_use"}
    assert STRICT.assistant_blocks([item]) == (Other("", item),)
    assert Problems().reader.assistant_blocks([item]) == (Other("api", item),)
