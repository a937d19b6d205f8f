"""Continuations joined without what they repeat: whatever the pieces, nothing is lost and nothing shown twice."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.timing import cheap
from yume_shim.text.repetition import MAX_HELD, MIN_END, ContinuationJoiner

PROSE = "The quick brown fox jumps over the lazy dog, and then it sleeps. "
WORDS = st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta", "x1", "y2", "Ω", "猫", "\n", ". "]), max_size=40)


def joined(shown: str, pieces: list[str]) -> str:
    joiner = ContinuationJoiner(shown)
    return "".join([*(joiner.feed(piece) for piece in pieces), joiner.finish()])


@st.composite
def cut_up(draw: st.DrawFn, text: str) -> list[str]:
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    edges = [0, *places, len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


@given(st.data(), WORDS, st.text(max_size=40))
def test_pieces_do_not_matter(data: st.DataObject, words: list[str], more: str) -> None:
    shown = PROSE + " ".join(words)
    continuation = shown[data.draw(st.integers(0, len(shown))) :] + more
    whole = joined(shown, [continuation])
    assert joined(shown, data.draw(cut_up(continuation))) == whole
    assert continuation.endswith(whole)


@given(st.data(), WORDS, st.text(max_size=40))
def test_a_whole_repetition_is_removed(data: st.DataObject, words: list[str], more: str) -> None:
    shown = PROSE + " ".join(words) + "!end"
    assert joined(shown, data.draw(cut_up(shown + more))) == more


@given(st.data(), WORDS, st.text(max_size=40))
def test_what_is_removed_was_shown_at_the_end(data: st.DataObject, words: list[str], continuation: str) -> None:
    shown = " ".join(words)
    rest = joined(shown, data.draw(cut_up(continuation)))
    assert continuation.endswith(rest)
    removed = continuation[: len(continuation) - len(rest)].lstrip()
    assert shown.endswith(removed)


@given(st.data(), st.text(alphabet="abc =-\n", max_size=60))
def test_short_overlaps_are_not_repetitions(data: st.DataObject, end: str) -> None:
    shown = f"{PROSE}|{end}"
    continuation = shown[-(MIN_END - 1) :] + "#" if data.draw(st.booleans()) else "# new"
    assert joined(shown, [continuation]) == continuation


@given(st.data())
def test_a_short_text_is_not_begun_twice(data: st.DataObject) -> None:
    """A connection that breaks after the first piece, and a model that begins anew."""
    for shown, answer in (("The", "The end."), ("\n\nOne, ", "One, two."), ("こんに", "こんにちは")):
        assert shown + joined(shown, data.draw(cut_up(answer))) == shown[: len(shown) - len(shown.lstrip())] + answer
    for shown, more in (("#", "# Title"), ("1", "10"), ("ha ", "ha ha"), ("The", " end"), ("a, ", "a, b")):
        assert joined(shown, data.draw(cut_up(more))) == more


def test_rows_that_repeat_in_a_text_stay() -> None:
    for row in ("0 0 0 0 0 0 0 0 0 0 0\n", "|-----|-----|-----|-----|\n", "        }\n        }\n"):
        assert joined(PROSE + row, [row]) == row


def test_a_text_that_differs_is_shown_at_its_first_difference() -> None:
    joiner = ContinuationJoiner(PROSE)
    assert joiner.feed("The quick brown ") == ""
    assert joiner.feed("bear") == "The quick brown bear"
    assert joiner.feed(" sleeps") == " sleeps"


def test_what_is_held_back_is_limited() -> None:
    shown = PROSE * (2 * MAX_HELD // len(PROSE))
    joiner = ContinuationJoiner(shown)
    shown_again = 0
    with cheap(5.0):
        for start in range(0, len(shown), 50):
            shown_again += len(joiner.feed(shown[start : start + 50]))
    assert shown_again + MAX_HELD >= len(shown) - MAX_HELD
    assert not joiner.open
