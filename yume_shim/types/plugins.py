"""Plugins: folders with commands, skills, agents, hooks, MCP servers and output styles."""

from __future__ import annotations

from yume_shim.types.blocks import NOTHING
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Plugin(Value):
    """A plugin that is used, with the places of its parts. All paths are absolute and inside of `root`."""

    name: str
    root: str
    source: str
    """`name@inline` for `--plugin-dir`, `name@marketplace` for an installed one."""
    version: str = ""
    commands: tuple[str, ...] = ()
    """Folders, or single files."""
    skills: tuple[str, ...] = ()
    """Folders of skills, or of one skill."""
    agents: tuple[str, ...] = ()
    """Folders with files of agents, or single files."""
    output_styles: tuple[str, ...] = ()
    hooks: tuple[Mapping[str, Any], ...] = ()
    """`hooks` tables, as in settings files."""
    mcp_servers: Mapping[str, Any] = NOTHING
    """Tables of servers by name, as in `.mcp.json`; `${CLAUDE_PLUGIN_ROOT}` is replaced."""

    def line(self) -> dict[str, Any]:
        """The object that init lines print."""
        shown = {"name": self.name, "path": self.root, "source": self.source}
        return {**shown, "version": self.version} if self.version else shown


class PluginSettings(Value):
    """Plugins that are used, and what is wrong with others."""

    used: tuple[Plugin, ...] = ()
    errors: tuple[Mapping[str, Any], ...] = ()
    """Objects for init lines: `plugin`, `type`, `message`, perhaps `path`."""
