"""Finds and lists sessions. Reads only the start and the end of each file, however long it is.

Subagents' transcripts are not sessions: they are in a folder below the project's, which is not searched, and their
lines are marked as a side chain.
"""

from __future__ import annotations

import os

from yume_shim.disk.bounded import open_regular
from yume_shim.store.layout import project_key
from yume_shim.text.codec import loads, loads_object
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LOOK_BYTES = 65_536
"""Bytes read at each end of a file, as many as the Agent SDKs read."""
MAX_SHOWN = 200
"""Characters of a prompt that a list shows."""
_TITLES = (("customTitle", b'"customTitle"'), ("aiTitle", b'"aiTitle"'), ("summary", b'"summary"'))
_LAST_PROMPT = b'"lastPrompt"'


class Listed(Value):
    """One session of a list. `modified` is in seconds; `created` is the timestamp text of the first line."""

    session_id: str
    path: str
    modified: float
    size: int
    cwd: str = ""
    title: str = ""
    first_prompt: str = ""
    last_prompt: str = ""
    created: str = ""
    git_branch: str = ""

    @property
    def shown(self) -> str:
        """The title for people."""
        return self.title or self.first_prompt or self.last_prompt


def find(projects: str, session_id: str, cwd: str = "") -> str:
    """The path of a session's transcript; "" if there is none. Searches the project of `cwd` first."""
    name = f"{session_id}.jsonl"
    if os.path.basename(name) != name or session_id in ("", ".", ".."):
        return ""  # an id must not be a path
    here = project_key(os.path.realpath(cwd)) if cwd else ""
    for folder in (here, *_folders(projects)):
        path = os.path.join(projects, folder, name)
        if folder and os.path.isfile(path):
            return path
    return ""


def of_folder(projects: str, session_id: str, cwd: str) -> Listed | None:
    """A session of one folder, and of no other; None if there is none."""
    name, real = f"{session_id}.jsonl", os.path.realpath(cwd)
    if os.path.basename(name) != name or "\0" in name or session_id in ("", ".", ".."):
        return None  # an id must not be a path
    listed = look(os.path.join(projects, project_key(real), name))
    return listed if listed is not None and _is_of(listed, real) else None


def newest(projects: str, cwd: str) -> str:
    """The session of a folder that was written last; "" if there is none."""
    real = os.path.realpath(cwd)
    for path, _, _ in _files(projects, project_key(real)):
        listed = look(path)
        if listed is not None and _is_of(listed, real):
            return path
    return ""


def by_title(projects: str, title: str, cwd: str) -> list[str]:
    """The sessions of a folder that have this title, newest first."""
    folded = title.strip().casefold()
    found = listing(projects, cwd)
    return [listed.path for listed in found if listed.title.strip().casefold() == folded] if folded else []


def listing(projects: str, cwd: str = "") -> list[Listed]:
    """All sessions, or those of one folder; newest first."""
    real = os.path.realpath(cwd) if cwd else ""
    folders = [project_key(real)] if real else _folders(projects)
    files = [entry for folder in folders for entry in _files(projects, folder)]
    files.sort(key=lambda entry: entry[1], reverse=True)
    found = [listed for path, _, _ in files if (listed := look(path)) is not None]
    return [listed for listed in found if _is_of(listed, real)] if real else found


def recent(projects: str, count: int, cwd: str = "") -> list[tuple[str, float, int]]:
    """(path, time, size) of the files that were written last, without looking into them."""
    folders = [project_key(os.path.realpath(cwd))] if cwd else _folders(projects)
    files = [entry for folder in folders for entry in _scan(os.path.join(projects, folder))]
    files.sort(key=lambda entry: entry[1], reverse=True)
    return files[:count]


def _is_of(listed: Listed, folder: str) -> bool:
    """Does the session belong to this folder? `a/b-c`, `a/b/c` and `a.b.c` have the same project name: the folder that
    the file itself names decides."""
    return not listed.cwd or os.path.realpath(listed.cwd) == folder


