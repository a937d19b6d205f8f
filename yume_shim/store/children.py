"""Transcripts of subagents, where the Claude CLI writes them and the Agent SDKs read them.

    <project>/<session id>.jsonl                                 the session
    <project>/<session id>/subagents/agent-<agent id>.jsonl      one file per subagent
    <project>/<session id>/subagents/agent-<agent id>.meta.json  which call started it

A subagent's file is a chain of its own with the session's id. The session's lock covers these files too.
"""

from __future__ import annotations

import os
import re

from yume_shim.disk.bounded import open_regular
from yume_shim.store.jsonl import JsonlStore
from yume_shim.store.layout import FILE_MODE
from yume_shim.text.codec import dumps, loads
from yume_shim.types.children import StoredChild

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.child import Child
    from yume_shim.types.events import SessionInfo

MAX_METADATA = 65_536
MAX_CHILDREN = 2_000
"""Subagents of one session that are listed."""
_AGENT_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def child_path(transcript: str, agent_id: str) -> str:
    """The transcript of a subagent of the session whose transcript is given."""
    if not agent_id.replace("-", "").replace("_", "").isalnum():
        raise ValueError(f"not an agent id: {agent_id!r}")
    return os.path.join(transcript.removesuffix(".jsonl"), "subagents", f"agent-{agent_id}.jsonl")


def open_child_transcript(session: JsonlStore, child: Child, info: SessionInfo | None = None) -> ChildTranscript:
    """A store for one subagent of the session that `session` records. Feed it any events: it records those of the
    subagent. The file appears with the first of them. `info` describes the subagent where it differs from the session
    (model, permission mode)."""
    return ChildTranscript(session, child, info)


def load_child(transcript: str, agent_id: str) -> StoredChild | None:
    """The subagent of this id of the session whose transcript is given; None if there is none. Raises StoreFailed."""
    if not _AGENT_ID.fullmatch(agent_id):
        return None
    path = child_path(transcript, agent_id)
    meta = _read_metadata(path.removesuffix(".jsonl") + ".meta.json")
    if meta is None:
        return None
    from yume_shim.store.load import load

    stored = load(path, child=True)
    if stored is None or stored.leaf is None:
        return None
    kind, description, call_id = (str(meta.get(name) or "") for name in ("agentType", "description", "toolUseId"))
    return StoredChild(kind, description, call_id, stored.history, stored.leaf)


def child_files(transcript: str) -> list[tuple[str, Json, str]]:
    """(agent id, metadata, path) of the subagents' transcripts of a session, oldest first; {} where there is none."""
    folder = os.path.join(transcript.removesuffix(".jsonl"), "subagents")
    found: list[tuple[float, str, Json, str]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name.removeprefix("agent-").removesuffix(".jsonl")
                if entry.name == f"agent-{name}.jsonl" and _AGENT_ID.fullmatch(name) and entry.is_file():
                    meta = _read_metadata(entry.path.removesuffix(".jsonl") + ".meta.json") or {}
                    found.append((entry.stat().st_mtime, name, meta, entry.path))
    except OSError:
        return []
    found.sort(key=lambda each: each[:2])
    return [(name, meta, path) for _, name, meta, path in found[:MAX_CHILDREN]]


def _read_metadata(path: str) -> Json | None:
    try:
        with open(open_regular(path), "rb") as file:
            meta = loads(file.read(MAX_METADATA))
    except (OSError, ValueError):
        return None
    return meta if isinstance(meta, dict) else None


class ChildTranscript(JsonlStore):
    """Writes the events of one subagent. Shares the session's log, warnings and mirror."""

    def __init__(self, session: JsonlStore, child: Child, info: SessionInfo | None) -> None:
        super().__init__(
            child_path(session.path, child.agent_id),
            session.log,
            session.entries.for_child(child, info),
            locks=False,
            warn_host=session.warn_host,
            mirror=session.mirror,
        )
        self._child = child

    def close(self) -> None:
        """Close the file. A subagent may end without an event that flushes the mirror."""
        self._flush_mirror()
        super().close()

    def _open(self, at: float) -> int:
        fd = super()._open(at)
        meta = _metadata(self._child)
        path = self.path.removesuffix(".jsonl") + ".meta.json"
        try:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE), "wb") as file:
                file.write(dumps(meta))
            if self.mirror is not None:  # mirrors get the metadata as an entry, because they have no files
                self.mirror(self.path, (meta | {"type": "agent_metadata"},))
        except BaseException:
            os.close(fd)
            raise
        return fd


def _metadata(child: Child) -> Json:
    fields = {
        "agentType": child.agent_type,
        "description": child.description,
        "toolUseId": child.call_id,
        "parentAgentId": child.parent_agent_id,
    }
    return {name: text for name, text in fields.items() if text}
