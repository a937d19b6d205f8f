"""Text that repeats itself: found soon, with bounded work; ordinary text is left alone."""

from __future__ import annotations

import random
import time

import pytest

from yume_shim.text.loops import CHECK_EVERY, WINDOW, LoopDetector


def first_hit(text: str, size: int) -> tuple[int, int]:
    """(characters fed until the repetition was found, characters that repeat); (0, 0) if none was."""
    detector = LoopDetector()
    for start in range(0, len(text), size):
        found = detector.feed(text[start : start + size])
        if found:
            return detector.total, found
    return 0, 0


@pytest.mark.parametrize("size", [1, 7, 600])
@pytest.mark.parametrize(
    "passage", ["I am sure. ", "One line of a longer text, and then another one.\n", "abcde " * 250]
)
def test_a_passage_that_repeats_is_found(passage: str, size: int) -> None:
    opening = "Here is the answer. "
    fed, repeated = first_hit(opening + passage * 10_000, size)
    assert 0 < fed <= len(opening) + max(4_000, 4 * len(passage)) + len(passage) + CHECK_EVERY + size
    kept = (opening + passage * 10_000)[: fed - repeated]
    assert len(kept) <= len(opening) + 2 * len(passage) + CHECK_EVERY


def test_ordinary_text_is_not_stopped() -> None:
    words = [
        "the",
        "a",
        "model",
        "writes",
        "text",
        "with",
        "many",
        "words",
        "and",
        "some",
        "of",
        "them",
        "come",
        "again",
        "but",
        "never",
        "all",
        "in",
        "one",
        "order",
    ]
    draw = random.Random(7)
    text = " ".join(draw.choice(words) for _ in range(50_000))
    rows = "\n".join(f"| {place} | yes | no |" for place in range(5_000))
    code = "\n".join(f"    self.value_{place} = 0" for place in range(5_000))
    for each in (text, rows, code, "-" * 3_000, "0, " * 2_000, "I will not talk in class.\n" * 100):
        assert first_hit(each, 20) == (0, 0)


def test_a_row_of_signs_must_fill_the_window() -> None:
    fed, _ = first_hit("=" * 50_000, 100)
    assert WINDOW <= fed <= WINDOW + CHECK_EVERY + 100


def test_the_work_does_not_grow_with_the_text() -> None:
    draw = random.Random(3)
    text = "".join(draw.choice("abcdefgh ") for _ in range(1_000_000))
    begun = time.process_time()
    assert first_hit(text, 4) == (0, 0)
    assert time.process_time() - begun < 5
