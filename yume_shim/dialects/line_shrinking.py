"""Shrinks a line that is over the cap. The writer calls this only for such lines.

1. Binary data is removed, because clipped base64 is not an image any more. Of long lists only the items that could fit
   are looked at: a list may have millions of them.
2. Texts over a common length are clipped: head and tail stay, with a note between them that says how much is missing
   and where the full text is. The length is the largest with which the line fits.
3. If the line is still too long, lists lose their end and objects their largest fields (`dialects/line_cutting.py`).

Each top-level field that lost something gets a `…_truncated` mark after it (`input` → `input_truncated`).
"""

from __future__ import annotations

from yume_shim.dialects.line_cutting import cut_line, json_size
from yume_shim.text.clip import clip_middle
from yume_shim.types.message_records import TextBlock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Json

MIN_CLIP = 200
"""Texts up to this many characters are not clipped, and none is clipped below it: ids, names and paths stay
whole."""
MAX_DEPTH = 64
"""Values nested deeper than this are replaced by a mark."""
PRECISION = 256
"""The search for the length ends when it is known to 1 in this many: every step encodes the whole line."""
TOO_DEEP = "…"


def shrink(obj: Json, limit: int, where: str = "") -> Json:
    """A copy of the line whose JSON has at most `limit` bytes; `where` is the file that keeps the full line.

    The input is not changed. If the limit is below what the ids alone need, the smallest possible line is returned.
    """
    note = _note(where)
    lean = _without_binary(obj, 0, limit)
    low, high = MIN_CLIP, max(limit, MIN_CLIP)
    best = _clipped(lean, low, note)
    if json_size(best) > limit:
        return _marked(obj, cut_line(best, limit))
    while high - low > 1 + low // PRECISION:
        middle = (low + high) // 2
        attempt = _clipped(lean, middle, note)
        if json_size(_marked(obj, attempt)) <= limit:
            low, best = middle, attempt
        else:
            high = middle
    return _marked(obj, best) if json_size(_marked(obj, best)) <= limit else _marked(obj, cut_line(best, limit))


def _note(where: str) -> str:
    kept = f"; the full text is in {where}" if where else ""
    return "\n… [{cut} characters left out of this line" + kept + "] …\n"


def _marked(before: Json, after: Json) -> Json:
    """The line with a mark after each field that lost something."""
    line: Json = {}
    for key, item in after.items():
        line[key] = item
        if key in before and item != before[key]:
            line[f"{key}_truncated"] = True
    for key in before:
        if key not in after:
            line[f"{key}_truncated"] = True
    return line


# ---------------------------------------------------------------- step 1: binary data


def _without_binary(value: Any, depth: int, limit: int) -> Any:
    if depth > MAX_DEPTH:
        return TOO_DEEP
    if isinstance(value, list):
        return [_without_binary(item, depth + 1, limit) for item in _front(value, limit)]
    if not isinstance(value, dict):
        return value
    source = value.get("source")
    if isinstance(source, dict) and source.get("type") == "base64" and len(source.get("data") or "") > MIN_CLIP:
        kind = f"{value.get('type')}: {source.get('media_type')}"
        return TextBlock(text=f"[{kind}, left out of this line]")
    return {
        key: ""
        if key == "base64" and isinstance(item, str) and len(item) > MIN_CLIP
        else _without_binary(item, depth + 1, limit)
        for key, item in value.items()
    }


def _front(items: list[Any], limit: int) -> list[Any]:
    """The items without those at the end that cannot fit, however much the others are clipped: over the limit all the
    same, so that the end is cut and marked."""
    if 2 * len(items) <= limit:
        return items
    size = 0
    for place, item in enumerate(items):
        size += 3 + min(len(item), MIN_CLIP) if isinstance(item, str) else 2
        if size > limit:
            return items[: place + 1]
    return items


# ---------------------------------------------------------------- step 2: texts


def _clipped(value: Any, length: int, note: str) -> Any:
    if isinstance(value, str):
        return clip_middle(value, length, note)
    if isinstance(value, list):
        return [_clipped(item, length, note) for item in value]
    if isinstance(value, dict):
        return {key: _clipped(item, length, note) for key, item in value.items()}
    return value
