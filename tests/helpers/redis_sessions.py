"""The Agent SDK's session store over Redis: what a host writes whose workers are on many machines.

Per transcript a list of JSON lines; per session a set of its subagents' transcripts; per project a sorted set of its
sessions by the time of the last write (on the server's clock, the same for all machines) and a hash of their summaries.
Nothing is merged by uuid, so that an entry which is mirrored twice is seen twice.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from claude_agent_sdk import SessionStore, fold_session_summary

if TYPE_CHECKING:
    from claude_agent_sdk import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
    )

    from tests.helpers.redis_server import Redis


class RedisSessions(SessionStore):
    """Sessions under a prefix of the keys."""

    def __init__(self, redis: Redis, prefix: str = "sessions") -> None:
        self._redis = redis
        self._prefix = prefix

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        if not entries:
            return
        project, session, part = key["project_key"], key["session_id"], key.get("subpath")
        write: list[tuple[str | bytes | int, ...]] = [
            ("RPUSH", self._lines(project, session, part), *(json.dumps(entry) for entry in entries))
        ]
        if part is None:
            seconds, micros = map(int, self._redis("TIME"))
            now = seconds * 1000 + micros // 1000
            before = self._redis("HGET", self._summaries(project), session)
            summary = fold_session_summary(None if before is None else json.loads(before), key, entries)
            summary["mtime"] = now
            write.append(("ZADD", self._sessions(project), now, session))
            write.append(("HSET", self._summaries(project), session, json.dumps(summary)))
        else:
            write.append(("SADD", self._parts(project, session), part))
        self._redis.together(*write)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        where = self._lines(key["project_key"], key["session_id"], key.get("subpath"))
        return [json.loads(line) for line in self._redis("LRANGE", where, 0, -1)] or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        found = self._redis("ZRANGE", self._sessions(project_key), 0, -1, "WITHSCORES")
        pairs = zip(found[::2], found[1::2], strict=True)
        return [{"session_id": session.decode(), "mtime": int(float(written))} for session, written in pairs]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        return [json.loads(summary) for summary in self._redis("HVALS", self._summaries(project_key))]

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        return self._parts_of(key["project_key"], key["session_id"])

    async def delete(self, key: SessionKey) -> None:
        project, session, part = key["project_key"], key["session_id"], key.get("subpath")
        parts = self._parts(project, session)
        if part is not None:
            self._redis.together(("DEL", self._lines(project, session, part)), ("SREM", parts, part))
            return
        lines = [self._lines(project, session, found) for found in (None, *self._parts_of(project, session))]
        self._redis.together(
            ("DEL", parts, *lines),
            ("ZREM", self._sessions(project), session),
            ("HDEL", self._summaries(project), session),
        )

    def _parts_of(self, project: str, session: str) -> list[str]:
        return sorted(part.decode() for part in self._redis("SMEMBERS", self._parts(project, session)))

    def _lines(self, project: str, session: str, part: str | None) -> str:
        return f"{self._prefix}:lines:{project}/{session}" + (f"/{part}" if part else "")

    def _parts(self, project: str, session: str) -> str:
        return f"{self._prefix}:parts:{project}/{session}"

    def _sessions(self, project: str) -> str:
        return f"{self._prefix}:by-time:{project}"

    def _summaries(self, project: str) -> str:
        return f"{self._prefix}:summaries:{project}"
