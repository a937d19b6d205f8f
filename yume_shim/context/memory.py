"""Finds standing instructions: which files are read at the start of a session, and which when a tool uses a file.

At the start: those of the administrator and of the user, then `CLAUDE.md`, `.claude/CLAUDE.md`, `.claude/rules/*.md`
and `CLAUDE.local.md` of each folder from the root down to the working folder, so that the nearest one comes last. A
project without any of them may have `AGENTS.md`. They become one note before the first prompt, and that note never
changes. Later: those of folders below the working folder, and rules whose `paths` fit, when a tool uses a file there;
they are added after the result of that call.
"""

from __future__ import annotations

import os
import threading

from yume_shim.context.memory_files import MemoryReader, is_in, may_be_file
from yume_shim.disk.resolve import resolve
from yume_shim.types.memory import MemoryFile
from yume_shim.types.settings import SETTING_SOURCES
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from yume_shim.context.memory_rules import Rule
    from yume_shim.types.memory import LoadReason, MemoryKind

INTRODUCTION = (
    "These are standing instructions from the user's and the project's files. Follow them wherever they apply, "
    "even where they differ from your defaults; ignore them where they have nothing to do with the task."
)
WHOSE: dict[MemoryKind, str] = {
    "Managed": "the administrator's, for everyone",
    "User": "the user's, for all projects",
    "Project": "the project's",
    "Local": "the user's, for this project",
}
MAX_FOLDERS = 64
"""Folders between the working folder and a file in which instructions are looked for."""


class MemoryPlaces(Value):
    """Where instructions are looked for."""

    cwd: str
    user_folder: str
    sources: tuple[str, ...] = SETTING_SOURCES
    """The setting sources to read: user, project, local."""
    managed_folder: str = ""
    more_folders: tuple[str, ...] = ()
    """Additional working folders whose instructions are read, too."""
    more_names: tuple[str, ...] = ()
    """Names of further files that are read like `CLAUDE.md`, such as `GEMINI.md`."""
    excludes: tuple[str, ...] = ()
    """Patterns of paths that are not read (`claudeMdExcludes`)."""


class Memory:
    """The instructions of one conversation. `below` may be called from the threads of side-by-side calls; the lock is
    here."""

    def __init__(
        self,
        places: MemoryPlaces,
        *,
        hidden: Callable[[str], bool] | None = None,
        warn: Callable[[str], None] | None = None,
        max_tokens: int | None = None,
    ) -> None:
        """Read what is read at the start. `hidden` says whether a rule hides a path from reading; `warn` learns which
        files are ignored; `max_tokens` is what all files together may take."""
        self._places = places
        self._cwd = os.path.abspath(places.cwd)
        excluded = _excluded_by(places.excludes)
        self._reader = MemoryReader(hidden or _no, warn or _ignore, excluded, max_tokens)
        self._rules: list[Rule] = []
        """Rules that wait for a file that they are about."""
        self._visited: set[str] = set()
        self._lock = threading.Lock()
        self.files: list[MemoryFile] = list(self._at_start())
        """Everything that was loaded, in order."""
        self._at_first = (self._reader.seen(), tuple(self._rules), len(self.files))
        self.note = _start_note(self.files)
        """The note before the first prompt; "" if there is nothing to say."""

    def below(self, path: str) -> tuple[MemoryFile, ...]:
        """What is loaded because a tool used this file."""
        path = os.path.abspath(path)
        if not is_in(path, self._cwd) and not self._rules:
            return ()
        with self._lock:
            found = [*self._fitting(path), *self._nested(path)]
            self.files += found
            return tuple(found)

    def forget_later(self) -> None:
        """Load again what was loaded after the start: the history that held it was replaced by a summary."""
        seen, rules, count = self._at_first
        with self._lock:
            self._reader.forget_after(seen)
            self._rules, self._visited = list(rules), set()
            del self.files[count:]

    # ------------------------------------------------------------ at the start

    def _at_start(self) -> Iterator[MemoryFile]:
        places, sources = self._places, self._places.sources
        if places.managed_folder:
            yield from self._read(os.path.join(places.managed_folder, "CLAUDE.md"), "Managed", None)
        users = os.path.join(places.user_folder, "CLAUDE.md")
        if "user" in sources:
            yield from self._read(users, "User", None)
            yield from self._read_rules(os.path.join(places.user_folder, "rules"), "User", None, self._cwd)
        # below the home folder they would also be found as `.claude` of a parent
        self._reader.skip(users)
        folders = _from_root_to(self._cwd)
        projects = _projects_of(folders)
        if "project" in sources and not any(_has_own_files(folder, users) for folder in folders):
            for folder in folders:
                yield from self._read(os.path.join(folder, "AGENTS.md"), "Project", projects[folder])
        for folder in folders:
            yield from self._of_folder(folder, projects[folder])
        for folder in places.more_folders:
            yield from self._of_folder(folder, resolve(folder).real)

    def _of_folder(self, folder: str, inside: str) -> Iterator[MemoryFile]:
        if "project" in self._places.sources:
            for name in ("CLAUDE.md", os.path.join(".claude", "CLAUDE.md"), *self._places.more_names):
                yield from self._read(os.path.join(folder, name), "Project", inside)
            own = os.path.join(folder, ".claude")
            rules = os.path.join(own, "rules")
            if os.path.isdir(rules) and resolve(own).real != resolve(self._places.user_folder).real:
                yield from self._read_rules(rules, "Project", inside, folder)
        if "local" in self._places.sources:
            yield from self._read(os.path.join(folder, "CLAUDE.local.md"), "Local", inside)

    def _read(
        self,
        path: str,
        kind: MemoryKind,
        inside: str | None,
        *,
        trigger: str = "",
        globs: tuple[str, ...] = (),
        rule: bool = False,
    ) -> Iterator[MemoryFile]:
        if may_be_file(path):
            reason: LoadReason = "session_start" if not trigger else "path_glob_match" if globs else "nested_traversal"
            file = MemoryFile(path, kind, "", 0, reason, globs=globs, trigger=trigger)
            yield from self._reader.read(file, inside, header=rule)

    def _read_rules(
        self, folder: str, kind: MemoryKind, inside: str | None, base: str, trigger: str = ""
    ) -> Iterator[MemoryFile]:
        """The rules of a folder that always count; those about some files are kept for later."""
        if not os.path.isdir(folder):
            return
        from yume_shim.context.memory_rules import find_rules

        for rule in find_rules(folder, kind, inside, base, self._reader):
            if rule.globs:
                self._rules.append(rule)
            else:
                yield from self._read(rule.path, kind, inside, trigger=trigger, rule=True)

    # ------------------------------------------------------------ later

    def _fitting(self, path: str) -> Iterator[MemoryFile]:
        """The rules that are about this file."""
        for rule in [rule for rule in self._rules if rule.fits(path)]:
            self._rules.remove(rule)
            yield from self._read(rule.path, rule.kind, rule.inside, trigger=path, globs=rule.globs, rule=True)

    def _nested(self, path: str) -> Iterator[MemoryFile]:
        """The instructions of the folders between the working folder and this file."""
        folders: list[str] = []
        folder = os.path.dirname(path)
        while folder != self._cwd and is_in(folder, self._cwd) and len(folders) < MAX_FOLDERS:
            folders.append(folder)
            folder = os.path.dirname(folder)
        for nested in reversed(folders):
            if nested not in self._visited:
                self._visited.add(nested)
                yield from self._of_nested(nested, path)

    def _of_nested(self, folder: str, trigger: str) -> Iterator[MemoryFile]:
        inside, waiting = _project_of(self._cwd), len(self._rules)
        if "project" in self._places.sources:
            for name in ("CLAUDE.md", os.path.join(".claude", "CLAUDE.md"), *self._places.more_names):
                yield from self._read(os.path.join(folder, name), "Project", inside, trigger=trigger)
        if "local" in self._places.sources:
            yield from self._read(os.path.join(folder, "CLAUDE.local.md"), "Local", inside, trigger=trigger)
        if "project" in self._places.sources:
            rules = os.path.join(folder, ".claude", "rules")
            yield from self._read_rules(rules, "Project", inside, folder, trigger)
        if len(self._rules) > waiting:
            yield from self._fitting(trigger)


