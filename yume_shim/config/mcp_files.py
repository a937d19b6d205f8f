"""The files in which `yume-shim mcp` lists and changes servers: the Claude CLI's own, by scope.

user: `mcpServers` of ~/.claude.json. local: `projects[FOLDER].mcpServers` there. project: `mcpServers` of .mcp.json.
"""

from __future__ import annotations

import os
import re

from yume_shim.config.mcp_settings import project_folder
from yume_shim.disk.json_edit import NotAnObject, edit_json, read_object
from yume_shim.types.errors import BadInvocation
from yume_shim.types.folders import claude_state_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Table = dict[str, Any]

SCOPES = {
    "local": "Local config (private to you in this project)",
    "user": "User config (available in all your projects)",
    "project": "Project config (shared via .mcp.json)",
}
PRIVATE_MODE = 0o600
_NAME = re.compile(r"[A-Za-z0-9_-]+")


class McpFiles:
    """The three places, for one folder."""

    def __init__(self, env: Mapping[str, str], cwd: str) -> None:
        self.state, self.cwd = claude_state_file(env), cwd
        self.project = project_folder(cwd)
        self.shared = os.path.join(cwd, ".mcp.json")

    def path(self, scope: str) -> str:
        return self.shared if scope == "project" else self.state

    def shown(self, scope: str) -> str:
        """The place, as the Claude CLI names it."""
        return f"{self.path(scope)} [project: {self.project}]" if scope == "local" else self.path(scope)

    def tables(self, scope: str) -> dict[str, Table]:
        """The servers of a scope, as they are written there. Raises BadInvocation for a broken file."""
        try:
            data = read_object(self.path(scope))
        except (OSError, NotAnObject) as error:
            raise BadInvocation(self._complaint(scope, error)) from None
        return {name: table for name, table in self._servers(data, scope).items() if isinstance(table, dict)}

    def where(self, name: str) -> tuple[str, ...]:
        """The scopes that have a server of this name, the strongest first."""
        return tuple(scope for scope in ("local", "project", "user") if name in self.tables(scope))

    def add(self, scope: str, name: str, table: Table) -> None:
        """Add a server. Raises BadInvocation with the Claude CLI's words."""
        if not _NAME.fullmatch(name):
            raise BadInvocation(
                f"Invalid name {name}. Names can only contain letters, numbers, hyphens, and underscores."
            )

        def change(data: Table) -> None:
            servers = self._servers(data, scope, make=True)
            if name in servers:
                raise BadInvocation(f"MCP server {name} already exists in {scope} config")
            servers[name] = table

        self._edit(scope, change)

    def remove(self, scope: str, name: str) -> None:
        """Remove a server. Raises BadInvocation if it is not there."""

        def change(data: Table) -> None:
            if self._servers(data, scope).pop(name, None) is None:
                place = ".mcp.json" if scope == "project" else f"{scope} scope"
                raise BadInvocation(f'No MCP server named "{name}" in {place}')

        self._edit(scope, change)

    def _edit(self, scope: str, change: Any) -> None:
        path = self.path(scope)
        if scope == "project" and os.path.islink(path):
            raise BadInvocation(f"{path} is a link: it is not changed, because it may lead out of this folder")
        try:
            if scope != "project":
                os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            edit_json(path, change, mode=0o666 & ~_umask() if scope == "project" else PRIVATE_MODE)
        except (OSError, NotAnObject) as error:
            raise BadInvocation(self._complaint(scope, error)) from None

    def _complaint(self, scope: str, error: Exception) -> str:
        if isinstance(error, OSError):
            return f"{self.path(scope)} cannot be used: {error.strerror or error}"
        if scope == "project":
            return ".mcp.json is malformed (not valid JSON, or mcpServers is not an object)"
        return f"Configuration error in {self.state}: {error}"

    def _servers(self, data: Table, scope: str, *, make: bool = False) -> Table:
        """The table of servers inside a file; with `make` it is there afterwards. Raises NotAnObject."""
        steps = ("projects", self.project, "mcpServers") if scope == "local" else ("mcpServers",)
        for step in steps:
            inner = data.get(step)
            if inner is None:
                inner = {}
                if make:
                    data[step] = inner
            if not isinstance(inner, dict):
                raise NotAnObject(f"`{step}` is not an object")
            data = inner
        return data


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
