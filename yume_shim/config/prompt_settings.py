"""Finds the folders with commands and skills: the user's, the project's, those of plugins."""

from __future__ import annotations

import os

from yume_shim.types.folders import claude_folder, home_folder
from yume_shim.types.prompt_files import PromptFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from yume_shim.config.setting_sources import SettingSources
    from yume_shim.types.plugins import Plugin

KINDS = {"skills": "skill", "commands": "command"}
MAX_PARENTS = 40
"""How far up the top of a repository is looked for."""


def prompt_folders(sources: SettingSources, plugins: Iterable[Plugin]) -> tuple[PromptFolder, ...]:
    """The folders that exist, in the order in which they win a name: the user's before the project's, as in the Claude
    CLI."""
    if sources.on("disable-slash-commands"):
        return ()
    return (*_own(sources), *_of_plugins(plugins))


def _own(sources: SettingSources) -> Iterator[PromptFolder]:
    if sources.on("bare"):
        return
    users = claude_folder(sources.env)
    for name, kind in KINDS.items():
        path = os.path.join(users, name)
        if "user" in sources.layer_names and os.path.isdir(path):
            yield PromptFolder(path, kind, "user")  # type: ignore[arg-type]  # the kinds of the table
    if "project" not in sources.layer_names:
        return
    for name, kind in KINDS.items():
        for folder in project_folders(sources.cwd, home_folder(sources.env)):
            path = os.path.join(folder, ".claude", name)
            if os.path.isdir(path) and not _same(path, os.path.join(users, name)):
                trust = sources.trust
                yield PromptFolder(
                    path,
                    kind,  # type: ignore[arg-type]
                    "project",
                    inside=folder,
                    trusted=trust.trusted,
                    grants=trust.starts,
                )


def _of_plugins(plugins: Iterable[Plugin]) -> Iterator[PromptFolder]:
    for plugin in plugins:
        for kind, paths in (("skill", plugin.skills), ("command", plugin.commands)):
            for path in paths:
                yield PromptFolder(
                    path,
                    kind,  # type: ignore[arg-type]
                    "plugin",
                    inside=plugin.root,
                    plugin=plugin.name,
                    plugin_root=plugin.root,
                )


def project_folders(cwd: str, home: str) -> list[str]:
    """The working folder and those above it, up to the top of its repository; the folder alone if it is in none."""
    found: list[str] = []
    folder = cwd
    while len(found) < MAX_PARENTS and folder != home:
        found.append(folder)
        if os.path.lexists(os.path.join(folder, ".git")):
            return found
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return [cwd]


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
