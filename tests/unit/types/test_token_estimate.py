"""Token estimates by characters."""

from __future__ import annotations

import pytest

from yume_shim.types.token_estimate import by_characters


@pytest.mark.parametrize(("length", "tokens"), [(0, 0), (1, 1), (3, 1), (4, 2), (10, 3), (11, 4), (1_000_000, 300_000)])
def test_three_for_ten_rounded_up(length: int, tokens: int) -> None:
    assert by_characters("x" * length) == tokens
