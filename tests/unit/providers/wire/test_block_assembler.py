"""The block assembler: one open block at a time, held-back blocks in order, halves of characters joined."""

from __future__ import annotations

from yume_shim.providers.wire.block_assembler import Assembler
from yume_shim.types.blocks import Text, Thinking, ToolCall
from yume_shim.types.events import BlockDelta, BlockEnded, BlockStarted, ModelEvent

HIGH, LOW, WHOLE = "\ud83c", "\udf38", "\U0001f338"


def text_of(events: list[ModelEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, BlockDelta)]


def test_a_character_in_two_halves_comes_out_whole() -> None:
    blocks = Assembler("api")
    events = blocks.start("a", Text(""))
    for piece in ("one ", HIGH, LOW + " two", "ü", " three"):
        events += blocks.delta("a", "text", piece)
    events += blocks.end("a")
    assert text_of(events) == ["one ", WHOLE + " two", "ü", " three"]
    assert events[-1] == BlockEnded(0, Text(f"one {WHOLE} twoü three"))


def test_a_lone_half_is_replaced_at_the_end() -> None:
    for ending in ("end", "end_all"):
        blocks = Assembler("api")
        events = blocks.start("a", Thinking(""))
        events += blocks.delta("a", "thinking", "hm" + HIGH)
        events += blocks.end("a") if ending == "end" else blocks.end_all()
        assert events[1:] == [
            BlockDelta(0, "thinking", "hm"),
            BlockDelta(0, "thinking", "\ufffd"),
            BlockEnded(0, Thinking("hm\ufffd")),
        ]


def test_halves_in_arguments_are_joined_and_lone_ones_replaced() -> None:
    """Servers cut strings at UTF-16 units: the input of the call must be what its pieces show."""
    blocks = Assembler("api")
    events = blocks.start("a", ToolCall("1", "A", {}))
    for text in ('{"x":"1' + HIGH, LOW + "2\\ud83d", '\\ude00"}' + HIGH):
        events += blocks.delta("a", "json", text)
    events += blocks.end("a")
    pieces = ['{"x":"1', WHOLE + "2\\ud83d", '\\ude00"}', "\ufffd"]
    assert events[1:-1] == [BlockDelta(0, "json", text) for text in pieces]
    assert isinstance(end := events[-1], BlockEnded)
    assert end.block == ToolCall("1", "A", {}, "".join(pieces))


def test_blocks_that_start_early_are_held_back() -> None:
    blocks = Assembler("api")
    events = blocks.start("a", ToolCall("1", "A", {}))
    events += blocks.start("b", ToolCall("2", "B", {}))
    events += blocks.delta("b", "json", '{"x":')
    events += blocks.delta("a", "json", "{}")
    events += blocks.delta("b", "json", "1}")
    assert blocks.calls == 2
    events += blocks.end("b")
    events += blocks.end("a")
    assert events == [
        BlockStarted(0, ToolCall("1", "A", {})),
        BlockDelta(0, "json", "{}"),
        BlockEnded(0, ToolCall("1", "A", {})),
        BlockStarted(1, ToolCall("2", "B", {})),
        BlockDelta(1, "json", '{"x":'),
        BlockDelta(1, "json", "1}"),
        BlockEnded(1, ToolCall("2", "B", {"x": 1})),
    ]


def test_signatures_and_private_data_are_stored_by_api() -> None:
    blocks = Assembler("api")
    blocks.start("a", Thinking(""))
    blocks.attach("a", id="r1")
    assert blocks.delta("a", "signature", "sig") == [BlockDelta(0, "signature", "sig")]
    assert blocks.end("a") == [BlockEnded(0, Thinking("", opaque={"api": {"id": "r1", "signature": "sig"}}))]
    assert blocks.end("a") == []


def test_broken_arguments_are_kept_unchanged() -> None:
    blocks = Assembler("api")
    blocks.start("a", ToolCall("1", "A", {}))
    blocks.delta("a", "json", '{"x"')
    assert blocks.gathered("a") == '{"x"'
    assert blocks.end("a") == [BlockEnded(0, ToolCall("1", "A", {}, broken='{"x"'))]
