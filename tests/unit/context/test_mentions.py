"""Which files a prompt mentions."""

from __future__ import annotations

import pytest

from yume_shim.context.mentions import MAX_MENTIONS, mentioned


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("what is in @a.txt?", ("a.txt",)),
        ("@src/main.py and (@b)", ("src/main.py",)),
        ('look at @"my notes.txt", please', ("my notes.txt",)),
        ("@a.txt @a.txt\n@b/c.md.", ("a.txt", "b/c.md")),
        ("mail me@example.org or a@b", ()),
        ("@ alone, @@twice, @", ()),
        ("nothing", ()),
    ],
)
def test_mentions(text: str, paths: tuple[str, ...]) -> None:
    assert mentioned(text) == paths


def test_there_is_a_limit() -> None:
    assert len(mentioned(" ".join(f"@f{n}" for n in range(99)))) == MAX_MENTIONS
