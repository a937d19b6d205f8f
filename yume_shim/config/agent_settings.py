"""The settings of agents: where definitions are, those of `--agents`, and the agent that the main loop runs as."""

from __future__ import annotations

import os

from yume_shim.config.extensions import json_or_file
from yume_shim.types.agents import AgentFolder, AgentSettings
from yume_shim.types.errors import BadInvocation
from yume_shim.types.folders import claude_folder, home_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.config.setting_sources import SettingSources

AGENTS_FOLDER = os.path.join(".claude", "agents")


def agent_settings(sources: SettingSources) -> AgentSettings:
    """The group of settings. Raises BadInvocation for `--agents` that cannot be read."""
    named = sources.text("agent")
    return AgentSettings(
        given=_given(sources.text("agents"), sources.cwd),
        folders=_folders(sources),
        main=named if named is not None else _of_files(sources),
        main_required=named is not None,
        hooks=not sources.managed("allowManagedHooksOnly") and not _hooks_off(sources),
        forward_text=sources.on("forward-subagent-text"),
    )


def _hooks_off(sources: SettingSources) -> bool:
    return any(layer.trusted and layer.data.get("disableAllHooks") is True for layer in sources.layers)


def _given(text: str | None, cwd: str) -> Mapping[str, Any]:
    if text is None:
        return {}
    data, problem = json_or_file(text, cwd)
    if problem or not isinstance(data, dict):
        raise BadInvocation(f"Error: Invalid --agents configuration: {problem or 'it must be a JSON object'}")
    for name, agent in data.items():
        if not isinstance(agent, dict) or not all(isinstance(agent.get(k), str) for k in ("description", "prompt")):
            raise BadInvocation(f"Error: Invalid --agents configuration: '{name}' needs a `description` and a `prompt`")
    return data


def _of_files(sources: SettingSources) -> str:
    """`agent` of the settings files; the strongest layer counts."""
    found = [layer.data.get("agent") for layer in sources.layers]
    return next((name for name in reversed(found) if isinstance(name, str) and name), "")


def _folders(sources: SettingSources) -> tuple[AgentFolder, ...]:
    """The folders that exist: the user's, then those of the project from the outermost to the working folder."""
    if sources.on("bare"):
        return ()
    found: list[AgentFolder] = []
    users = os.path.join(claude_folder(sources.env), "agents")
    if "user" in sources.layer_names and os.path.isdir(users):
        found.append(AgentFolder(users, "user"))
    if "project" in sources.layer_names:
        for folder in _project_folders(sources.cwd, home_folder(sources.env)):
            path = os.path.join(folder, AGENTS_FOLDER)
            if path != users and os.path.isdir(path):
                trust = sources.trust
                found.append(AgentFolder(path, "project", trusted=trust.trusted, starts=trust.starts))
    return tuple(found)


def _project_folders(cwd: str, home: str) -> list[str]:
    """The working folder and those above it, outermost first; nothing from the home folder upwards."""
    folders: list[str] = []
    folder = os.path.abspath(cwd)
    while folder != home:
        folders.append(folder)
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    return folders[::-1]
