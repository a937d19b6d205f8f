"""Which MCP servers the settings admit: `deniedMcpServers`, `allowedMcpServers`, `allowManagedMcpServersOnly`."""

from __future__ import annotations

from fnmatch import fnmatchcase

from yume_shim.config.settings_files import MANAGED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.config.setting_sources import SettingSources
    from yume_shim.types.settings import McpServer

ALLOWED, DENIED = "allowedMcpServers", "deniedMcpServers"


def refusal(server: McpServer, sources: SettingSources) -> str:
    """Why a server is not admitted; "" if it is. Servers in the host's own process are the host's affair."""
    if server.kind == "sdk":
        return ""
    for layer in sources.layers:
        if any(_matches(entry, server) for entry in _entries(layer.data.get(DENIED))):
            return f"{DENIED} of the {layer.name} settings name it"
    managed_only = sources.managed("allowManagedMcpServersOnly")
    lists = [
        layer.data[ALLOWED]
        for layer in sources.layers
        if ALLOWED in layer.data and layer.trusted and (layer.name == MANAGED or not managed_only)
    ]
    if lists and not _admitted(server, [entry for given in lists for entry in _entries(given)]):
        return f"{ALLOWED} does not name it"
    return ""


def _admitted(server: McpServer, entries: list[dict[str, Any]]) -> bool:
    """A list that names commands or addresses decides by them for servers of that kind, whatever their names are."""
    decisive = "serverCommand" if server.kind == "stdio" else "serverUrl"
    strict = [entry for entry in entries if decisive in entry]
    return any(_matches(entry, server) for entry in strict or entries)


def _matches(entry: dict[str, Any], server: McpServer) -> bool:
    if "serverName" in entry:
        return bool(entry["serverName"] == server.name)
    if "serverCommand" in entry:
        return server.kind == "stdio" and entry["serverCommand"] == [server.command, *server.args]
    pattern = entry.get("serverUrl")
    return isinstance(pattern, str) and server.kind != "stdio" and fnmatchcase(server.url, pattern)


def _entries(given: Any) -> list[dict[str, Any]]:
    return [entry for entry in given if isinstance(entry, dict)] if isinstance(given, list) else []
