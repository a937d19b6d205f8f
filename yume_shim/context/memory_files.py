"""Reads standing instructions from files: the user's and the project's `CLAUDE.md`, `CLAUDE.local.md`, or a lone
`AGENTS.md`, with the files they import by `@path`. They become one note before the first prompt.

Files are read from the root down to the working directory, so that the nearest one comes last. A project's file may
import only from the project: the author of a repository must not be able to send other files (such as keys) to a model.
The user's file may import anything. Files that the user's rules hide from reading are left out, whoever imports them.
Nothing here raises: a file that cannot be read is ignored, with a warning.
"""

from __future__ import annotations

import os
import re

from yume_shim.disk.bounded import is_absent, open_regular, read_handle
from yume_shim.disk.exact import NO_WAIT, open_exact
from yume_shim.disk.resolve import resolve
from yume_shim.types.settings import SETTING_SOURCES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


def load_memory(
    cwd: str,
    home_config_dir: str,
    sources: tuple[str, ...] = SETTING_SOURCES,
    *,
    hidden: Callable[[str], bool] | None = None,
    warn: Callable[[str], None] | None = None,
) -> str:
    """The note for the first user message, or "". `sources` are the setting sources to read: user, project, local.
    `hidden` says whether a rule hides a path from reading; `warn` learns which files are ignored."""
    found = _Found(hidden or _nothing_hidden, warn or _ignore)
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
            return resolve(candidate).real
    return resolve(folder).real


def _project_files(folder: str) -> Iterator[str]:
    paths = [os.path.join(folder, "CLAUDE.md"), os.path.join(folder, ".claude", "CLAUDE.md")]
    existing = [path for path in paths if _may_be_file(path)]
    yield from existing or [os.path.join(folder, "AGENTS.md")]


class _Found:
    """The files read so far, each once, in order."""

    def __init__(self, hidden: Callable[[str], bool], warn: Callable[[str], None]) -> None:
        self._hidden, self._warn = hidden, warn
        self.sections: list[str] = []
        self._seen: set[str] = set()
        self._left = MAX_TOTAL_BYTES

    def skip(self, path: str) -> None:
        """Do not read this file."""
        self._seen.add(resolve(path).real)

    def read(self, path: str, whose: str, inside: str | None, depth: int = 0) -> None:
        """Read a file and its imports. After resolving links, files must be in `inside`; None = anywhere."""
        place = resolve(path)
        real = place.real
        if place.flaw or real in self._seen or len(self._seen) >= MAX_FILES or self._left <= 0:
            return
        if not place.exists or not _is_in(real, inside):
            return
        if self._hidden(path) or self._hidden(real):
            self._seen.add(real)
            self._warn(f"{path} is left out of the instructions: a permission rule denies reading it")
            return
        text = self._text_of(path, real, min(MAX_FILE_BYTES, self._left))
        if not text.strip():
            return
        self._seen.add(real)
        self._left -= len(text.encode("utf-8", "surrogatepass"))
        self.sections.append(f"\n{path} ({whose}):\n\n{text.strip()}")
        if depth == MAX_IMPORT_DEPTH:
            return
        for target in _imports(text, os.path.dirname(path)):
            self.read(target, f"{whose}; imported by {os.path.basename(path)}", inside, depth + 1)

    def _text_of(self, path: str, real: str, limit: int) -> str:
        """The start of a text file; "" for anything else (a device or a pipe could block for ever)."""
        try:
            data = _start_of(real, limit + 1)
        except (OSError, ValueError) as error:
            if not isinstance(error, OSError) or not is_absent(error):
                why = getattr(error, "strerror", None) or "not a path"
                self._seen.add(real)
                self._warn(f"{path} is left out of the instructions: it cannot be read ({why})")
            return ""
        if b"\0" in data:
            return ""
        text = data[:limit].decode("utf-8-sig", "replace")
        return text if len(data) <= limit else f"{text}\n[cut: the file is longer than {limit} bytes]"


def _start_of(real: str, limit: int) -> bytes:
    """Checked first, then opened without following a link: it is the file that was found to be in the project."""
    os.close(open_regular(real))
    handle = open_exact(real, os.O_RDONLY | NO_WAIT)
    try:
        return read_handle(handle, limit)
    finally:
        os.close(handle)


def _nothing_hidden(path: str) -> bool:
    return False


def _ignore(text: str) -> None:
    """No one is warned."""


def _is_in(real: str, folder: str | None) -> bool:
    return folder is None or real == folder or real.startswith(folder.rstrip(os.sep) + os.sep)


def _imports(text: str, folder: str) -> Iterator[str]:
    """The files that `@path` names outside of code. A word that names no file is ignored."""
    prose = _SPAN.sub(" ", _FENCE.sub("\n", text))
    for match in _IMPORT.finditer(prose):
        name = match[1].replace("\\ ", " ")
        for candidate in (name, name.rstrip(_TRAILING)):
            path = os.path.join(folder, os.path.expanduser(candidate))
            if candidate and _may_be_file(path):
                tidy = os.path.normpath(path)
                yield tidy if resolve(tidy).real == resolve(path).real else path
                break


def _may_be_file(path: str) -> bool:
    """A file, or something that a hostile project put in the place of one."""
    return os.path.exists(path) and not os.path.isdir(path)
