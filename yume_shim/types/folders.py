"""The user's folders according to the environment: home, the Claude CLI's folder, and this program's."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def home_folder(env: Mapping[str, str]) -> str:
    """`$HOME`, else the home folder of the process's user. On Windows `%USERPROFILE%` comes first: a HOME that Git or a
    shell has set means nothing to other programs there."""
    first, second = ("USERPROFILE", "HOME") if os.name == "nt" else ("HOME", "USERPROFILE")
    return env.get(first) or env.get(second) or os.path.expanduser("~")


def claude_folder(env: Mapping[str, str]) -> str:
    """The Claude CLI's settings, memory and sessions: `$CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    return env.get("CLAUDE_CONFIG_DIR") or os.path.join(home_folder(env), ".claude")


SAVED_RULES = "permissions.json"
"""The file in `yume_folder` with allow rules that were saved with answers."""


def yume_folder(env: Mapping[str, str]) -> str:
    """This program's config file and caches: `~/.yume`."""
    return os.path.join(home_folder(env), ".yume")


def claude_state_file(env: Mapping[str, str]) -> str:
    """The Claude CLI's own state, with MCP servers and trust decisions: `$CLAUDE_CONFIG_DIR/.claude.json`, else
    `~/.claude.json`."""
    return os.path.join(env.get("CLAUDE_CONFIG_DIR") or home_folder(env), ".claude.json")
