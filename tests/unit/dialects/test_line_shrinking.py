"""Lines over the cap."""

from __future__ import annotations

from typing import Any

import pytest
from claude_agent_sdk._internal.message_parser import parse_message
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.timing import cheap
from yume_shim.dialects.line_shrinking import shrink
from yume_shim.text.codec import dumps, loads
from yume_shim.text.separators import escape_separators

LIMIT = 10_000


def size(line: Any) -> int:
    return len(escape_separators(dumps(line), wide=True))


def test_a_long_result_keeps_head_and_tail_and_notes_what_is_missing() -> None:
    text = "head " + "x" * 50_000 + " tail"
    line = {"type": "tool_result", "tool_use_id": "call_1", "content": text, "is_error": False}
    small = shrink(line, LIMIT, "the session file")
    assert size(small) <= LIMIT
    assert size(small) > LIMIT * 0.98  # no more is cut than needed
    assert small["content"].startswith("head xxx")
    assert small["content"].endswith("xxx tail")
    note = small["content"].strip("headtil x")
    missing = len(text) - (len(small["content"]) - len(note))
    assert note == f"\n… [{missing} characters left out of this line; the full text is in the session file] …\n"
    rest = {key: item for key, item in small.items() if key != "content"}
    assert rest == {"type": "tool_result", "tool_use_id": "call_1", "is_error": False, "content_truncated": True}
    assert line["content"] == text


def test_only_long_strings_of_an_input_are_clipped() -> None:
    line = {"type": "tool_use", "id": "call_1", "name": "Write", "input": {"file_path": "/a/b", "content": "é" * 9_000}}
    small = shrink(line, LIMIT)
    assert size(small) <= LIMIT
    assert small["input"]["file_path"] == "/a/b"
    assert list(small) == ["type", "id", "name", "input", "input_truncated"]


def test_a_result_keeps_its_figures() -> None:
    denial = {"tool_name": "Write", "tool_use_id": "c", "tool_input": {"content": "z" * 9_000}}
    line = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "y" * 40_000,
        "num_turns": 2,
        "permission_denials": [denial],
        "structured_output": {"n": [1, 2, 3]},
    }
    small = shrink(line, LIMIT)
    assert size(small) <= LIMIT
    assert {key: small[key] for key in ("subtype", "is_error", "num_turns", "structured_output")} == {
        key: line[key] for key in ("subtype", "is_error", "num_turns", "structured_output")
    }
    assert small["result_truncated"] is small["permission_denials_truncated"] is True
    assert "structured_output_truncated" not in small


def test_long_lists_lose_their_end() -> None:
    line = {
        "type": "system",
        "subtype": "init",
        "session_id": "s",
        "tools": [f"mcp__server__tool_{n}" for n in range(2_000)],
    }
    small = shrink(line, LIMIT)
    assert size(small) <= LIMIT
    assert small["tools"] == line["tools"][: len(small["tools"])]
    assert len(small["tools"]) > 100
    assert small["tools_truncated"] is True


def nested(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, "uuid": "u", "session_id": "s", **more}


def test_media_is_left_out_completely() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 40_000}}
    block = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "see"}, image]}
    line = nested([block], tool_use_result={"type": "image", "file": {"base64": "A" * 40_000, "type": "image/png"}})
    note = {"type": "text", "text": "[image: image/png, left out of this line]"}
    small_block = block | {"content": [{"type": "text", "text": "see"}, note]}
    small = shrink(line, LIMIT)
    assert small == {
        "type": "user",
        "message": {"role": "user", "content": [small_block]},
        "message_truncated": True,
        "uuid": "u",
        "session_id": "s",
        "tool_use_result": {"type": "image", "file": {"base64": "", "type": "image/png"}},
        "tool_use_result_truncated": True,
    }
    assert parse_message(small) is not None


def test_a_long_answer_stays_a_message() -> None:
    text = {"type": "text", "text": "w" * 90_000}
    line = {
        "type": "assistant",
        "message": {"id": "m", "model": "x", "content": [text]},
        "uuid": "u",
        "session_id": "s",
    }
    small = shrink(line, LIMIT)
    assert size(small) <= LIMIT
    assert small["message"]["model"] == "x"
    assert parse_message(small) is not None


def test_very_deep_input() -> None:
    deep: Any = "x" * 20_000
    for _ in range(500):
        deep = {"a": deep}
    small = shrink({"type": "tool_use", "id": "c", "name": "N", "input": deep}, LIMIT)
    assert size(small) <= LIMIT
    assert small["input_truncated"] is True


_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=400)),
    lambda inner: st.one_of(st.lists(inner, max_size=8), st.dictionaries(st.text(max_size=10), inner, max_size=8)),
    max_leaves=60,
)


@settings(max_examples=150, deadline=None)
@given(_json, st.integers(400, 3_000))
def test_anything_fits_and_stays_json(value: Any, limit: int) -> None:
    line = {"type": "tool_use", "id": "call_1", "name": "Tool", "input": value}
    small = shrink(line, limit)
    assert size(small) <= max(limit, 300)
    assert loads(dumps(small)) is not None
    assert next(iter(small)) == "type"
    assert small["id"] == "call_1"
    if size(line) <= limit:
        assert small == line


@pytest.mark.parametrize("count", [30_000])
def test_many_small_parts(count: int) -> None:
    line = {"type": "tool_use", "id": "c", "name": "N", "input": {f"key_{n}": n for n in range(count)}}
    assert size(shrink(line, LIMIT)) <= LIMIT


def test_a_list_of_millions_costs_what_fits() -> None:
    """Looked at to its end it took two seconds for a million items."""
    given: Any = {"lines": ["-a", 1] * 1_000_000, "more": [["x"]] * 9}
    line = {"type": "tool_use", "id": "c", "name": "N", "input": given}
    with cheap(1.0):
        small = shrink(line, LIMIT)
    assert LIMIT // 2 < size(small) <= LIMIT
    assert small["input"]["lines"] == given["lines"][: len(small["input"]["lines"])]
    assert small["input_truncated"] is True


def comb(depth: int) -> Any:
    """Every level has a second branch that is as large as a line may be."""
    made: Any = {"leaf": ["x" * 150] * 100}
    for _ in range(depth):
        made = {"more": made, "also": ["y" * 150] * 100}
    return made


def chain(depth: int, leaf: Any) -> Any:
    for _ in range(depth):
        leaf = {"a": leaf, "b": "short"}
    return leaf


@pytest.mark.parametrize("value", [comb(60), chain(60, list(range(100_000)))], ids=["comb", "chain"])
def test_the_shape_of_a_value_does_not_cost_time(value: Any) -> None:
    """Measured again on every level these took thirty and five seconds."""
    line = {"type": "tool_use", "id": "c", "name": "N", "input": value}
    with cheap(3.0):
        small = shrink(line, LIMIT)
    assert LIMIT // 2 < size(small) <= LIMIT
    assert small["input_truncated"] is True
