"""The last resort for a line that is over the cap even after its dialect has shrunk it: the same object with all
long parts cut. Fields, types and short values stay, so that a strict reader still finds what it needs."""

from __future__ import annotations

from yume_shim.text import codec
from yume_shim.text.clip import clip_middle
from yume_shim.text.separators import escape_separators

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Json

MARK = "line_truncated"
STEPS = ((4_096, 256), (512, 64), (128, 32), (40, 8), (16, 2))
"""Tried in order until the line fits: most characters of a string, most entries of a list or object."""
MAX_DEPTH = 24
"""Levels that are kept."""
NOTE = "… {cut} cut …"
TOP_FIELDS = 64
"""The object's own fields are kept up to this many at every step: they are the protocol's, not the user's."""


def shrink_object(obj: Json, limit_bytes: int) -> Json:
    """`obj` with `line_truncated: true`, at most `limit_bytes` as JSON."""
    for longest, most in STEPS:
        shrunk = _fields(obj, longest, most, MAX_DEPTH, max(most, TOP_FIELDS))
        shrunk[MARK] = True
        if len(escape_separators(codec.dumps(shrunk), wide=True)) <= limit_bytes:
            return shrunk
    return {"type": str(obj.get("type", ""))[:40], MARK: True}


def _shrunk(item: Any, longest: int, most: int, depth: int) -> Any:
    if item is None or isinstance(item, (bool, float)):
        return item
    if isinstance(item, int):
        return item if item.bit_length() <= 64 else None  # `int` refuses to print very long ones
    if isinstance(item, str):
        return clip_middle(item, longest, NOTE)
    if isinstance(item, dict):
        return _fields(item, longest, most, depth - 1, most) if depth else {}
    if isinstance(item, (list, tuple)):
        return [_shrunk(inner, longest, most, depth - 1) for inner in item[:most]] if depth else []
    return clip_middle(repr(item), longest, NOTE)


def _fields(item: Json, longest: int, most: int, depth: int, fields: int) -> Json:
    shrunk: Json = {}
    for key, inner in item.items():
        if len(shrunk) == fields:
            break
        shrunk[clip_middle(str(key), longest, NOTE)] = _shrunk(inner, longest, most, depth)
    return shrunk
