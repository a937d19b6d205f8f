"""The history as plain text, in the default wording."""

from __future__ import annotations

from tests.helpers.refusals import CHAT, asked, asking, said, thought
from yume_shim.providers.fitting.history_as_text import flatten_history
from yume_shim.types.blocks import Image, Other, Text, ToolCall, ToolResult


def test_a_flat_history_has_texts_and_media_only() -> None:
    picture, broken = Image("image/png", "b25l"), ToolCall("c2", "LS", {}, "{oops")
    request = asking(
        asked(Text("a")),
        said(thought("t"), Text("b", {CHAT: {"x": 1}}), ToolCall("c1", "Read", {"p": "ä"}), broken),
        asked(ToolResult("c1", (Text("r"), picture)), ToolResult("c2", "bad", is_error=True), ToolResult("c9", "")),
        said(thought("only"), Other(CHAT, {})),
    )
    assert flatten_history(request).messages == (
        asked(Text("a")),
        said(Text('b\n[tool_call Read c1]\n{"p":"ä"}\n[tool_call LS c2]\n{oops')),
        asked(
            Text("[tool_result Read c1]\nr"),
            picture,
            Text("[tool_result LS c2 error]\nbad\n[tool_result unknown c9]"),
        ),
    )
