"""The effort that a model takes in place of the one that was asked for."""

from __future__ import annotations

import pytest

from yume_shim.types.effort import EFFORTS, nearest_effort


@pytest.mark.parametrize(
    ("asked", "taken", "expected"),
    [
        ("max", (), "max"),
        ("high", ("low", "high"), "high"),
        ("max", ("low",), "low"),
        ("max", ("low", "medium", "high"), "high"),
        ("xhigh", ("low", "max"), "max"),
        ("low", ("high", "max"), "high"),
        ("low", ("none", "medium"), "medium"),
        ("minimal", ("medium", "low"), "low"),
    ],
)
def test_the_closest_level_is_chosen(asked: str, taken: tuple[str, ...], expected: str) -> None:
    assert nearest_effort(asked, taken) == expected


@pytest.mark.parametrize(
    ("asked", "taken", "expected"),
    [
        ("xhigh", ("low", "medium", "high", "max"), "high"),
        ("xhigh", ("max", "high"), "high"),
        ("medium", ("low", "high"), "low"),
    ],
)
def test_the_lower_of_two_equally_close_levels_is_chosen(asked: str, taken: tuple[str, ...], expected: str) -> None:
    assert nearest_effort(asked, taken) == expected


@pytest.mark.parametrize("asked", EFFORTS)
def test_unknown_levels_are_never_chosen(asked: str) -> None:
    assert nearest_effort(asked, ("strange", "none", "minimal")) == asked
