"""The messages of a resumed session that are read from its transcript only when something looks into them."""

from __future__ import annotations

from collections import deque
from itertools import repeat

from yume_shim.types.blocks import Message
from yume_shim.types.errors import StoreFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.types.blocks import Json


class StoredHistory:
    """The messages of a checkpoint after the first one: legal for the model `origin`, without media, with these calls.

    `encoded` says how they were sent, `text` is most of that as JSON. `read` reads the whole history, the first message
    included; any thread may ask for it."""

    def __init__(
        self,
        count: int,
        origin: str,
        tokens: int,
        calls: tuple[tuple[str, ...], tuple[str, ...]],
        encoded: Json,
        text: bytes,
        read: Callable[[], tuple[Message, ...]],
    ) -> None:
        """`count` messages, with so many estimated tokens and the calls of these (ids, names)."""
        self.origin, self.tokens, self.encoded, self.text = origin, tokens, encoded, text
        self.call_ids, self.call_names = calls
        self._read = read
        self._messages: tuple[Message, ...] | None = None
        self.messages = _made(self, count)

    @property
    def is_read(self) -> bool:
        """Something has looked into the messages."""
        return self._messages is not None

    def message(self, place: int) -> Message:
        """The message at a place of the whole history. Raises StoreFailed."""
        if self._messages is None:
            self._messages = self._whole()  # two threads may do this at once: both read the same
        return self._messages[place]

    def _whole(self) -> tuple[Message, ...]:
        messages = self._read()
        if len(messages) != len(self.messages) + 1:
            raise StoreFailed("another program changed the transcript while its session was going on")
        return messages


if TYPE_CHECKING:

    class StoredMessage(Message):
        """A message that is read when something looks into it."""

        @property
        def stored(self) -> StoredHistory: ...

else:

    class StoredMessage:
        """A message that is read when something looks into it. A changed copy of it is an ordinary message."""

        __slots__ = ("place", "stored")
        __match_args__ = Message.__match_args__

        def __new__(cls, *args, **fields):
            """What `replace` makes is ordinary; those of this class are made in one step, by `_made`."""
            return Message(*args, **fields)

        role = property(lambda self: self.stored.message(self.place).role)
        blocks = property(lambda self: self.stored.message(self.place).blocks)
        origin = property(lambda self: self.stored.message(self.place).origin)

        def __eq__(self, other):
            if self is other:
                return True
            real = other.stored.message(other.place) if type(other) is StoredMessage else other
            return self.stored.message(self.place) == real

        def __hash__(self):
            return hash(self.stored.message(self.place))

        def __reduce__(self):
            return self.stored.message(self.place).__reduce__()


def _made(stored: StoredHistory, count: int) -> tuple[Message, ...]:
    """The messages, made without a call of Python code for each: a long session has tens of thousands."""
    fields: Any = StoredMessage.__dict__
    put_stored, put_place = fields["stored"].__set__, fields["place"].__set__
    made: tuple[Any, ...] = tuple(map(object.__new__, repeat(StoredMessage, count)))
    puts: Any = (map(put_stored, made, repeat(stored)), map(put_place, made, range(1, count + 1)))
    for put in puts:
        deque(put, 0)
    return made
