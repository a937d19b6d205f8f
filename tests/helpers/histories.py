"""Histories for property tests: legal conversations with tool rounds, and any sequence of messages at all."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from yume_shim.types.blocks import Image, Message, Text, ToolCall, ToolResult

ORIGIN = "test-api/test-model"
_words = st.text("ab \n", min_size=1, max_size=30).map(lambda text: f"w{text}")
_contents = st.one_of(
    _words,
    st.integers(0, 20_000).map(lambda length: "r" * length),
    st.tuples(st.builds(Text, _words), st.just(Image("image/png", "AA=="))),
)


def user(*blocks: Any) -> Message:
    """A message of the user's side; strings are text."""
    return Message("user", tuple(Text(block) if isinstance(block, str) else block for block in blocks))


def said(*blocks: Any) -> Message:
    """A message of the model."""
    return Message("assistant", tuple(Text(block) if isinstance(block, str) else block for block in blocks), ORIGIN)


def tool_round(id: str, content: Any, path: str = "a.py") -> tuple[Message, Message]:
    """A call and its result."""
    return said(ToolCall(id, "Read", {"file_path": path})), user(ToolResult(id, content))


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    """What a running session can hold: turns with any number of tool rounds, the last one perhaps unfinished."""
    messages: list[Message] = []
    count = 0
    for _ in range(draw(st.integers(1, 5))):
        messages.append(user(draw(_words)))
        for _ in range(draw(st.integers(0, 8))):
            calls = [ToolCall(f"c{count + n}", "Read", {"file_path": f"f{n}"}) for n in range(draw(st.integers(1, 3)))]
            count += len(calls)
            messages.append(said(*calls))
            messages.append(user(*(ToolResult(call.id, draw(_contents)) for call in calls)))
        if draw(st.booleans()):
            messages.append(said(draw(_words)))
    if messages[-1].role == "assistant":
        messages.append(user(draw(_words)))
    return tuple(messages)


_ids = st.sampled_from(("a", "b", "c"))
_any_block = st.one_of(
    st.builds(Text, _words),
    st.builds(ToolCall, _ids, st.just("Read"), st.just({"file_path": "x"})),
    st.builds(ToolResult, _ids, _contents),
)
anything = st.lists(
    st.builds(
        Message, st.sampled_from(("user", "assistant")), st.lists(_any_block, max_size=4).map(tuple), st.just(ORIGIN)
    ),
    max_size=12,
).map(tuple)
"""What crashes and foreign transcripts leave: roles, calls and results in any order."""
