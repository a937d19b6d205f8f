"""Hunks: applying them gives the new text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.timing import cheap
from yume_shim.tools.files.diff import NO_NEWLINE, hunks

if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", "d d"]), max_size=30).map("\n".join)


def applied(old: str, patch: list[Json]) -> str:
    """What a host would make of the old text."""
    lines, made, place = old.split("\n"), [], 0
    ended = old.endswith("\n") or not old
    if ended:
        lines.pop()
    for hunk in patch:
        start = hunk["oldStart"] - 1 if hunk["oldLines"] else hunk["oldStart"]
        made += lines[place:start]
        assert len(made) == (hunk["newStart"] - 1 if hunk["newLines"] else hunk["newStart"])
        place = start + hunk["oldLines"]
        body: list[str] = hunk["lines"]
        assert [line[1:] for line in body if line[0] in " -"] == lines[start:place]
        new = [line[1:] for line in body if line[0] in " +"]
        assert len(new) == hunk["newLines"]
        made += new
        if place == len(lines):
            ended = body[-1] != NO_NEWLINE or body[-2][0] == "-"
    made += lines[place:]
    return "\n".join(made) + ("\n" if ended and made else "")


@given(TEXTS, TEXTS)
def test_applying_gives_the_new_text(old: str, new: str) -> None:
    assert applied(old, hunks(old, new)) == new


def test_far_changes_are_two_hunks() -> None:
    old = "".join(f"{n}\n" for n in range(1, 21))
    new = old.replace("3\n", "three\n", 1).replace("\n18\n", "\neighteen\n")
    wanted: list[dict[str, Any]] = [
        {
            "oldStart": 1,
            "oldLines": 6,
            "newStart": 1,
            "newLines": 6,
            "lines": [" 1", " 2", "-3", "+three", " 4", " 5", " 6"],
        },
        {
            "oldStart": 15,
            "oldLines": 6,
            "newStart": 15,
            "newLines": 6,
            "lines": [" 15", " 16", " 17", "-18", "+eighteen", " 19", " 20"],
        },
    ]
    assert hunks(old, new) == wanted


def test_a_huge_rewrite_is_cheap() -> None:
    with cheap(5):
        patch = hunks("x\n" * 100_000, "y\n" * 100_000)
    assert (len(patch), patch[0]["oldLines"], patch[0]["newLines"]) == (1, 100_000, 100_000)
