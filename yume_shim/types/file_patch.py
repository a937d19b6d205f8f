"""A change of one file, as hosts draw it."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json


class FilePatch(Value):
    """Hunks `{oldStart, oldLines, newStart, newLines, lines}` as `tools/files/diff.py` makes them."""

    path: str
    hunks: tuple[Json, ...]
