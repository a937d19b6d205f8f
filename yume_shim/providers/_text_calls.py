"""Calls written as text, found in a model's answer while it streams."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.providers.pipeline import Decoding
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.models import Request


class TextCalls:
    """Stands before a decoder and turns its text into text and calls."""

    def __init__(self, decoder: Decoding, request: Request, new_id: Callable[[], str]) -> None:
        self._decoder = decoder

    def feed(self, frame: Json) -> list[ModelEvent]:
        return self._decoder.feed(frame)

    def finish(self) -> list[ModelEvent]:
        return self._decoder.finish()