def look(path: str) -> Listed | None:
    """The facts about one file that a list shows; None if it holds no conversation, or a subagent's."""
    try:
        with open(open_regular(path), "rb") as file:
            status = os.fstat(file.fileno())
            head = file.read(LOOK_BYTES)
            tail = head
            if status.st_size > LOOK_BYTES:
                file.seek(max(status.st_size - LOOK_BYTES, 0))
                tail = file.read(LOOK_BYTES)
    except OSError:
        return None
    facts = _facts_of_head(head)
    if facts is None:
        return None
    facts |= _facts_of_tail(tail)
    title = next((facts[key] for key, _ in _TITLES if facts.get(key)), "")
    return Listed(
        session_id=os.path.basename(path).removesuffix(".jsonl"),
        path=path,
        modified=status.st_mtime,
        size=status.st_size,
        cwd=facts.get("cwd", ""),
        title=title,
        first_prompt=facts.get("prompt", ""),
        last_prompt=facts.get("lastPrompt", ""),
        created=facts.get("timestamp", ""),
        git_branch=facts.get("gitBranch", ""),
    )


def _facts_of_head(head: bytes) -> dict[str, str] | None:
    facts: dict[str, str] = {}
    has_messages = False
    for raw in head.split(b"\n"):
        # A first prompt with an image is longer than what was read: then only the start of the line is known.
        line = loads_object(raw) or _parsed_beginning(raw)
        if line.get("isSidechain"):
            return None
        if line.get("type") not in ("user", "assistant"):
            continue
        has_messages = True
        for key in ("cwd", "timestamp", "gitBranch"):
            if isinstance(line.get(key), str):
                facts.setdefault(key, line[key])
        if line["type"] == "user" and not line.get("isMeta") and not line.get("isCompactSummary"):
            prompt = _prompt_text(line)
            if prompt:
                facts["prompt"] = prompt[:MAX_SHOWN]
                break
    return facts if has_messages else None


def _facts_of_tail(tail: bytes) -> dict[str, str]:
    facts: dict[str, str] = {}
    for raw in tail.split(b"\n"):
        if _LAST_PROMPT in raw or any(mark in raw for _, mark in _TITLES):
            line = loads_object(raw) or {}
            for key in ("customTitle", "aiTitle", "summary", "lastPrompt"):
                if line.get("type") not in ("user", "assistant") and isinstance(line.get(key), str):
                    facts[key] = line[key]
    return facts


def _parsed_beginning(raw: bytes) -> dict[str, Any]:
    """The simple fields at the start of a line that is cut off."""
    import re

    if len(raw) < LOOK_BYTES // 2 or not raw.startswith(b"{"):
        return {}
    found: dict[str, Any] = {}
    for key in ("type", "cwd", "timestamp", "gitBranch"):
        match = re.search(rb'"%s":("(?:[^"\\]|\\.)*")' % key.encode(), raw)
        if match is not None:
            found[key] = loads(match[1])
    text = re.search(rb'"text":("(?:[^"\\]|\\.)*")', raw)
    if text is not None:
        found["message"] = {"content": loads(text[1])}
    return found


def _prompt_text(line: dict[str, Any]) -> str:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else ""
    if isinstance(content, str):
        return content.strip()
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
            return str(block["text"]).strip()
    return ""


def _folders(projects: str) -> list[str]:
    try:
        with os.scandir(projects) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())
    except OSError:
        return []


def _files(projects: str, folder: str) -> list[tuple[str, float, int]]:
    """(path, time, size) of the transcripts in one project, newest first."""
    found = list(_scan(os.path.join(projects, folder)))
    found.sort(key=lambda entry: entry[1], reverse=True)
    return found


def _scan(folder: str) -> Iterator[tuple[str, float, int]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".jsonl") and entry.is_file():
                    status = entry.stat()
                    yield entry.path, status.st_mtime, status.st_size
    except OSError:
        return
