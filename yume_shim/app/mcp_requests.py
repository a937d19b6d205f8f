"""Control requests about MCP servers: reconnect, switch on and off, replace, pass messages on, call a tool."""

from __future__ import annotations

from yume_shim.config.mcp_settings import server_of
from yume_shim.extensions.mcp.errors import McpError
from yume_shim.host.control import Later
from yume_shim.types.errors import BadInvocation, BadLine, Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.app.mcp import McpParts
    from yume_shim.extensions.mcp.server import Server
    from yume_shim.types.blocks import Json


def handle(subtype: str, body: Json, parts: McpParts) -> Json | Later | None:
    """The answer to one of these requests; raises BadLine."""
    match subtype:
        case "mcp_reconnect":
            return Later(lambda: _reconnect(_server(body, parts), parts))
        case "mcp_toggle":
            return Later(lambda: _toggle(_server(body, parts), body.get("enabled") is not False, parts))
        case "mcp_set_servers":
            return Later(lambda: _set_servers(body, parts))
        case "mcp_message":
            return _pass_on(body, parts)
        case "mcp_call":
            return Later(lambda: _call(body, parts))
        case _:
            raise BadLine(f"Unsupported control request subtype: {subtype}", code="unsupported_request")


def _server(body: Json, parts: McpParts) -> Server:
    name = body.get("serverName") or body.get("server_name")
    server = parts.servers.get(name) if isinstance(name, str) else None
    if server is None:
        raise BadLine(f"Server not found: {name}", code="not_found")
    return server


def _reconnect(server: Server, parts: McpParts) -> None:
    if server.config.kind == "sdk":
        raise BadLine("SDK servers are connected by the host", code="invalid_value")
    server.disconnect()
    _connect(server, parts)


def _connect(server: Server, parts: McpParts) -> None:
    try:
        connected = server.reconnect(parts.lifetime)
    except Cancelled:
        connected = False
    if not connected:
        raise BadLine(server.error or "Connection closed", code="failed")


def _toggle(server: Server, enabled: bool, parts: McpParts) -> None:
    if not enabled:
        server.disable()
    else:
        _connect(server, parts)


def _set_servers(body: Json, parts: McpParts) -> Json:
    """Replace the servers that the host set before; those of the command line and of files stay."""
    given = body.get("servers")
    if not isinstance(given, dict):
        raise BadLine("mcp_set_servers needs `servers`", code="invalid_value")
    known = {server.config.name for server in parts.servers.all() if server.config.source == "host"}
    errors: dict[str, str] = {}
    added: list[str] = []
    for name in known - given.keys():
        parts.servers.remove(name)
    for name, table in given.items():
        if parts.servers.get(name) is not None:
            continue
        try:
            server = parts.servers.add(server_of(name, table, "host", parts.env))
        except BadInvocation as error:
            errors[name] = error.message
            continue
        if server is not None:
            added.append(name)
            server.start()
    for name in added:
        server = parts.servers.get(name)
        if server is not None:
            server.wait(parts.connect_s, parts.lifetime)
            if server.status != "connected":
                errors[name] = server.error or server.status
    return {"added": added, "removed": sorted(known - given.keys()), "errors": errors}


def _pass_on(body: Json, parts: McpParts) -> Json:
    """A message of a server in the host's process, for instance that its tools changed."""
    server, message = _server(body, parts), body.get("message")
    server.take(message)
    return {}


def _call(body: Json, parts: McpParts) -> Json:
    """Call a tool for the host itself: the host is trusted, so nothing is asked."""
    server = _server(body, parts)
    tool, given = body.get("tool") or body.get("toolName"), body.get("arguments") or {}
    if not isinstance(tool, str) or not isinstance(given, dict):
        raise BadLine("mcp_call needs `tool` and `arguments`", code="invalid_value")
    try:
        return server.request("tools/call", {"name": tool, "arguments": given}, parts.lifetime)
    except McpError as error:
        raise BadLine(error.message, code="failed") from None
