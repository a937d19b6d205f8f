"""The sessions that the live page offers: those written last, by a name that is no path."""

from __future__ import annotations

import hashlib
import time

from yume_shim.disk.bounded import read_start
from yume_shim.pages.cleaning import Cleaner
from yume_shim.pages.html.index_page import IndexEntry
from yume_shim.store.index import look, recent
from yume_shim.system.processes import process_exists
from yume_shim.text.codec import loads_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.store.index import Listed

MAX_SESSIONS = 50
ACTIVE_SECONDS = 60
"""A session without a lock is called active for so long after its last line."""
MAX_LOCK = 4_096


class SessionList:
    """The newest sessions. Several threads may ask: each answer comes from the disk, the cache only saves work."""

    def __init__(self, projects: str, folder: str, secrets: Sequence[str] = ()) -> None:
        self._projects, self._folder = projects, folder
        self._cleaner = Cleaner(secrets)
        self._seen: dict[tuple[str, float, int], Listed | None] = {}

    def entries(self) -> list[IndexEntry]:
        """The rows, newest first."""
        return [_entry(listed, self._cleaner.line) for listed in self._listed()]

    def path_of(self, key: str) -> str:
        """The transcript with this key; "" if none of the list has it."""
        return next((listed.path for listed in self._listed() if key_of(listed.path) == key), "")

    def _listed(self) -> list[Listed]:
        found: dict[tuple[str, float, int], Listed | None] = {}
        for stamp in recent(self._projects, MAX_SESSIONS, self._folder):
            found[stamp] = self._seen[stamp] if stamp in self._seen else look(stamp[0])
        self._seen = found
        return [listed for listed in found.values() if listed is not None]


def key_of(path: str) -> str:
    """The name of a transcript in addresses."""
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:20]


def _entry(listed: Listed, line: Callable[[str], str]) -> IndexEntry:
    return IndexEntry(
        title=line(listed.shown),
        session_id=line(listed.session_id),
        folder=line(listed.cwd),
        modified=listed.modified,
        size=listed.size,
        first_prompt=line(listed.first_prompt),
        branch=line(listed.git_branch),
        state=_state(listed),
        link=f"s/{key_of(listed.path)}/",
    )


def _state(listed: Listed) -> str:
    """`running` if a process of ours holds the session, `active` if somebody wrote it just now."""
    try:
        owner = loads_object(read_start(listed.path.removesuffix(".jsonl") + ".lock", MAX_LOCK))
    except OSError:
        owner = None
    if owner is not None and _is_alive(owner.get("pid")):
        return "running"
    return "active" if time.time() - listed.modified < ACTIVE_SECONDS else ""


def _is_alive(pid: object) -> bool:
    if not isinstance(pid, int) or pid <= 0:
        return False
    return process_exists(pid)
