"""The history of one session as the beginning of another: the same lines under new ids, in one straight chain."""

from __future__ import annotations

from yume_shim.store.cost_state import state_line
from yume_shim.store.load import READ_BYTES, lines_of
from yume_shim.text.codec import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.types.blocks import Json
    from yume_shim.types.stored_session import StoredSession


class Fork:
    """The lines of `past`, read from `source` again when they are needed. `leaf` is the uuid of the last of them."""

    def __init__(self, source: str, past: StoredSession, session_id: str, fresh_uuid: Callable[[], str]) -> None:
        self._source = source
        self._past = past
        self._session_id = session_id
        self._fresh_uuid = fresh_uuid
        self.leaf: str | None = fresh_uuid() if past.chain else None

    def lines(self) -> Iterator[Json]:
        """Message ids stay as they are: counters know by them that an answer was counted before."""
        wanted, past = set(self._past.chain), self._past
        names: dict[str, str] = {}
        parent: str | None = None
        with open(self._source, "rb", buffering=READ_BYTES) as file:
            for raw in lines_of(file):
                try:
                    line = loads(raw)
                except ValueError:
                    continue
                old = line.get("uuid") if isinstance(line, dict) else None
                if not isinstance(old, str) or old not in wanted:
                    continue
                wanted.discard(old)
                names[old] = uuid = self._fresh_uuid() if wanted else str(self.leaf)
                came_from = {"sessionId": past.session_id, "messageUuid": old}
                line |= {"uuid": uuid, "parentUuid": parent, "sessionId": self._session_id, "forkedFrom": came_from}
                source = line.get("sourceToolAssistantUUID")
                if source in names:
                    line["sourceToolAssistantUUID"] = names[source]
                parent = uuid
                yield line
        if past.used:
            total = sum(entry.cost_usd for entry in past.used)
            yield state_line(self._session_id, total, past.used)
