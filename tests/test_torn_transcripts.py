"""A transcript that ends anywhere loads, goes on and loads again: killed writers, torn characters, garbage.

The transcripts are those of the session goldens. Of each kind of line that occurs in them, one is cut: at every fifth
byte here, at every byte with YUME_EVERY_BYTE=1.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.event_stories import INFO, USAGE, ended, prompt, streamed, tag_events
from yume_shim.context.repair import repair
from yume_shim.store.entries import Entries
from yume_shim.store.jsonl import JsonlStore
from yume_shim.store.load import load
from yume_shim.text import codec
from yume_shim.types.blocks import Text, ToolCall, ToolResult
from yume_shim.types.events import ResponseEnded, ResponseStarted, TurnStarted
from yume_shim.types.models import Endpoint, ModelSpec

if TYPE_CHECKING:
    from yume_shim.types.blocks import Message

GOLDEN = Path(__file__).parents[1] / "golden" / "sessions"
STEP = 1 if os.environ.get("YUME_EVERY_BYTE") else 5
GO_ON_EVERY = 8
"""Of so many cuts, one is continued."""
GARBAGE = (b"\0" * 300, b"\xff\xfe\r\n", b"\xf0\x9f", b'{"type":"user"', b"[" * 5_000, b"\r", b"null", b'{"uuid":1}')
SPEC = ModelSpec("m", Endpoint("test", "openai-chat", "http://127.0.0.1"))


def shape_of(line: dict[str, Any]) -> tuple[Any, ...]:
    """What kind of line it is."""
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [block.get("type") for block in content if isinstance(block, dict)] if isinstance(content, list) else ["-"]
    marks = ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage", "subtype", "toolUseResult", "origin")
    private = line.get("yume")
    names = tuple(sorted(private)) if isinstance(private, dict) else ()
    return (line.get("type"), *sorted({str(kind) for kind in blocks}), *(mark in line for mark in marks), names)


def samples() -> list[tuple[str, bool, list[bytes], int]]:
    """(name, of a subagent?, lines, which one is cut): the shortest line of each shape."""
    found: dict[tuple[Any, ...], tuple[str, bool, list[bytes], int]] = {}
    for path in sorted(GOLDEN.glob("*/expected/session*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        child = "agent" in path.name
        for number, line in enumerate(lines):
            shape = (child, *shape_of(codec.loads(line)))
            if shape not in found or len(line) < len(found[shape][2][found[shape][3]]):
                found[shape] = (f"{path.parts[-3]}/{path.name}:{number + 1}", child, lines, number)
    return list(found.values())


SAMPLES = samples()


def history_of(path: Path, data: bytes, *, child: bool) -> tuple[Message, ...]:
    path.write_bytes(data)
    stored = load(str(path), child=child)
    return stored.history if stored is not None else ()


def go_on(path: Path, *, child: bool) -> tuple[Message, ...]:
    """Resume the file with one more turn; the history of what is in it then."""
    stored = load(str(path), child=child)
    leaf = stored.leaf if stored is not None else None
    fresh = (f"fresh-{number}" for number in range(100))
    entries = Entries("2.1.325", lambda failure: ("unknown", failure.message), lambda: next(fresh), leaf=leaf)
    store = JsonlStore(str(path), lambda level, text: pytest.fail(text), entries, locks=False)
    story = [TurnStarted(INFO), prompt("Go on."), ResponseStarted("msg_9", "m"), *streamed(0, Text("Yes."), ["Yes."])]
    for tagged in tag_events([*story, ResponseEnded("end", "end_turn", USAGE), ended("Yes.")], first=9_001):
        store.feed(tagged)
    store.close()
    again = load(str(path), child=child)
    assert again is not None
    return again.history


def assert_goes_on(path: Path, before: tuple[Message, ...], *, child: bool) -> None:
    """Everything that was there is there, then the new turn; and it makes a request in which each call has a result."""
    after = go_on(path, child=child)
    if not child:
        texts = [block.text for message in after[-2:] for block in message.blocks if isinstance(block, Text)]
        assert texts[-2:] == ["Go on.", "Yes."]
        blocks = [block for message in before for block in message.blocks]
        assert [block for message in after for block in message.blocks][: len(blocks)] == blocks
    sent = [block for message in repair(after, SPEC).messages for block in message.blocks]
    called = [block.id for block in sent if isinstance(block, ToolCall)]
    assert called == [block.call_id for block in sent if isinstance(block, ToolResult)] or sorted(called) == sorted(
        block.call_id for block in sent if isinstance(block, ToolResult)
    )


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample[0] for sample in SAMPLES])
def test_cut_anywhere_it_loads_and_goes_on(tmp_path: Path, sample: tuple[str, bool, list[bytes], int]) -> None:
    _, child, lines, number = sample
    path = tmp_path / "s.jsonl"
    whole = b"".join(lines[:number])
    before = history_of(path, whole, child=child)
    complete = history_of(path, whole + lines[number], child=child)
    for at in range(number % STEP, len(lines[number]), STEP):
        got = history_of(path, whole + lines[number][:at], child=child)
        assert got in (before, complete), f"cut at byte {at}"
        if at // STEP % GO_ON_EVERY == 0:
            assert_goes_on(path, got, child=child)


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_at_the_end_is_passed_over(tmp_path: Path, garbage: bytes) -> None:
    name, child, lines, _ = next(sample for sample in SAMPLES if not sample[1] and len(sample[2]) > 3)
    path = tmp_path / "s.jsonl"
    before = history_of(path, b"".join(lines), child=child)
    assert before, name
    assert history_of(path, b"".join(lines) + garbage, child=child) == before
    assert_goes_on(path, before, child=child)


def test_a_cut_inside_a_character_loses_that_line_only(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    fresh = (f"fresh-{number}" for number in range(100))
    entries = Entries("2.1.325", lambda failure: ("unknown", failure.message), lambda: next(fresh))
    store = JsonlStore(str(path), lambda level, text: pytest.fail(text), entries, locks=False)
    for tagged in tag_events([TurnStarted(INFO), prompt("one"), prompt("zwei 🌍 é")]):
        store.feed(tagged)
    store.close()
    data = path.read_bytes()
    for place in range(data.index("🌍".encode()), data.index("é".encode()) + 2):
        assert [block.text for message in history_of(path, data[:place], child=False) for block in message.blocks] == [  # type: ignore[union-attr]
            "one"
        ]
        assert_goes_on(path, history_of(path, data[:place], child=False), child=False)


def test_a_writer_that_goes_on_in_a_torn_line_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, child, lines, _ = next(sample for sample in SAMPLES if not sample[1] and len(sample[2]) > 3)
    path = tmp_path / "s.jsonl"
    before = history_of(path, b"".join(lines) + b'{"type":"user"', child=child)
    real = JsonlStore._append

    def append(store: JsonlStore, fd: int, data: bytes) -> int:
        store._torn = False
        return real(store, fd, data)

    monkeypatch.setattr(JsonlStore, "_append", append)
    with pytest.raises(AssertionError):
        assert_goes_on(path, before, child=child)
