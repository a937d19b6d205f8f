"""Reads the files of commands (`commands/**/*.md`) and skills (`skills/*/SKILL.md`).

A workspace may be hostile: only regular files of a limited size are read, a limited number of them, and those of a
project must lie inside of it: a link could show the model any file of the user.
"""

from __future__ import annotations

import os

from yume_shim.disk.bounded import is_absent
from yume_shim.disk.exact import read_exact
from yume_shim.disk.resolve import resolve
from yume_shim.text.frontmatter import as_flag, as_names, as_text, read_frontmatter
from yume_shim.types.prompt_files import PromptFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from yume_shim.types.prompt_files import PromptFolder

    Warn = Callable[[str], None]

MAX_FILE_BYTES = 512 << 10
"""Of one command or skill; a longer one is left out."""
MAX_FILES = 500
"""Of one folder; the others are left out."""
MAX_ENTRIES = 5_000
"""Names that are looked at in one folder and below."""
MAX_DEPTH = 5
"""How deep folders of commands may be nested."""
MAX_DESCRIPTION = 1_536
SKILL_FILE = "SKILL.md"


def read_folder(where: PromptFolder, hidden: Callable[[str], bool], warn: Warn) -> list[PromptFile]:
    """The commands or skills of one folder, by name. `hidden` says whether a rule hides a file from reading."""
    found: list[PromptFile] = []
    for path, name in _skills(where) if where.kind == "skill" else _commands(where):
        if len(found) >= MAX_FILES:
            warn(f"{where.path} has more than {MAX_FILES} {where.kind}s: the others are left out")
            break
        file = _read(path, name, where, hidden, warn)
        if file is not None:
            found.append(file)
    return sorted(found, key=lambda file: file.name)


def signature(where: PromptFolder) -> tuple[tuple[str, int], ...]:
    """What changes when a file of the folder is added, changed or removed."""
    paths = [path for path, _ in (_skills(where) if where.kind == "skill" else _commands(where))]
    return tuple((path, _changed(path)) for path in paths[:MAX_FILES])


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


# ---------------------------------------------------------------- finding


def _commands(where: PromptFolder) -> Iterator[tuple[str, str]]:
    """(path, name) of each command; a folder is a part of the name: `sub/x.md` is `sub:x`."""
    prefix = f"{where.plugin}:" if where.plugin else ""
    if where.path.endswith(".md"):
        yield where.path, prefix + os.path.basename(where.path)[:-3]
        return
    left = MAX_ENTRIES
    waiting = [(where.path, prefix, 0)]
    while waiting:
        folder, prefix, depth = waiting.pop()
        for entry in _entries(folder, left):
            left -= 1
            if entry.name.startswith("."):
                continue
            if os.path.isdir(entry.path):  # never raises, whatever a link leads to
                if depth < MAX_DEPTH and (where.source == "user" or not entry.is_symlink()):
                    waiting.append((entry.path, f"{prefix}{entry.name}:", depth + 1))
            elif entry.name.endswith(".md") and entry.name != ".md":
                yield entry.path, prefix + entry.name[:-3]


def _skills(where: PromptFolder) -> Iterator[tuple[str, str]]:
    """(path, name) of each skill: a folder with a SKILL.md. A plugin may name such a folder itself."""
    prefix = f"{where.plugin}:" if where.plugin else ""
    own = os.path.join(where.path, SKILL_FILE)
    if where.plugin and os.path.isfile(own):
        yield own, prefix + os.path.basename(where.path)
        return
    for entry in _entries(where.path, MAX_ENTRIES):
        path = os.path.join(entry.path, SKILL_FILE)
        if not entry.name.startswith(".") and os.path.exists(path):
            yield path, prefix + entry.name


def _entries(folder: str, limit: int) -> list[os.DirEntry[str]]:
    """The entries of a folder, by name, up to a limit."""
    found: list[os.DirEntry[str]] = []
    try:
        with os.scandir(folder) as listing:
            for entry in listing:
                if len(found) >= limit:
                    break
                found.append(entry)
    except OSError:
        return []  # gone, or not a folder
    return sorted(found, key=lambda entry: entry.name)


# ---------------------------------------------------------------- reading


def _read(path: str, name: str, where: PromptFolder, hidden: Callable[[str], bool], warn: Warn) -> PromptFile | None:
    if any(char.isspace() or not char.isprintable() for char in name):
        warn(f"{path!r} is left out: the name of a {where.kind} cannot have blanks")
        return None
    place = resolve(path)
    if place.flaw or (where.inside and not place.real.startswith(os.path.join(resolve(where.inside).real, ""))):
        warn(f"{path} is left out: it leads out of {where.inside}")
        return None
    if hidden(path) or hidden(place.real):
        warn(f"{path} is left out: a permission rule denies reading it")
        return None
    try:
        text = read_exact(place.real, MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError as error:
        if not is_absent(error):
            warn(f"{path} is left out: {error.strerror}")
        return None
    fields, body, problem = read_frontmatter(text)
    if problem:
        warn(f"{path}: {problem}")
    return _file(name, fields, body, path, where)


def _file(name: str, fields: dict[str, Any], body: str, path: str, where: PromptFolder) -> PromptFile:
    written = as_text(fields.get("description"))
    when = as_text(fields.get("when_to_use") or fields.get("when-to-use"))
    title = as_text(fields.get("name")) if where.kind == "skill" else ""
    description = " - ".join(filter(None, (written or _first_line(body), when)))
    model = as_text(fields.get("model"))
    return PromptFile(
        name=name,
        body=body,
        where=where,
        folder=os.path.dirname(path) if where.kind == "skill" else "",
        title="" if title == name.rpartition(":")[2] else title,
        description=" ".join(description.split())[:MAX_DESCRIPTION],
        described=bool(written),
        hint=as_text(fields.get("argument-hint")),
        arguments=as_names(fields.get("arguments")) or (),
        allowed_tools=as_names(fields.get("allowed-tools")) or (),
        model="" if model == "inherit" else model,
        fork=as_text(fields.get("context")) == "fork",
        agent=as_text(fields.get("agent")),
        for_model=not as_flag(fields.get("disable-model-invocation"), default=False),
        for_user=as_flag(fields.get("user-invocable"), default=True),
    )


def _first_line(body: str) -> str:
    lines = (line.strip().lstrip("#").strip() for line in body.splitlines())
    return next((line for line in lines if line), "")
