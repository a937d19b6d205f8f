"""Remembers how the history of a request was encoded, most of it as JSON text. The next request of a turn repeats it:
only what was added to it is encoded again, so that the cost of a call does not grow with the number of calls before it.
"""

from __future__ import annotations

from _operator import is_

from yume_shim.text import codec
from yume_shim.types.blocks import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from yume_shim.types.blocks import Json, Message
    from yume_shim.types.models import Request
    from yume_shim.types.stored_history import StoredHistory

FROM_MESSAGES = 24
"""A shorter history is not worth remembering."""
KEPT = 2
"""Histories: that of the session, and that of the child that was asked last."""
LOOSE = 8
"""Items at the end of a history that are never made text: adapters join the next message to them, or mark them."""
FREEZE_FROM = 64
"""So many items besides those are made text together."""


MEMOS: dict[str, HistoryMemo] = {}
"""By API."""


class Frozen:
    """The first items of a list in a request body, as JSON text: pieces with a comma between them. It stands at the
    beginning of the list, after a system prompt. It is no JSON value: what reads a body asks for `plain_body`, and an
    encoder that does not know it fails."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: tuple[bytes, ...]) -> None:
        self.pieces = pieces

    def items(self) -> list[Json]:
        """The items as values."""
        found: list[Json] = codec.loads(b"[%b]" % b",".join(self.pieces))
        return found


class Entry:
    """One encoded history: what it depends on, its request, the encoder's state after it, and its items."""

    __slots__ = ("items", "key", "request", "state")

    def __init__(self, key: tuple[object, ...], request: Request, state: Any, items: tuple[Any, ...]) -> None:
        self.key = key
        self.request = request
        self.state = state
        self.items = items


class HistoryMemo:
    """The encoded histories of one API. Loops on several threads use it: an entry is taken out while it is used.

    `pack` makes JSON of an encoder's state, `unpack` makes a state of that for a request."""

    def __init__(self, api: str, pack: Callable[[Any], Json], unpack: Callable[[Request, Json], Any]) -> None:
        self._pack, self._unpack = pack, unpack
        self._entries: list[Entry] = []
        MEMOS[api] = self

    def take(self, request: Request, names: object = None) -> tuple[Any, list[Json], Sequence[Message]]:
        """(the encoder's state, items) after the messages that are known, and the messages that are left. State None:
        nothing is known. `names`: what else the encoding depends on. The first item may be `Frozen`."""
        messages = request.messages
        for place in range(len(self._entries) - 1, -1, -1):
            try:
                entry = self._entries[place]
                known = entry.request.messages
                fits = begins(messages, known) and entry.key == _key(request, names)
                if fits and self._entries.pop(place) is entry:
                    return entry.state, list(entry.items), messages[len(known) :]
            except IndexError:  # another thread was faster
                pass
        stored: Any = getattr(messages[1], "stored", None) if len(messages) > 1 else None
        return (stored and self._of_checkpoint(stored, request, names)) or (None, [], messages)

    def keep(self, request: Request, names: object, state: Any, items: list[Json]) -> list[Json]:
        """Remember the items of all messages, and return them as they are sent. The caller may replace items of that
        list, but changes none."""
        if len(request.messages) < FROM_MESSAGES:
            return items
        items = _freeze(items)
        self._entries.append(Entry(_key(request, names), request, state, tuple(items)))
        del self._entries[:-KEPT]
        return items

    # ------------------------------------------------------------ checkpoints

    def _of_checkpoint(self, stored: StoredHistory, request: Request, names: object) -> Any:
        """What `take` returns for a request that begins with the history of a checkpoint; None if it was made for
        another kind of request."""
        saved, messages, count = stored.encoded, request.messages, len(stored.messages) + 1
        if saved.get("key") != _key_text(_key(request, names)) or saved.get("first") != _texts(messages[0]):
            return None
        if len(messages) < count or not all(map(is_, messages[1:count], stored.messages)):
            return None
        items = [Frozen((stored.text,)), *saved["loose"]]
        return self._unpack(request, saved["state"]), items, messages[count:]

    def sent_with(self, history: tuple[Message, ...]) -> Request | None:
        """The last request that repeated this history word for word, after what may stand before its first prompt."""
        for entry in reversed(self._entries):
            known = entry.request.messages
            same = len(known) >= len(history) and all(map(is_, known[1:], history[1:]))
            if same and known[0].blocks[-len(history[0].blocks) :] == history[0].blocks:
                return entry.request
        return None

    def forget(self) -> None:
        """Forget all histories."""
        self._entries.clear()

    def packed(self) -> tuple[Json, bytes] | None:
        """The newest history for a checkpoint: what `StoredHistory` calls `encoded`, and the items that are text."""
        entry = self._entries[-1] if self._entries else None
        first = None if entry is None else _texts(entry.request.messages[0])
        if entry is None or first is None:
            return None
        frozen, *loose = _freeze(list(entry.items), 1)
        if not is_text(frozen):
            return None
        facts = {"key": _key_text(entry.key), "first": first, "state": self._pack(entry.state), "loose": loose}
        return facts, b",".join(frozen.pieces)


