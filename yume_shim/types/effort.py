"""Effort: how much a model is asked to think. The levels, and the choice of one that a model accepts."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Effort = Literal["low", "medium", "high", "xhigh", "max"]

EFFORTS: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")
"""From least to most."""
OFF_LEVELS = ("none", "minimal")
"""Values of the same API fields that switch thinking off. Some models accept one of them, many refuse both."""
ALL_LEVELS: tuple[str, ...] = (*OFF_LEVELS, *EFFORTS)


def nearest_effort(asked: str, taken: tuple[str, ...]) -> str:
    """The level nearest to `asked` among those that a model accepts (`taken`); of two that are equally near the lower
    one, which costs less. `asked` itself if `taken` has no level that we know."""
    place = ALL_LEVELS.index
    levels = [level for level in EFFORTS if level in taken]
    return min(levels, key=lambda level: abs(place(level) - place(asked))) if levels else asked
