"""Which MCP servers the settings admit: `deniedMcpServers`, `allowedMcpServers`, `allowManagedMcpServersOnly`."""

from __future__ import annotations

from yume_shim.config.settings_files import MANAGED
from yume_shim.types.mcp_admission import McpAdmission

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from yume_shim.config.setting_sources import SettingSources
    from yume_shim.types.settings import McpServer

ALLOWED, DENIED = "allowedMcpServers", "deniedMcpServers"


def admission_of(sources: SettingSources) -> McpAdmission | None:
    """The rules of all settings layers; None if there are none."""
    if not any(DENIED in layer.data or ALLOWED in layer.data for layer in sources.layers):
        return None
    managed_only = sources.managed("allowManagedMcpServersOnly")
    lists = [
        layer.data[ALLOWED]
        for layer in sources.layers
        if ALLOWED in layer.data and layer.trusted and (layer.name == MANAGED or not managed_only)
    ]
    return McpAdmission(
        tuple((layer.name, entry) for layer in sources.layers for entry in _entries(layer.data.get(DENIED))),
        tuple(entry for given in lists for entry in _entries(given)) if lists else None,
    )


def refusal(server: McpServer, admission: McpAdmission | None) -> str:
    """Why a server is not admitted; "" if it is. Servers in the host's own process are the host's affair."""
    if server.kind == "sdk" or admission is None:
        return ""
    for layer, entry in admission.denied:
        if _matches(entry, server):
            return f"{DENIED} of the {layer} settings name it"
    if admission.allowed is not None and not _admitted(server, admission.allowed):
        return f"{ALLOWED} does not name it"
    return ""


def _admitted(server: McpServer, entries: Sequence[Mapping[str, Any]]) -> bool:
    """A list that names commands or addresses decides by them for servers of that kind, whatever their names are."""
    decisive = "serverCommand" if server.kind == "stdio" else "serverUrl"
    strict = [entry for entry in entries if decisive in entry]
    return any(_matches(entry, server) for entry in strict or entries)


def _matches(entry: Mapping[str, Any], server: McpServer) -> bool:
    if "serverName" in entry:
        return bool(entry["serverName"] == server.name)
    if "serverCommand" in entry:
        return server.kind == "stdio" and entry["serverCommand"] == [server.command, *server.args]
    pattern = entry.get("serverUrl")
    if not isinstance(pattern, str) or server.kind == "stdio":
        return False
    from fnmatch import fnmatchcase

    return fnmatchcase(server.url, pattern)


def _entries(given: Any) -> list[dict[str, Any]]:
    return [entry for entry in given if isinstance(entry, dict)] if isinstance(given, list) else []
