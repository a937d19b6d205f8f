"""Counts work in a way that a busy machine does not change."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def calls_of(work: Callable[[], object]) -> int:
    """How many functions are called: a measure of work that a busy machine does not change."""
    count = 0

    def see(frame: Any, what: str, about: Any) -> None:
        nonlocal count
        count += what in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
