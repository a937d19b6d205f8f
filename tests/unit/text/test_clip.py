"""Sizes, splitting, clipping and escapes of long text."""

from __future__ import annotations

import json
import sys
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.counting import calls_of
from yume_shim.text import codec
from yume_shim.text.clip import (
    MAX_CODE_POINT_BYTES,
    MAX_SHIFT,
    clip_middle,
    json_size,
    split_text,
)
from yume_shim.text.separators import FORMAT_CHARACTERS, escape_separators

GRAPHEMES = [
    "a",
    "\r\n",
    "e\u0301",
    "👨‍👩‍👧‍👦",
    "🇩🇪",
    "👍🏽",
    "❤\ufe0f",
    "각",
    "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    '"',
    "\\",
    "\n",
    "\x00",
    "漢",
    "\u2028",
    "\ue000",
    "\x7f",
    "\u200b",
]
clusters = st.lists(st.sampled_from(GRAPHEMES), max_size=60).map("".join)
texts = clusters | st.text(max_size=80) | st.text(st.characters(codec=None, categories=None), max_size=40)


def wire_size(text: str) -> int:
    return len(escape_separators(codec.dumps({"t": text}), wide=True)) - len(b'{"t":""}')


# ---------------------------------------------------------------- sizes and escapes


@settings(deadline=None)
@given(texts)
def test_the_size_is_that_of_the_json_line(text: str) -> None:
    assert json_size(text) == wire_size(text)
    assert json_size(text) <= MAX_CODE_POINT_BYTES * len(text)
    assert json_size(text) >= len(escape_separators(codec.dumps(text), wide=False)) - 2


values = st.recursive(
    texts | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@settings(deadline=None)
@given(values, st.booleans())
def test_escapes_do_not_change_the_meaning_of_a_line(value: Any, wide: bool) -> None:
    line = codec.dumps(value)
    escaped = escape_separators(line, wide)
    assert json.loads(escaped) == json.loads(line)
    assert len(escaped.decode("utf-8").splitlines()) <= 1 or not wide
    assert not {"\u2028", "\u2029", "\x85"} & set(escaped.decode("utf-8"))


def test_narrow_escapes() -> None:
    line = codec.dumps("a\x85b\u2028c\u2029d\x7f\x80\xad\u200d\ufeff\ue000\U000e0041😀é")
    assert escape_separators(line, wide=False) == (
        b'"a\\u0085b\\u2028c\\u2029d' + "\x7f\x80\xad\u200d\ufeff\ue000\U000e0041😀é".encode() + b'"'
    )


def test_wide_escapes_are_those_of_the_claude_cli() -> None:
    line = codec.dumps(
        "\x7f\x80\x85\xa0\xad\u061c\u200b\u200d\u200e\u2028\u2029\u202e\u2060\u2066\ue000\ufdd0\ufeff\ufffd\ufffe\U000e0041😀</&>'"
    )
    assert escape_separators(line, wide=True) == (
        b'"\\u007f\\u0080\\u0085'
        + "\xa0".encode()
        + b"\\u00ad\\u061c\\u200b\\u200d\\u200e\\u2028\\u2029\\u202e\\u2060\\u2066"
        + "\ue000\ufdd0".encode()
        + b"\\ufeff"
        + "\ufffd\ufffe".encode()
        + b"\\udb40\\udc41"
        + "😀</&>'".encode()
        + b'"'
    )


def test_all_kinds_in_one_line_and_many_of_a_few() -> None:
    every = "".join(chr(code) for first, last in FORMAT_CHARACTERS for code in range(first, last + 1))
    line = codec.dumps(every)
    assert escape_separators(line, wide=True).isascii()
    assert json.loads(escape_separators(line, wide=True)) == every
    often = codec.dumps("\u2028\u200b" * 5_000)
    assert calls_of(lambda: escape_separators(often, wide=True)) < 100  # no call for each: such a line took seconds


def test_ascii_lines_are_unchanged() -> None:
    line = codec.dumps({"type": "text", "content": "plain \x1b \u0000"})
    assert escape_separators(line, wide=True) is line
    assert escape_separators(line, wide=False) is line


def test_the_table_has_every_format_character_of_this_interpreter() -> None:
    listed = {code for first, last in FORMAT_CHARACTERS for code in range(first, last + 1)}
    known = {code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) == "Cf"}
    assert known <= listed
    assert all(
        unicodedata.category(chr(code)) in ("Cf", "Cn", "Mn") for code in listed - known
    )  # newer than the tables


