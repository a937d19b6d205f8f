"""The newest messages as text."""

from __future__ import annotations

from yume_shim.context.recent_text import CUT, MAX_PART, recent_text
from yume_shim.types.blocks import Message, Text, Thinking, ToolCall, ToolResult

HISTORY = (
    Message("user", (Text("What is in it?"),)),
    Message("assistant", (Thinking("hm"), Text("I look."), ToolCall("c1", "Read", {"file_path": "a"})), "x"),
    Message("user", (ToolResult("c1", "milk"),)),
    Message("assistant", (Text("Milk."),), "x"),
)


def test_each_block_is_a_paragraph() -> None:
    assert recent_text(HISTORY, 1000).split("\n\n") == [
        "user: What is in it?",
        "assistant: I look.",
        'assistant: calls Read with {"file_path":"a"}',
        "user: result: milk",
        "assistant: Milk.",
    ]


def test_old_messages_are_left_out_and_long_blocks_are_cut() -> None:
    assert recent_text(HISTORY, 40) == "user: result: milk\n\nassistant: Milk."
    assert recent_text(HISTORY, 3) == ""
    long = recent_text((Message("user", (ToolResult("c1", (Text("y" * 9000),)),)),), 9000)
    assert (len(long), long[-len(CUT) :]) == (len("user: ") + MAX_PART + len(CUT), CUT)
