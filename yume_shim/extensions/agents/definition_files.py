"""Reads definitions from the Markdown files of a folder: `.claude/agents/**/*.md` of the user and of the project."""

from __future__ import annotations

import os

from yume_shim.disk.bounded import read_text
from yume_shim.extensions.agents.definition_reader import BadDefinition, narrowed, read_definition
from yume_shim.text.frontmatter import as_text, read_frontmatter
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.types.agents import AgentDefinition, AgentFolder

    Warn = Callable[[str], None]

MAX_FILES = 500
"""Definitions of one folder; the rest is not read."""
MAX_BYTES = 256 * 1024
MAX_DEPTH = 8
"""How deep folders below it are searched."""


def read_folder(folder: AgentFolder, warn: Warn) -> dict[str, AgentDefinition]:
    """The definitions of a folder by their names. Files that are no definitions (no `name`) are left alone; `warn`
    learns what cannot be used. Never raises."""
    found: dict[str, AgentDefinition] = {}
    for count, path in enumerate(_files(folder.path, 0)):
        if count >= MAX_FILES:
            warn(f"{folder.path} has more than {MAX_FILES} files: the rest is not read")
            break
        definition = read_file(path, folder, warn, folder.prefix)
        if definition is not None and definition.name not in found:
            found[definition.name] = definition
    return found


def read_file(path: str, folder: AgentFolder, warn: Warn, prefix: str = "") -> AgentDefinition | None:
    """The definition in this file, or None. `prefix` is put before its name (`plugin:`)."""

    def about(text: str) -> None:
        warn(f"{path}: {text}")

    try:
        text = read_text(path, MAX_BYTES).decode("utf-8", "replace")
    except OSError as error:
        about(f"not read: {error.strerror}")
        return None
    fields, body, problem = read_frontmatter(text)
    name = as_text(fields.get("name"))
    if not name:
        return None
    if problem:
        about(problem)
    try:
        made = read_definition(prefix + name, fields, body.strip(), folder.origin, about)
    except BadDefinition as error:
        about(f"agent '{name}' is not offered: {error}")
        return None
    if not folder.trusted:
        made, dropped = narrowed(made, starts=folder.starts)
        if dropped:
            about(f"this folder is not trusted: {', '.join(dropped)} of agent '{name}' is ignored")
    return replace(made, path=path)


def _files(folder: str, depth: int) -> Iterator[str]:
    if folder.endswith(".md") and os.path.isfile(folder):
        yield folder
        return
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return  # it does not exist, or may not be read
    for entry in listed:
        if entry.name.endswith(".md") and not os.path.isdir(entry.path):  # never raises, whatever a link leads to
            yield entry.path
        elif depth < MAX_DEPTH and entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path, depth + 1)
