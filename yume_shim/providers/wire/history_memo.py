"""Remembers how the history of a request was encoded. The next request of a turn repeats it: only what was added to it
is encoded again, so that the cost of a call does not grow with the number of calls before it."""

from __future__ import annotations

from _operator import is_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from yume_shim.types.blocks import Json, Message
    from yume_shim.types.models import Request

FROM_MESSAGES = 24
"""A shorter history is not worth remembering."""
KEPT = 2
"""Histories: that of the session, and that of the child that was asked last."""


class HistoryMemo:
    """The encoded histories of one API. Loops on several threads use it: an entry is taken out while it is used."""

    def __init__(self) -> None:
        self._entries: list[tuple[Any, tuple[Message, ...], Any, tuple[Json, ...]]] = []

    def take(self, request: Request, names: object = None) -> tuple[Any, list[Json], Sequence[Message]]:
        """(the encoder's state, items) after the messages that are known, and the messages that are left. State None:
        nothing is known. `names`: what else the encoding depends on."""
        messages = request.messages
        for place in range(len(self._entries) - 1, -1, -1):
            try:
                key, known, state, items = self._entries[place]
                fits = begins(messages, known) and key == _key(request, names)
                if fits and self._entries.pop(place)[2] is state:
                    return state, list(items), messages[len(known) :]
            except IndexError:  # another thread was faster
                pass
        return None, [], messages

    def keep(self, request: Request, names: object, state: Any, items: list[Json]) -> None:
        """Remember the items of all messages. The caller may replace items of its list, but changes none."""
        if len(request.messages) >= FROM_MESSAGES:
            self._entries.append((_key(request, names), request.messages, state, tuple(items)))
            del self._entries[:-KEPT]


def _key(request: Request, names: object) -> tuple[object, ...]:
    return request.session_id, request.model.origin, names, request.model.endpoint.quirks


def begins(messages: tuple[Message, ...], known: tuple[Message, ...]) -> bool:
    """Do the messages begin with those that are known? The same values, not equal ones (1 equals True); only the first
    is made anew for each request."""
    count = len(known)
    return len(messages) >= count and messages[0] == known[0] and all(map(is_, messages[1:count], known[1:]))
