"""Reasoning in tags at the very start of the content."""

from __future__ import annotations

import pytest

from yume_shim.providers.apis.openai_chat.think_tags import ThinkTags


def split(*pieces: str) -> dict[str, str]:
    """Thinking and text of content that comes in these pieces."""
    tags = ThinkTags()
    whole = {"thinking": "", "text": ""}
    for piece in pieces:
        for kind, text in tags.feed(piece):
            assert text
            whole[kind] += text
    for kind, text in tags.finish():
        whole[kind] += text
    return whole


CASES = [
    ("<think>\nWhy?\nSo.\n</think>\n\nBecause.", "Why?\nSo.", "Because."),
    ("\n<think>Why?</think>Because.", "Why?", "Because."),
    ("<think></think>Because.", "", "Because."),
    ("<think>a < b </thin> c</think>d", "a < b </thin> c", "d"),
    ("No <think>tags</think> here.", "", "No <think>tags</think> here."),
    ("<thinking> is a word.", "", "<thinking> is a word."),
    ("<think>One.</think>Two. <think>Three.</think>", "One.", "Two. <think>Three.</think>"),
    ("<think>cut in the middle</th", "cut in the middle</th", ""),
    ("<thi", "", "<thi"),
    ("  \n", "", "  \n"),
    ("", "", ""),
]


@pytest.mark.parametrize(("content", "thinking", "text"), CASES)
def test_whole_and_in_single_characters(content: str, thinking: str, text: str) -> None:
    wanted = {"thinking": thinking, "text": text}
    assert split(content) == wanted
    assert split(*content) == wanted
    for place in range(len(content)):
        assert split(content[:place], content[place:]) == wanted


def test_thoughts_are_emitted_as_they_come() -> None:
    tags = ThinkTags()
    assert tags.feed("<think>I wonder") == [("thinking", "I wonder")]
    assert tags.feed(" why") == [("thinking", " why")]
    assert tags.feed("</think>Text") == [("text", "Text")]
    assert tags.feed(" goes on") == [("text", " goes on")]
