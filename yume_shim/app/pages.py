"""Answers that come in pages: as many items as fit into one line."""

from __future__ import annotations

from yume_shim.text.codec import dumps
from yume_shim.types.errors import BadLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from yume_shim.types.blocks import Json
    from yume_shim.types.settings import Settings

PAGE_BYTES = 60_000
"""Bytes of the items of a page: the line has room for 98,304."""
OVERHEAD = 1_000
"""Bytes that the rest of the line may take, where a lower limit is set."""


def page(items: Iterable[Json], offset: int, limit: int, settings: Settings) -> tuple[list[Json], int | None]:
    """The items from `offset` on, at most `limit` and as many as fit (at least one); and the offset of the next page,
    None if there is none."""
    room = PAGE_BYTES
    if settings.host.max_line_bytes:
        room = min(room, max(settings.host.max_line_bytes - OVERHEAD, 0))
    found: list[Json] = []
    used = 0
    for place, item in enumerate(items):
        if place < offset:
            continue
        used += len(dumps(item)) + 1
        if len(found) >= limit or (found and used > room):
            return found, place
        found.append(item)
    return found, None


def whole(body: Json, field: str, default: int, *, least: int, most: int) -> int:
    """A whole number of a request. Raises BadLine."""
    given = body.get(field)
    if given is None:
        return default
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
        raise BadLine(f"{field} must be a whole number from {least} to {most}", code="invalid_value")
    return given
