"""Suggestions: a slip of the finger is understood, anything else gets no suggestion."""

from __future__ import annotations

import pytest

from yume_shim.text.nearest import did_you_mean, nearest

NAMES = ("Bash", "Read", "Write", "Grep", "model", "provider", "retry", "doctor", "sessions", "openai", "xai", "groq")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Raed", "Read"), ("Bsh", "Bash"), ("bash", "Bash"), ("modle", "model"), ("provder", "provider"),
        ("retri", "retry"), ("docter", "doctor"), ("sesions", "sessions"), ("opneai", "openai"), ("GROQ", "groq"),
    ],
)  # fmt: skip
def test_slips(written: str, meant: str) -> None:
    assert nearest(written, NAMES) == meant
    assert did_you_mean(written, NAMES) == f" Did you mean '{meant}'?"


@pytest.mark.parametrize("word", ["", "x", "hello", "fix", "banana", "explain", "meta", "nvidia", "Frobnicate", "is"])
def test_other_words_get_no_suggestion(word: str) -> None:
    assert nearest(word, NAMES) == ""
    assert did_you_mean(word, NAMES) == ""
