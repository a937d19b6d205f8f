"""Cleaning: text loses only what cannot be encoded."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yume_shim.text.clean import (
    SurrogateJoiner,
    clean_model_text,
    clean_output,
    repair_mojibake,
)

any_text = st.text(st.characters(codec=None, categories=None))
some_halves = st.text(st.sampled_from("a\ud83d\ude00\udc00😀\ud800"), max_size=12)


def utf16_reading(text: str) -> str:
    """The text decoded one code unit at a time: a second implementation of the rule."""
    out = ""
    place = 0
    while place < len(text):
        char = text[place]
        following = text[place + 1 : place + 2]
        if "\ud800" <= char <= "\udbff" and following and "\udc00" <= following <= "\udfff":
            out += chr(0x10000 + ((ord(char) - 0xD800) << 10) + ord(following) - 0xDC00)
            place += 2
            continue
        out += "\ufffd" if "\ud800" <= char <= "\udfff" else char
        place += 1
    return out


@settings(deadline=None)
@given(any_text | some_halves)
def test_model_text_loses_only_lone_surrogates(text: str) -> None:
    assert clean_model_text(text) == utf16_reading(text)


@given(st.text())
def test_model_text_without_surrogates_is_the_same_object(text: str) -> None:
    assert clean_model_text(text) is text


def cut_text(text: str, places: list[int]) -> list[str]:
    marks = [0, *sorted(min(place, len(text)) for place in places), len(text)]
    return [text[a:b] for a, b in pairwise(marks)]


@settings(deadline=None)
@given(any_text | some_halves, st.lists(st.integers(0, 12), max_size=6))
def test_the_surrogate_joiner_returns_the_whole_text_and_never_half_a_character(text: str, places: list[int]) -> None:
    joiner = SurrogateJoiner()
    pieces = [joiner.feed(piece) for piece in cut_text(text, places)]
    pieces.append(joiner.finish())
    assert "".join(pieces) == utf16_reading(text)
    for piece in pieces:
        piece.encode("utf-8")


def test_surrogate_joiner_holds_only_what_it_must() -> None:
    joiner = SurrogateJoiner()
    assert [joiner.feed(piece) for piece in ("ab", "c\ud83d", "", "\ude00d", "\ud83d", "e")] == [
        "ab",
        "c",
        "",
        "😀d",
        "",
        "\ufffde",
    ]
    assert joiner.finish() == ""
    assert joiner.feed("\ud83d") + joiner.finish() == "\ufffd"
    assert joiner.feed("new") == "new"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain\ttext\r\nwith lines\n", "plain\ttext\r\nwith lines\n"),
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b[38:2::255:0:0mtrue colour\x1b[m", "true colour"),
        (b"\x1b[?25l\x1b[2K\r10%\r20%", "\r10%\r20%"),
        (b"\x1b]0;a title\x07after", "after"),
        (b"\x1b]8;;http://x.example/\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1b]0;never ended\nnext line", "\nnext line"),
        (b"\x1bPq#0;2;0;0;0\nsixel\x1b\\after", "after"),
        (b"\x1bPnever ended", "never ended"),
        (b"\x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x07.", "."),
        (b"\x1b(B\x1b)0\x1b%Gcharset", "charset"),
        (b"\x1b7\x1b8\x1b=\x1b>\x1bM\x1bcreset", "reset"),
        (b"nul\x00 bell\x07 back\x08 vt\x0b ff\x0c del\x7f.", "nul bell back vt ff del."),
        (b"cut \x1b[31", "cut "),
        (b"cut \x1b", "cut "),
        (b"bad \xff\xfe utf \xc3", "bad \ufffd\ufffd utf \ufffd"),
        ("schön 😀 \u2028 \u200d \x85".encode(), "schön 😀 \u2028 \u200d \x85"),
    ],
)
def test_output(data: bytes, text: str) -> None:
    assert clean_output(data, ()) == text


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([b"\x1b", b"[", b"]", b"P", b"\\", b"\x07", b"0;", b"m", b"\n", b"x", b"\xc3"])).map(
        b"".join
    )
)
def test_output_never_keeps_a_control_character(data: bytes) -> None:
    kept = clean_output(data)
    assert not any(char < " " and char not in "\t\n\r" for char in kept)
    assert kept.count("\n") <= data.count(b"\n")


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"])))
def test_output_without_controls_is_unchanged(text: str) -> None:
    assert clean_output(text.encode()) == text


def test_output_takes_linear_time() -> None:
    for piece in (b"\x1b]", b"\x1bP", b"\x1b[", b"\x1b[0;", b"\x1b ", b"\x1bPx\n"):
        clean_output(piece * 200_000)


@pytest.mark.parametrize(
    ("broken", "right"),
    [
        ("schÃ¶n", "schön"),
        ("itâ€™s", "it’s"),
        ("plain", "plain"),
        ("schön ‘quoted’ ﬁne &lt; \r\n ½", "schön ‘quoted’ ﬁne &lt; \r\n ½"),
        ("日本語 😀", "日本語 😀"),
    ],
)
def test_mojibake(broken: str, right: str) -> None:
    assert repair_mojibake(broken) == right


def test_output_of_windows_programs() -> None:
    assert clean_output("größe\r\n".encode("cp850") + "größe\n".encode(), ("cp850",)) == "größe\ngröße\n"
    assert clean_output(b"a\r\nb\r\n", ("cp437",)) == "a\nb\n"
    assert clean_output("привет\r\n".encode("cp866"), ("cp866",)) == "привет\n"
    assert clean_output("日本\r\n".encode("cp932"), ("cp932",)) == "日本\n"
    assert clean_output(b"\x81\r\n", ("cp932",)) == "\ufffd\n"
    assert clean_output(b"10%\r50%\r\n", ("cp437",)) == "10%\r50%\n"
    for text, pages in (
        ("größe, Übung", ("cp1252", "cp850")),
        ("привет", ("cp1251", "cp866")),
        ("żółw", ("cp1250", "cp852")),
    ):
        for page in pages:
            assert clean_output(f"{text}\r\n".encode(page), pages) == f"{text}\n"
    assert clean_output(b"a\r\n", ()) == "a\r\n"
