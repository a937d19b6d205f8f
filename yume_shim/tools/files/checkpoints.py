"""File checkpoints: backups of files before the file tools change them, prompt by prompt, so that they can be rewound.

A backup is made before the first change of a file after each prompt. A list beside the backups has one line for each,
so that a resumed session can rewind too. Changes made by shell commands are not tracked. What cannot be kept (a full
disk) stops no change: it is said once, and that file is not rewound.
"""

from __future__ import annotations

import os
import threading

from yume_shim.disk.bounded import read_handle
from yume_shim.disk.exact import NO_WAIT, open_exact
from yume_shim.disk.resolve import resolve
from yume_shim.text import codec
from yume_shim.types.errors import ToolFailed
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.blocks import Json

LIST_NAME = "checkpoints.jsonl"
MAX_FILE_BYTES = 10 * 1024 * 1024
"""Larger files are not kept, and so not rewound."""
MAX_BACKUPS = 10_000
UNKNOWN = "No file checkpoint found for message {0}."


class Backup(Value):
    """A file as it was before a prompt changed it. `kept` is "" if it was not there, None if there is no backup: it was
    too large, or the disk was full."""

    prompt: str
    path: str
    kept: str | None


class Checkpoints:
    """One per session. `write` puts a file back (the file tools' own safe way of writing)."""

    def __init__(self, folder: str, write: Callable[[str, bytes], None], log: Callable[[str, str], None]) -> None:
        self._folder = resolve(os.path.abspath(folder)).real
        self._write = write
        self._log = log
        self._warned = False
        self._lock = threading.Lock()
        self._prompt = ""
        self._prompts: list[str] = []
        self._backups: list[Backup] = []
        self._load()

    def begin(self, prompt: str) -> None:
        """The prompt with this uuid begins: changes from here on belong to it."""
        with self._lock:
            self._prompt = prompt
            self._prompts.append(prompt)
            self._note({"prompt": prompt})

    def keep(self, path: str) -> None:
        """Called before a file is changed."""
        with self._lock:
            known = any(backup.prompt == self._prompt and backup.path == path for backup in reversed(self._backups))
            if not self._prompt or known or len(self._backups) >= MAX_BACKUPS:
                return
            backup = Backup(self._prompt, path, self._copy(path))
            self._backups.append(backup)
            self._note({"prompt": backup.prompt, "path": path, "kept": backup.kept})

    def rewind(self, prompt: str, *, dry_run: bool) -> Json:
        """Put every file back to what it was before this prompt. Raises ToolFailed if the prompt is not known."""
        with self._lock:
            if prompt not in self._prompts:
                raise ToolFailed(UNKNOWN.format(prompt))
            later = set(self._prompts[self._prompts.index(prompt) :])
            first: dict[str, Backup] = {}
            for backup in self._backups:
                if backup.prompt in later and backup.kept is not None:
                    first.setdefault(backup.path, backup)
            changed, insertions, deletions, links = [], 0, 0, []
            for path, backup in first.items():
                if resolve(path).real != path:
                    links.append(path)  # a link that was made since, here or above, is left alone
                    continue
                old, now = self._content(backup), _read(path)
                if old == now:
                    continue
                more, less = _lines_changed(now or b"", old or b"")
                insertions, deletions = insertions + more, deletions + less
                changed.append(path)
                if not dry_run:
                    self._put_back(path, old)
        answer: Json = {"canRewind": True, "filesChanged": changed, "insertions": insertions, "deletions": deletions}
        return answer | {"skippedLinks": links} if links else answer

    # ------------------------------------------------------------ files

    def _copy(self, path: str) -> str | None:
        data = _read(path)
        if data is None:
            return ""
        if len(data) > MAX_FILE_BYTES:
            return None
        name = f"{len(self._backups):06d}.bak"
        kept = os.path.join(self._folder, name)
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            handle = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
        except OSError as error:
            self._warn(error)
            try:
                os.unlink(kept)
            except OSError:
                pass  # it was not created, or half of it stays: nothing refers to it
            return None
        return name

    def _warn(self, error: OSError) -> None:
        if not self._warned:
            self._warned = True
            self._log("warning", f"not every file of this session can be rewound: {self._folder}: {error.strerror}")

    def _content(self, backup: Backup) -> bytes | None:
        return _read(os.path.join(self._folder, backup.kept)) if backup.kept else None

    def _put_back(self, path: str, old: bytes | None) -> None:
        if old is not None:
            self._write(path, old)
            return
        from yume_shim.tools.files.atomic_write import remove_file

        try:
            remove_file(path)
        except FileNotFoundError:
            pass  # it is gone already

    def _note(self, line: Json) -> None:
        data = codec.dumps(line) + b"\n"
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
            handle = os.open(os.path.join(self._folder, LIST_NAME), flags, 0o600)
            with os.fdopen(handle, "r+b", buffering=0) as file:
                size = file.seek(0, os.SEEK_END)
                if size:  # a killed process, or a full disk, may have left half a line
                    file.seek(size - 1)
                    data = data if file.read(1) == b"\n" else b"\n" + data
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
        except OSError as error:
            self._warn(error)

    def _load(self) -> None:
        for raw in (_read(os.path.join(self._folder, LIST_NAME)) or b"").splitlines():
            try:
                line = codec.loads(raw)
                if "path" in line:
                    self._backups.append(Backup(line["prompt"], line["path"], line["kept"]))
                else:
                    self._prompts.append(line["prompt"])
            except (ValueError, KeyError, TypeError):
                continue  # a torn line of a killed run


def _read(path: str) -> bytes | None:
    """The file at a resolved path; None if there is none."""
    try:
        handle = open_exact(path, os.O_RDONLY | NO_WAIT)
    except OSError:
        return None
    try:
        return read_handle(handle, MAX_FILE_BYTES + 1)
    except OSError:
        return None
    finally:
        os.close(handle)


def _lines_changed(now: bytes, then: bytes) -> tuple[int, int]:
    """(lines added, lines taken away) on the way from `now` to `then`."""
    import difflib

    before, after = now.splitlines(), then.splitlines()
    more = less = 0
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            less, more = less + b - a, more + d - c
    return more, less
