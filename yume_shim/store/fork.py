"""Copies the history of one session to the start of another (a fork): the same lines with new ids, in one straight
chain."""

from __future__ import annotations

from yume_shim.disk.bounded import open_regular
from yume_shim.store.cost_state import cost_state_line
from yume_shim.store.transcript_reader import READ_BYTES, lines_of
from yume_shim.text.codec import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.types.blocks import Json
    from yume_shim.types.stored_session import StoredSession


class Fork:
    """The lines of `stored`, read again from the transcript `source` when the new file is written. `leaf` is the uuid
    of the last one."""

    def __init__(self, source: str, stored: StoredSession, session_id: str, fresh_uuid: Callable[[], str]) -> None:
        self._source = source
        self._stored = stored
        self._session_id = session_id
        self._fresh_uuid = fresh_uuid
        self.leaf: str | None = fresh_uuid() if stored.chain else None

    def lines(self) -> Iterator[Json]:
        """The lines of the new file. Message ids stay the same: usage counters use them to avoid counting an answer
        twice."""
        stored, left = self._stored, set(self._stored.chain)
        names: dict[str, str] = {}
        parent: str | None = None
        with open(open_regular(self._source), "rb", buffering=READ_BYTES) as file:
            for raw in lines_of(file):
                try:
                    line = loads(raw)
                except ValueError:
                    continue
                old = line.get("uuid") if isinstance(line, dict) else None
                if not isinstance(old, str) or old not in left:
                    continue
                left.discard(old)
                names[old] = uuid = self._fresh_uuid() if left else str(self.leaf)
                came_from = {"sessionId": stored.session_id, "messageUuid": old}
                line |= {"uuid": uuid, "parentUuid": parent, "sessionId": self._session_id, "forkedFrom": came_from}
                source = line.get("sourceToolAssistantUUID")
                if isinstance(source, str) and source in names:
                    line["sourceToolAssistantUUID"] = names[source]
                parent = uuid
                yield line
        if stored.used:
            total = sum(entry.cost_usd for entry in stored.used)
            yield cost_state_line(self._session_id, total, stored.used)
