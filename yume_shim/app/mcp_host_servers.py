"""`mcp_set_servers`: the servers that the host manages while a session runs."""

from __future__ import annotations

from yume_shim.config.mcp_admission import refusal
from yume_shim.config.mcp_settings import server_of
from yume_shim.types.errors import BadInvocation
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.app.mcp import McpParts
    from yume_shim.types.blocks import Json
    from yume_shim.types.settings import McpServer


def set_servers(given: Mapping[str, Any], parts: McpParts) -> Json:
    """Make these the servers of the host: others that it set before end, new and changed ones start. Servers of the
    command line and of files stay, unless one of these has their name. The answer tells what changed."""
    with parts.setting:
        return _replace(given, parts)


def _replace(given: Mapping[str, Any], parts: McpParts) -> Json:
    known = parts.set_by_host
    removed = sorted(known - given.keys())
    for name in removed:
        parts.servers.remove(name)
    errors: dict[str, str] = {}
    added: list[str] = []
    for name, table in given.items():
        try:
            config = _config(name, table, parts)
        except BadInvocation as error:
            errors[name] = error.message.removeprefix("Error: ")
            continue
        before = parts.servers.get(name)
        if before is not None and name in known and before.config == config:
            continue
        if before is not None:
            parts.servers.remove(name)
        server = parts.servers.add(config)
        if server is None:
            errors[name] = "there are too many servers"
            continue
        added.append(name)
        server.start()
    parts.set_by_host = frozenset(name for name in given if name in added or name in known)
    errors |= _failures(added, parts)
    parts.changed()
    return {"added": added, "removed": removed, "errors": errors}


def _config(name: str, table: Any, parts: McpParts) -> McpServer:
    """Raises BadInvocation, also for a server that the settings do not admit."""
    config = server_of(name, table, "dynamic", parts.env)
    problem = refusal(config, parts.admission)
    if problem:
        raise BadInvocation(f"MCP server {name} is not started: {problem}")
    return replace(config, waited_for=False)


def _failures(added: list[str], parts: McpParts) -> dict[str, str]:
    """Why servers did not connect; they are waited for together."""
    found: dict[str, str] = {}
    for name in added:
        server = parts.servers.get(name)
        if server is not None:
            server.wait(parts.connect_s, parts.lifetime)
            if server.status != "connected":
                found[name] = server.error or server.status
    return found
