"""Reads standing instructions from files: the user's and the project's `CLAUDE.md`, `CLAUDE.local.md`, or a lone
`AGENTS.md`, with the files they import by `@path`. They become one note before the first prompt.

Files are read from the root down to the working directory, so that the nearest one comes last. A project's file may
import only from the project: the author of a repository must not be able to send other files (such as keys) to a model.
The user's file may import anything. Nothing here raises: a file that cannot be read is ignored.
"""

from __future__ import annotations

import os
import re
import stat

from yume_shim.types.settings import SETTING_SOURCES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FILE_BYTES = 100_000
"""Bytes read from one file."""
MAX_TOTAL_BYTES = 400_000
"""Bytes read from all files together."""
MAX_FILES = 50
MAX_IMPORT_DEPTH = 5

INTRODUCTION = (
    "These are standing instructions from the user's and the project's files. Follow them wherever they apply, "
    "even where they differ from your defaults; ignore them where they have nothing to do with the task."
)

_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]{0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:.+?)(?<!`)\1(?!`)", re.DOTALL)
_IMPORT = re.compile(r"(?:^|(?<=\s))@((?:\\ |[^\s\\])+)")
_TRAILING = ".,;:!?)]}'\"*_"
"""Punctuation that may follow a path in a sentence."""


def load_memory(cwd: str, home_config_dir: str, sources: tuple[str, ...] = SETTING_SOURCES) -> str:
    """The note for the first user message, or "". `sources` are the setting sources to read: user, project, local."""
    found = _Found()
    users = os.path.join(home_config_dir, "CLAUDE.md")
    if "user" in sources:
        found.read(users, "the user's, for all projects", inside=None)
    found.skip(users)  # below the home folder it would also be found as `.claude/CLAUDE.md` of a parent
    for folder in _from_root_to(os.path.abspath(cwd)):
        inside = _project_of(folder)
        if "project" in sources:
            for path in _project_files(folder):
                found.read(path, "the project's", inside)
        if "local" in sources:
            found.read(os.path.join(folder, "CLAUDE.local.md"), "the user's, for this project", inside)
    if not found.sections:
        return ""
    return "\n".join(["<system-reminder>", INTRODUCTION, *found.sections, "</system-reminder>"])


def _from_root_to(folder: str) -> list[str]:
    folders = [folder]
    while (parent := os.path.dirname(folders[-1])) != folders[-1]:
        folders.append(parent)
    return folders[::-1]


def _project_of(folder: str) -> str:
    """The folder that imports must stay in: the git repository around `folder`, or `folder` itself."""
    for candidate in reversed(_from_root_to(folder)):
        if os.path.exists(os.path.join(candidate, ".git")):
            return os.path.realpath(candidate)
    return os.path.realpath(folder)


def _project_files(folder: str) -> Iterator[str]:
    paths = [os.path.join(folder, "CLAUDE.md"), os.path.join(folder, ".claude", "CLAUDE.md")]
    existing = [path for path in paths if os.path.isfile(path)]
    yield from existing or [os.path.join(folder, "AGENTS.md")]


class _Found:
    """The files read so far, each once, in order."""

    def __init__(self) -> None:
        self.sections: list[str] = []
        self._seen: set[str] = set()
        self._left = MAX_TOTAL_BYTES

    def skip(self, path: str) -> None:
        """Do not read this file."""
        self._seen.add(os.path.realpath(path))

    def read(self, path: str, whose: str, inside: str | None, depth: int = 0) -> None:
        """Read a file and its imports. After resolving links, files must be in `inside`; None = anywhere."""
        real = os.path.realpath(path)
        if real in self._seen or len(self._seen) >= MAX_FILES or self._left <= 0 or not _is_in(real, inside):
            return
        text = _text_of(real, min(MAX_FILE_BYTES, self._left))
        if not text.strip():
            return
        self._seen.add(real)
        self._left -= len(text.encode("utf-8", "surrogatepass"))
        self.sections.append(f"\n{path} ({whose}):\n\n{text.strip()}")
        if depth == MAX_IMPORT_DEPTH:
            return
        for target in _imports(text, os.path.dirname(path)):
            self.read(target, f"{whose}; imported by {os.path.basename(path)}", inside, depth + 1)


def _is_in(real: str, folder: str | None) -> bool:
    return folder is None or real == folder or real.startswith(folder.rstrip(os.sep) + os.sep)


def _text_of(path: str, limit: int) -> str:
    """The start of a text file; "" for anything else (a device or a pipe could block for ever)."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return ""
        with open(path, "rb") as file:
            data = file.read(limit + 1)
    except (OSError, ValueError):
        return ""
    if b"\0" in data:
        return ""
    text = data[:limit].decode("utf-8-sig", "replace")
    return text if len(data) <= limit else f"{text}\n[cut: the file is longer than {limit} bytes]"


def _imports(text: str, folder: str) -> Iterator[str]:
    """The files that `@path` names outside of code. A word that names no file is ignored."""
    prose = _SPAN.sub(" ", _FENCE.sub("\n", text))
    for match in _IMPORT.finditer(prose):
        name = match[1].replace("\\ ", " ")
        for candidate in (name, name.rstrip(_TRAILING)):
            path = os.path.normpath(os.path.join(folder, os.path.expanduser(candidate)))
            if candidate and os.path.isfile(path):
                yield path
                break
