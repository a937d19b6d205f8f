"""The content of host lines -> blocks."""

from __future__ import annotations

from typing import Any

import pytest

from yume_shim.host.content import assistant_blocks, user_blocks
from yume_shim.types.blocks import Block, Document, Image, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.errors import BadLine

PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}
PDF = {"type": "document", "title": "T", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}}


@pytest.mark.parametrize(
    ("block", "made"),
    [
        ({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, Text("a")),
        ({"type": "text", "text": "\ud83d\ude00 \ud800"}, Text("😀 \ufffd")),
        (PNG, Image("image/png", "iVBO")),
        ({"type": "image", "source": {"type": "base64", "data": "not base64!"}}, Image("", "not base64!")),
        ({"type": "image", "source": {"type": "url", "url": "http://x.example"}}, Image("", "", "http://x.example")),
        (
            {"type": "image", "source": {"type": "file", "file_id": "f"}},
            Other("", {"type": "image", "source": {"type": "file", "file_id": "f"}}),
        ),
        (PDF, Document("application/pdf", "JVBE", "T")),
        (
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
            Document("text/plain", "words"),
        ),
        (
            {"type": "document", "source": {"type": "base64", "media_type": "text/plain", "data": "d8O2cnRlcg=="}},
            Document("text/plain", "wörter"),
        ),
        (
            {"type": "document", "source": {"type": "base64", "media_type": "text/plain", "data": "just words"}},
            Document("text/plain", "just words"),
        ),
        (
            {"type": "document", "source": {"type": "url", "url": "u"}},
            Other("", {"type": "document", "source": {"type": "url", "url": "u"}}),
        ),
        ({"type": "tool_result", "tool_use_id": "c", "content": "done"}, ToolResult("c", "done")),
        ({"type": "tool_result", "tool_use_id": "c", "is_error": True}, ToolResult("c", "", True)),
        (
            {
                "type": "tool_result",
                "tool_use_id": "c",
                "content": [{"type": "text", "text": "t"}, PNG, PDF],
                "is_error": False,
            },
            ToolResult("c", (Text("t"), Image("image/png", "iVBO"), Document("application/pdf", "JVBE", "T")), False),
        ),
        (
            {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "strange", "x": 1}]},
            ToolResult("c", (Text('{"type":"strange","x":1}'),)),
        ),
        ({"type": "strange", "x": 1}, Other("", {"type": "strange", "x": 1})),
    ],
)
def test_user_blocks(block: Any, made: Block) -> None:
    assert user_blocks([block]) == (made,)


@pytest.mark.parametrize(
    ("block", "says"),
    [
        ({"text": "x"}, "content[1] must be an object with a type"),
        (None, "content[1] must be an object with a type"),
        ({"type": "text"}, "content[1]: a text needs text, a string"),
        ({"type": "text", "text": 1}, "content[1]: a text needs text"),
        ({"type": "image"}, "content[1]: image needs source"),
        ({"type": "image", "source": {"type": "base64"}}, "content[1]: the source of the image needs data"),
        ({"type": "image", "source": {"type": "url"}}, "content[1]: the source of the image needs url"),
        ({"type": "document", "source": "x"}, "content[1]: document needs source"),
        ({"type": "tool_result"}, "content[1]: a tool_result needs tool_use_id"),
        ({"type": "tool_result", "tool_use_id": "c", "content": 5}, "content[1]: the content of a tool_result"),
    ],
)
def test_refused_blocks(block: Any, says: str) -> None:
    with pytest.raises(BadLine) as caught:
        user_blocks([{"type": "text", "text": "fine"}, block])
    assert says in caught.value.message


def test_blank_prompts_become_a_marker() -> None:
    for blank in (None, "", " \n", [], [{"type": "text", "text": " "}]):
        assert user_blocks(blank) == (Text("(no content)"),)
    assert user_blocks([{"type": "text", "text": ""}, PNG]) == (Text(""), Image("image/png", "iVBO"))


def test_assistant_blocks() -> None:
    assert assistant_blocks("said") == (Text("said"),)
    assert assistant_blocks(
        [
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "thinking", "thinking": "hm", "signature": ""},
            {"type": "redacted_thinking", "data": "xyz"},
            {"type": "text", "text": " "},
            {"type": "text", "text": "said"},
            {"type": "tool_use", "id": "c", "name": "Read", "input": {"file_path": "a"}},
            {"type": "server_tool_use", "id": "s"},
        ]
    ) == (
        Thinking("hm", opaque={"anthropic-messages": {"signature": "sig"}}),
        Thinking("hm", opaque={}),
        Thinking("", redacted=True, opaque={"anthropic-messages": {"data": "xyz"}}),
        Text("said"),
        ToolCall("c", "Read", {"file_path": "a"}),
        Other("", {"type": "server_tool_use", "id": "s"}),
    )
    for bad in (None, 5, [5], [{"type": "tool_use", "id": "c", "name": "n"}], [{"type": "thinking"}]):
        with pytest.raises(BadLine):
            assistant_blocks(bad)