def later_note(file: MemoryFile) -> str:
    """The note about a file that was loaded because a tool used another one."""
    about = f", for {', '.join(file.globs)}" if file.globs else f", for {os.path.dirname(file.path)}"
    head = f"Instructions from {file.path} ({_whose(file)}{'' if file.parent else about}):"
    return f"<system-reminder>\n{head}\n\n{file.text}\n</system-reminder>"


def _start_note(files: Iterable[MemoryFile]) -> str:
    sections = [f"\n{file.path} ({_whose(file)}):\n\n{file.text}" for file in files]
    if not sections:
        return ""
    return "\n".join(["<system-reminder>", INTRODUCTION, *sections, "</system-reminder>"])


def _whose(file: MemoryFile) -> str:
    imported = f"; imported by {os.path.basename(file.parent)}" if file.parent else ""
    return WHOSE[file.kind] + imported


def _has_own_files(folder: str, users: str) -> bool:
    """Has the folder instructions for the Claude CLI, besides those of the user?"""
    names = ("CLAUDE.md", os.path.join(".claude", "CLAUDE.md"), "CLAUDE.local.md")
    paths = (os.path.join(folder, name) for name in names)
    return any(path != users and may_be_file(path) for path in paths)


def _from_root_to(folder: str) -> list[str]:
    folders = [folder]
    while (parent := os.path.dirname(folders[-1])) != folders[-1]:
        folders.append(parent)
    return folders[::-1]


def _project_of(folder: str) -> str:
    """The folder that imports must stay in: the git repository around `folder`, or `folder` itself."""
    return _projects_of(_from_root_to(folder))[folder]


def _projects_of(folders: Iterable[str]) -> dict[str, str]:
    """The same for each of these folders, which lead down from the root."""
    found, repository = {}, ""
    for folder in folders:
        if os.path.exists(os.path.join(folder, ".git")):
            repository = resolve(folder).real
        found[folder] = repository or resolve(folder).real
    return found


def _excluded_by(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    if not patterns:
        return _no
    from yume_shim.text.path_patterns import PathList

    if os.sep == "\\":  # a path of Windows, in any case
        folded = PathList(tuple(pattern.replace("\\", "/").lower() for pattern in patterns))
        return lambda path: folded.matches(path.replace("\\", "/").lower())
    listed = PathList(patterns)
    return lambda path: listed.matches(path.lstrip("/"))


def _no(path: str) -> bool:
    return False


def _ignore(text: str) -> None:
    """No one is warned."""