# ---------------------------------------------------------------- splitting


@settings(deadline=None, max_examples=300)
@given(texts, st.integers(0, 200))
def test_pieces_join_to_the_text_and_keep_the_limit(text: str, limit: int) -> None:
    pieces = split_text(text, limit)
    assert "".join(pieces) == text
    assert all(0 < json_size(piece) <= max(limit, MAX_CODE_POINT_BYTES) for piece in pieces)


@settings(deadline=None, max_examples=300)
@given(clusters, st.integers(120, 400))
def test_pieces_do_not_cut_graphemes(text: str, limit: int) -> None:
    rest = text
    for piece in split_text(text, limit):
        assert rest.startswith(piece)
        while piece:
            grapheme = next((g for g in sorted(GRAPHEMES, key=len, reverse=True) if piece.startswith(g)), None)
            assert grapheme is not None, f"cut inside a grapheme: {piece!r}"
            piece, rest = piece[len(grapheme) :], rest[len(grapheme) :]


def test_flags_are_cut_in_pairs() -> None:
    for limit in (30, 33, 38):
        assert all(len(piece) % 2 == 0 for piece in split_text("🇩🇪" * 20, limit))


def test_a_grapheme_over_the_limit_is_cut_anyway() -> None:
    text = "e" + "\u0301" * 1000
    pieces = split_text(text, 400)
    assert "".join(pieces) == text
    assert len(pieces) == 6
    assert len(pieces[0]) > 200 - MAX_SHIFT


def test_no_text_gives_no_pieces() -> None:
    assert split_text("", 100) == []
    assert split_text("short", 100) == ["short"]


def test_splitting_a_long_text_fills_its_pieces() -> None:
    text = 'x"' * 200_000
    sizes = [json_size(piece) for piece in split_text(text, 98_000)]
    assert sum(sizes) == 600_000
    assert min(sizes[:-1]) > 97_990


# ---------------------------------------------------------------- clipping


@settings(deadline=None, max_examples=300)
@given(texts.filter(lambda text: "<" not in text and ">" not in text), st.integers(0, 120))
def test_clipped_text_is_head_note_tail(text: str, limit: int) -> None:
    clipped = clip_middle(text, limit, "<{cut} cut>")
    if len(text) <= limit:
        assert clipped == text
        return
    assert len(clipped) <= limit
    head, note, rest = clipped.partition("<")
    count, _, tail = rest.partition(" cut>")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert not note or int(count) == len(text) - len(head) - len(tail) > 0


def test_clip_counts_what_it_leaves_out() -> None:
    assert clip_middle("0123456789" * 10, 30, "<{cut}>") == "0123456789012<75>890123456789"
    assert clip_middle("0123456789" * 10, 30, "") == "012345678901234567890123456789"
    assert clip_middle("short", 5, "<{cut}>") == "short"
    assert clip_middle("too long", 6, "a note that is longer than the limit") == "too lo"
    assert clip_middle("too long", 0, "") == ""


def test_clip_keeps_graphemes_at_both_ends() -> None:
    clipped = clip_middle("e\u0301" * 50, 40, "<{cut}>")
    head, _, tail = clipped.partition("<")
    assert head == "e\u0301" * (len(head) // 2)
    assert tail.partition(">")[2].startswith("e")


@pytest.mark.parametrize("text", ["a" * 3_000_000, "漢" * 1_000_000, "👩‍🚀" * 200_000])
def test_long_texts_are_clipped_fast(text: str) -> None:
    assert len(clip_middle(text, 98_000)) <= 98_000
    assert "".join(split_text(text, 98_000)) == text
