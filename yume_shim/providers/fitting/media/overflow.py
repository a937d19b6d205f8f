"""Which images and documents are left out when all of them together are too large for a request: the oldest.

Leaving one out changes the prefix that prompt caches hold, so it must not happen in every request: a quarter of the
limit is freed at a time.
"""

from __future__ import annotations

from yume_shim.providers.fitting.media.message_media import map_media
from yume_shim.types.blocks import Image, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.providers.fitting.media.fit_part import Part
    from yume_shim.types.blocks import Message

STEPS = 4
"""Media are left out in parts of limit / STEPS."""


def overflowing(weights: list[tuple[int, int]], limit: int) -> set[int]:
    """The indexes of the media that must be left out so that the others together weigh at most `limit` (0 = no limit):
    the oldest that weigh anything. `weights`: (weight, number of its message) of each.

    Media of the newest message are left out only as far as the limit demands, not up to the next step.
    """
    total = sum(weight for weight, _ in weights)
    if not limit or total <= limit:
        return set()
    step = max(1, limit // STEPS)
    excess = -(-(total - limit) // step) * step
    newest = max(number for weight, number in weights if weight)
    gone = 0
    places: set[int] = set()
    for place, (weight, number) in enumerate(weights):
        if gone >= excess or (number == newest and total - gone <= limit):
            break
        if weight:
            gone += weight
            places.add(place)
    return places


def without_parts(messages: tuple[Message, ...], omitted: set[int]) -> tuple[Message, ...]:
    """The messages with a note in place of these media, given by their indexes."""
    count = -1

    def place(part: Part) -> Part:
        nonlocal count
        if isinstance(part, Text):
            return part
        count += 1
        if count not in omitted:
            return part
        what = "An image" if isinstance(part, Image) else part.title or "A document"
        return Text(f"[{what} is left out: the request would be too large.]")

    return tuple(map_media(message, place) for message in messages)