def _key(request: Request, names: object) -> tuple[object, ...]:
    return request.session_id, request.model.origin, names, request.model.endpoint.quirks


def _key_text(key: tuple[object, ...]) -> str:
    return repr(key)


def _texts(message: Message) -> list[str] | None:
    """The texts of a prompt; None if it has anything else."""
    texts = [block.text for block in message.blocks if type(block) is Text and not block.opaque]
    return texts if len(texts) == len(message.blocks) else None


def begins(messages: tuple[Message, ...], known: tuple[Message, ...]) -> bool:
    """Do the messages begin with those that are known? The same values, not equal ones (1 equals True); only the first
    is made anew for each request."""
    count = len(known)
    return len(messages) >= count and messages[0] == known[0] and all(map(is_, messages[1:count], known[1:]))


# ---------------------------------------------------------------- items as text


def _freeze(items: list[Any], at_least: int = FREEZE_FROM) -> list[Any]:
    """The items, all but the last ones as text if these are many."""
    known: tuple[bytes, ...] = items[0].pieces if items and type(items[0]) is Frozen else ()
    loose = items[1:] if known else items
    if len(loose) < LOOSE + at_least:
        return items
    return [Frozen((*known, codec.dumps(loose[:-LOOSE])[1:-1])), *loose[-LOOSE:]]


def is_text(item: object) -> bool:
    """Is this `Frozen`?"""
    return type(item) is Frozen


def thawed(items: list[Any]) -> list[Any]:
    """The items as values."""
    return [item for part in items for item in (part.items() if type(part) is Frozen else (part,))]


def plain_body(body: Json) -> Json:
    """The body of a request with values only."""
    return {name: thawed(part) if _is_frozen(part) else part for name, part in body.items()}


def body_text(body: Json) -> tuple[bytes, int]:
    """The body of a request as JSON, and how many of its bytes were text before."""
    if not any(map(_is_frozen, body.values())):
        return codec.dumps(body), 0
    parts: list[bytes] = []
    known = 0
    for name, part in body.items():
        parts += (b"," if parts else b"{", codec.dumps(name), b":")
        if not _is_frozen(part):
            parts.append(codec.dumps(part))
            continue
        place = 0 if type(part[0]) is Frozen else 1
        pieces = [codec.dumps(part[:place])[1:-1], *part[place].pieces, codec.dumps(part[place + 1 :])[1:-1]]
        known += sum(map(len, part[place].pieces))
        parts += (b"[", b",".join(filter(None, pieces)), b"]")
    return b"".join((*parts, b"}")), known


def _is_frozen(part: Any) -> bool:
    return type(part) is list and any(map(is_text, part[:2]))
