"""What results of MCP tools become for the model and the host."""

from __future__ import annotations

from typing import Any

import pytest

from yume_shim.extensions.mcp.errors import McpError
from yume_shim.extensions.mcp.large_results import limited
from yume_shim.extensions.mcp.results import tool_output
from yume_shim.types.blocks import Image, Text
from yume_shim.types.outputs import ToolOutput

DOT = "iVBORw0KGgo="


def keep(data: bytes, ending: str) -> str:
    return f"/kept/{len(data)}{ending}"


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DOT}}


@pytest.mark.parametrize(
    ("block", "blocks", "shown"),
    [
        (text("one"), (Text("one"),), [text("one")]),
        (
            {"type": "image", "data": DOT, "mimeType": "image/png"},
            (Image("image/png", DOT), Text("[Image: source: /kept/8.png]")),
            [PICTURE, text("[Image: source: /kept/8.png]")],
        ),
        (
            {"type": "resource", "resource": {"uri": "x://p", "mimeType": "image/png", "blob": DOT}},
            (Image("image/png", DOT), Text("[Image: source: /kept/8.png]")),
            [PICTURE, text("[Image: source: /kept/8.png]")],
        ),
        (
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            (Text("[Audio (audio/wav) cannot be sent to a model; it was saved to /kept/3.wav.]"),),
            None,
        ),
        (
            {"type": "audio", "data": "A", "mimeType": "audio/wav"},
            (Text("[Audio (audio/wav) cannot be sent to a model.]"),),
            None,
        ),
        (
            {"type": "resource", "resource": {"uri": "x://b", "mimeType": "application/x-tar/../../e", "blob": "AAAA"}},
            (Text("[Binary resource x://b (application/x-tar/../../e) was left out; it was saved to /kept/3.e.]"),),
            None,
        ),
        (
            {"type": "resource", "resource": {"uri": "x://t", "text": "words"}},
            (Text("[Resource from x://t]\nwords"),),
            None,
        ),
        (
            {"type": "resource_link", "uri": "x://l", "name": "L", "description": "about", "_meta": {}},
            (Text("[Resource link: L: x://l (about)]"),),
            {
                "content": [text("[Resource link: L: x://l (about)]")],
                "resourceLinks": [{"uri": "x://l", "name": "L", "description": "about"}],
            },
        ),
        ({"type": "dance", "x": 1}, (Text('{"type":"dance","x":1}'),), None),
        (5, (Text('{"value":5}'),), None),
    ],
)
def test_blocks(block: Any, blocks: Any, shown: Any) -> None:
    expected = [text(each.text) for each in blocks] if shown is None else shown
    assert tool_output({"content": [block]}, keep) == ToolOutput(blocks, expected)


def test_whole_results() -> None:
    structured = {"a": [1]}
    assert tool_output({"content": [text("x")], "structuredContent": structured}) == ToolOutput(
        '{"a":[1]}', {"content": '{"a":[1]}', "structuredContent": structured}
    )
    assert tool_output({"structuredContent": structured}).content == '{"a":[1]}'
    assert tool_output({"content": []}) == ToolOutput("(no output)", [])
    assert tool_output({"content": [text("it broke")], "isError": True}) == ToolOutput(
        "it broke", "Error: it broke", is_error=True
    )
    silent = "The tool failed without a message."
    assert tool_output({"content": [], "isError": True}) == ToolOutput(silent, f"Error: {silent}", is_error=True)
    many = tool_output({"content": [text("x")] * 1_005})
    assert many.content[-1] == Text("[5 more blocks were left out.]")


@pytest.mark.parametrize("result", [{}, {"content": 5}, {"content": None, "structuredContent": [1]}])
def test_a_result_without_content_is_a_failure(result: Any) -> None:
    with pytest.raises(McpError, match="malformed"):
        tool_output(result)


def test_long_text_beside_a_picture_is_saved_too() -> None:
    saved: list[tuple[str, int, str]] = []

    def save(call_id: str, data: bytes, ending: str) -> str:
        saved.append((call_id, len(data), ending))
        return "/kept/long.txt"

    picture = Image("image/png", DOT)
    output = limited(ToolOutput((Text("x" * 200_000), picture)), 25_000, save, "c1")
    assert isinstance(output.content, tuple)
    note, kept = output.content
    assert isinstance(note, Text)
    assert "exceeds maximum allowed tokens" in note.text
    assert (kept, saved) == (picture, [("c1", 200_000, ".txt")])
