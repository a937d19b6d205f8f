"""Follows one transcript: whenever the file has changed, reads again from the start of its last turn, and says which
items are new or different."""

from __future__ import annotations

import hashlib
import os

from yume_shim.disk.bounded import open_regular, read_handle
from yume_shim.pages.cleaning import Cleaner
from yume_shim.pages.html.items import contents_entry, item, turn_head
from yume_shim.pages.readers.messages import starts_turn
from yume_shim.pages.readers.transcript import AgentLines, read_transcript
from yume_shim.store.children import child_files
from yume_shim.text.codec import loads_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.pages.document import Document, Turn
    from yume_shim.types.blocks import Json

MAX_READ = 8 << 20
"""Bytes of a transcript that are read at once."""
FIRST_READ = MAX_READ // 2
"""Bytes that a new page shows: an older part of a long session is not shown live. When a turn reaches `MAX_READ`, the
page is loaded again."""
RELOAD: Json = {"reload": True}
MAX_AGENTS = 20
MAX_AGENT_READ = 1 << 20
MAX_KNOWN = 20_000
"""Items whose state is remembered."""


class Follower:
    """One reader of one file. `offset` is where turn `number` begins in it."""

    def __init__(self, path: str, secrets: Sequence[str], offset: int = 0, number: int = 1) -> None:
        self._path, self._secrets = path, secrets
        self.offset, self.number = offset, number
        self._stamp: tuple[float, int, int] | None = None
        self._file: tuple[int, int] | None = None
        """Which file it was: a transcript may be replaced by another one."""
        self._known: dict[str, bytes] = {}
        self.cut = False
        """An older part of the session is not shown."""

    def document(self) -> Document:
        """The newest part of the session, for a whole page. Raises OSError."""
        size = os.stat(self._path).st_size
        self.offset, self.number = max(size - FIRST_READ, 0), 1
        self.cut = self.offset > 0
        return self._read(skip_part=self.cut)

    def changes(self) -> Json | None:
        """What has changed since the last call; None if nothing has; `RELOAD` if the page cannot be brought up to date.
        Raises OSError when the file has gone."""
        status = os.stat(self._path)
        file, known = (status.st_dev, status.st_ino), self._file
        self._file = file
        if known not in (None, file) or not 0 <= status.st_size - self.offset <= MAX_READ:
            return RELOAD
        agents = child_files(self._path)[-MAX_AGENTS:]
        stamp = (status.st_mtime, status.st_size, max((_changed_at(path) for _, _, path in agents), default=0))
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        before = self.offset
        document = self._read(skip_part=False)
        made: list[Json] = []
        for turn in document.turns:
            made += self._changed(turn)
        if len(self._known) > MAX_KNOWN:
            self._known.clear()
        return {"parts": made, "grown": self.offset > before} if made else None

    def _changed(self, turn: Turn) -> list[Json]:
        items = ((turn.prompt,) if turn.prompt is not None and turn.prompt.parts else ()) + turn.items
        head = turn_head(turn)
        found: list[Json] = []
        if self._is_new(f"{turn.id}-h", head):
            found.append({"turn": turn.id, "head": head, "entry": contents_entry(turn)})
        for each in items:
            text = item(each)
            if self._is_new(each.id, text):
                found.append({"turn": turn.id, "item": each.id, "html": text})
        return found

    def _is_new(self, name: str, text: str) -> bool:
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
        if self._known.get(name) == digest:
            return False
        self._known[name] = digest
        return True

    def _read(self, *, skip_part: bool) -> Document:
        handle = open_regular(self._path)
        try:
            os.lseek(handle, self.offset, os.SEEK_SET)
            data = read_handle(handle, MAX_READ)
        finally:
            os.close(handle)
        start = data.find(b"\n") + 1 if skip_part else 0
        end = data.rfind(b"\n") + 1  # the last line may still be written
        lines = data[start:end].split(b"\n")
        number, place = self.number, self.offset + start
        last: tuple[int, int] | None = None
        for raw in lines:
            if b'"type":"user"' in raw and starts_turn(loads_object(raw) or {}):
                last = (place, number)
                number += 1
            place += len(raw) + 1
        document = read_transcript(
            (line for line in lines if line),
            Cleaner(self._secrets),
            session_id=os.path.basename(self._path).removesuffix(".jsonl"),
            agents=self._agents(),
            first_turn=self.number,
            whole=False,
        )
        if last is not None:
            self.offset, self.number = last
        return document

    def _agents(self) -> list[AgentLines]:
        found = []
        for name, meta, path in child_files(self._path)[-MAX_AGENTS:]:
            call, kind, said = (str(meta.get(key) or "") for key in ("toolUseId", "agentType", "description"))
            try:
                handle = open_regular(path)
            except OSError:
                continue
            try:
                data = read_handle(handle, MAX_AGENT_READ)
            finally:
                os.close(handle)
            found.append(AgentLines(name, call, kind, said, data[: data.rfind(b"\n") + 1].splitlines()))
        return found


def _changed_at(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:  # deleted since its folder was read
        return 0
