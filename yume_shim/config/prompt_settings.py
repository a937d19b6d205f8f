"""Finds the folders with commands and skills: the user's, the project's, those of plugins."""

from __future__ import annotations

import os

from yume_shim.types.folders import claude_folder, home_folder
from yume_shim.types.prompt_files import PromptFolder, PromptSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from yume_shim.config.setting_sources import SettingSources
    from yume_shim.types.plugins import Plugin

OFFERS = ("on", "name-only", "user-invocable-only", "off")
"""How a skill can be offered, from the widest to the narrowest."""
KINDS = {"skills": "skill", "commands": "command"}
MAX_PARENTS = 40
"""How far up the top of a repository is looked for."""


def prompt_settings(sources: SettingSources, plugins: Iterable[Plugin]) -> PromptSettings:
    """The folders that exist, in the order in which they win a name: the user's before the project's, as in the Claude
    CLI. Every file may switch shell commands off and narrow how skills are offered."""
    if sources.on("disable-slash-commands"):
        return PromptSettings()
    return PromptSettings(
        (*_own(sources), *_of_plugins(plugins)),
        prompt_shell=not any(layer.data.get("disableSkillShellExecution") is True for layer in sources.layers),
        skill_overrides=_overrides(sources),
    )


def _overrides(sources: SettingSources) -> dict[str, str]:
    """The strictest of what the layers say about a skill; those of an untrusted folder cannot undo it."""
    found: dict[str, str] = {}
    for layer in sources.layers:
        table = layer.data.get("skillOverrides")
        for name, how in table.items() if isinstance(table, dict) else ():
            if how in OFFERS and (layer.trusted or OFFERS.index(how) > OFFERS.index(found.get(name, "on"))):
                found[str(name)] = how
    return found


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
