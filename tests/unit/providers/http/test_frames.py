"""Body bytes in, frames out."""

from __future__ import annotations

import gc
import json
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yume_shim.providers.http import frames as frames_module
from yume_shim.providers.http.frames import FrameParser
from yume_shim.types.errors import ProviderFailed

if TYPE_CHECKING:
    from yume_shim.types.blocks import Json


def parse(*pieces: bytes) -> list[Json]:
    parser = FrameParser("p")
    return [frame for piece in pieces for frame in parser.feed(piece)] + parser.finish()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'data: {"a":1}\n\ndata: {"a":2}\n\n', [{"a": 1}, {"a": 2}]),
        (b'event: x\r\ndata: {"a":1}\r\n\r\n', [{"a": 1}]),
        (b'data: {"a":1}\r\rdata: {"a":2}\r\r', [{"a": 1}, {"a": 2}]),
        (b'data:{"a":1}\n\n', [{"a": 1}]),
        (b': comment\n\nid: 7\nretry: 10\ndata: {"a":1}\n\n', [{"a": 1}]),
        (b'data: {"a":\ndata: 1}\n\n', [{"a": 1}]),
        (b'data: {"a":1}\ndata: {"a":2}\ndata: {"a":3}\n\n', [{"a": 1}, {"a": 2}, {"a": 3}]),
        (b'data: {"a":1}', [{"a": 1}]),
        (b'data: {"a":1}\n\ndata: {"a":', [{"a": 1}]),
        (b'\xef\xbb\xbfdata: {"a":1}\n\n', [{"a": 1}]),
        (b'\n\n  \r\ndata: {"a":1}\n\n', [{"a": 1}]),
        (b'data: {"a":1}\n\ndata: [DONE]\n\n', [{"a": 1}, {"!done": True}]),
        (b"data: [DONE]", [{"!done": True}]),
        (b"data: oops\n\n", [{"!bad": "oops"}]),
        (b"data: 7\n\n", [{"!bad": "7"}]),
        (b'data: [{"a":1},{"a":2}]\n\n', [{"a": 1}, {"a": 2}]),
        (b"data:\n\ndata: \n\n", []),
        (b'event: error\n{"error":"x"}\n\n', [{"error": "x"}]),
        (b'data: {"a":"\xff"}\n\n', [{"a": "\ufffd"}]),
        (b'{"a":1}\n{"a":2}\n', [{"a": 1}, {"a": 2}]),
        (b'{"a":1}\r\n\r\n{"a":2}', [{"a": 1}, {"a": 2}]),
        (b'{"a":1}\noops\n{"a":2}\n', [{"a": 1}, {"!bad": "oops"}, {"a": 2}]),
        (b'{"a":1}\n{"a":', [{"a": 1}]),
        (b'{\n "a": 1\n}\n', [{"a": 1}]),
        (b'[{"a":1},\n{"a":2}\n]', [{"a": 1}, {"a": 2}]),
        (b'[{"a":1},', [{"!bad": '[{"a":1},'}]),
        (b"", []),
        (b"  \n", []),
    ],
)
def test_bodies(body: bytes, expected: list[Json]) -> None:
    assert parse(body) == expected
    assert parse(*(body[place : place + 1] for place in range(len(body)))) == expected


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
objects = st.lists(st.dictionaries(st.text(min_size=1), values, max_size=4), max_size=8)


@given(objects, st.sampled_from(["\n", "\r\n", "\r"]), st.lists(st.integers(1, 60), min_size=1), st.booleans())
def test_any_frames_survive_any_cut(items: list[Any], newline: str, sizes: list[int], escaped: bool) -> None:
    text = "".join(
        f"event: e{newline}data: {json.dumps(item, ensure_ascii=escaped)}{newline}{newline}" for item in items
    )
    body = text.encode("utf-8", "replace")
    expected = parse(body)
    pieces = []
    for place in range(10_000):
        if not body:
            break
        size = sizes[place % len(sizes)]
        pieces.append(body[:size])
        body = body[size:]
    assert parse(*pieces, body) == expected
    assert len(expected) == len(items)


def test_a_web_page_is_refused() -> None:
    with pytest.raises(ProviderFailed) as caught:
        parse(b"\n <!doctype html><html></html>")
    assert (caught.value.failure.kind, caught.value.failure.retryable) == ("protocol", False)


@pytest.mark.parametrize("start", [b"data: ", b"{", b"[", b"data: {\ndata: ", b"data: {\n"])
def test_memory_is_bounded(start: bytes) -> None:
    parser = FrameParser("p")
    parser.feed(start)
    piece = b"data: x\n" * 131_072 if start.endswith(b"\n") else b"x" * 1_048_576
    pieces = [piece] * (frames_module.MAX_EVENT_BYTES // len(piece) + 2)
    with pytest.raises(ProviderFailed) as caught:
        [parser.feed(piece) for piece in pieces]
    assert caught.value.failure.kind == "protocol"


def test_what_is_held_goes_with_the_parser() -> None:
    parser = FrameParser("p")
    parser.feed(b'data: {"x":"')
    gone = weakref.ref(parser)
    gc.disable()
    try:
        del parser
        assert gone() is None
    finally:
        gc.enable()


def test_long_lines_are_read_in_linear_time() -> None:
    item = {"data": "x" * 4_000_000}
    body = b"data: " + json.dumps(item).encode() + b"\n\n"
    pieces = [body[place : place + 997] for place in range(0, len(body), 997)]
    assert parse(*pieces) == [item]
