"""Cuts the lists and objects of a line until its JSON fits. Each part is measured once and visited once, so the time
grows with the size of the line and not with its shape: a hostile model chooses the shape."""

from __future__ import annotations

from yume_shim.text.codec import dumps
from yume_shim.text.separators import escape_separators

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from yume_shim.types.blocks import Json

LEAST_ENTRY = 24
"""Bytes that an entry of an object needs; an object that has no room for all of its entries loses the later ones."""
WORD = 2**63
"""Smaller integers are measured without the encoder, as are texts that need no escapes: a list may hold a million."""
GONE = object()
"""Nothing of the value fits."""
IDENTITY = frozenset(
    ("type", "subtype", "session_id", "uuid", "id", "tool_use_id", "parent_tool_use_id", "request_id", "is_error")
)
"""What identifies a line: the host cannot use it without these fields, so they stay whole."""
_MARK = len('"_truncated":true,')


def json_size(value: Any) -> int:
    """Bytes of the value as it is printed, in the wider of the two forms."""
    return len(escape_separators(dumps(value), wide=True))


def cut_line(line: Json, limit: int) -> Json:
    """A copy of the line that fits, with room for a mark per field. If the identifying fields alone are over the limit,
    they alone stay."""
    sizes: dict[int, int] = {}
    _measure(line, sizes)
    room = limit - 2 - sum(len(key) + _MARK for key in line)
    whole = {key: item for key, item in line.items() if key in IDENTITY}
    room -= sum(_entry_size(key, item, sizes) for key, item in whole.items())
    cut = _cut_fields([(key, item) for key, item in line.items() if key not in IDENTITY], room, sizes)
    return {key: whole[key] if key in whole else cut[key] for key in line if key in whole or key in cut}


def _measure(value: Any, sizes: dict[int, int]) -> int:
    """The size of a value; those of lists and objects are kept by identity (they stay alive in the line)."""
    if isinstance(value, int) and -WORD < value < WORD:  # also True and False
        return len(repr(value))
    if isinstance(value, str) and value.isascii() and value.isprintable() and not ('"' in value or "\\" in value):
        return 2 + len(value)
    if not isinstance(value, (list, dict)):
        return json_size(value)
    known = sizes.get(id(value))
    if known is None:
        parts: Iterable[Any] = value if isinstance(value, list) else value.values()
        known = 2 + sum(_measure(item, sizes) + 1 for item in parts)
        if isinstance(value, dict):
            known += sum(json_size(key) + 1 for key in value)
        sizes[id(value)] = known
    return known


def _entry_size(key: str, item: Any, sizes: dict[int, int]) -> int:
    return json_size(key) + 2 + _measure(item, sizes)


def _cut(value: Any, room: int, sizes: dict[int, int]) -> Any:
    if _measure(value, sizes) <= room:
        return value
    if isinstance(value, list):
        return _cut_list(value, room - 2, sizes) if room > LEAST_ENTRY else GONE
    if isinstance(value, dict):
        return _cut_fields(list(value.items()), room - 2, sizes) if room > LEAST_ENTRY else GONE
    return _cut_text(value, room) if isinstance(value, str) else GONE


def _cut_text(text: str, room: int) -> Any:
    text = text[: max(room, 0)]
    while text and json_size(text) > room:
        text = text[: len(text) // 2]
    return text or GONE


def _cut_list(items: list[Any], room: int, sizes: dict[int, int]) -> list[Any]:
    """The entries from the first on. One that does not fit into half of what is left is cut to that half; a short one
    ends the list."""
    kept: list[Any] = []
    for number, item in enumerate(items):
        share = room if number == len(items) - 1 else room // 2
        part = item if _measure(item, sizes) < share else GONE
        if part is GONE and (isinstance(item, (list, dict)) or number == 0):
            part = _cut(item, share - 1, sizes)
        if part is GONE:
            break
        kept.append(part)
        room -= _measure(part, sizes) + 1
    return kept


def _cut_fields(fields: list[tuple[str, Any]], room: int, sizes: dict[int, int]) -> Json:
    """Small fields stay whole; the large ones share what is left."""
    fields = fields[: max(room, 0) // LEAST_ENTRY]
    kept: Json = {}
    left = len(fields)
    for key, item in sorted(fields, key=lambda field: _entry_size(field[0], field[1], sizes)):
        name = json_size(key) + 2
        part = _cut(item, room // left - name, sizes)
        left -= 1
        if part is not GONE:
            kept[key] = part
            room -= name + _measure(part, sizes)
    return {key: kept[key] for key, _ in fields if key in kept}
