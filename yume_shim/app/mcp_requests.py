"""Control requests about MCP servers: reconnect, switch on and off, replace, pass messages on, call a tool, read a
resource, sign in and out."""

from __future__ import annotations

from yume_shim.extensions.mcp.errors import McpError
from yume_shim.extensions.mcp.names import PREFIX, plain
from yume_shim.host.control import Later
from yume_shim.types.errors import BadLine, Cancelled, ToolFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.app.mcp import McpParts
    from yume_shim.extensions.mcp.server import Server
    from yume_shim.types.blocks import Json

MAX_RESOURCE = 10 << 20
"""Characters of a resource that a host may read."""
RESOURCE_SCHEME = "ui://"
UNSUPPORTED_OPTIONS = ("check_permissions", "input_files", "output_files")
"""Options of `mcp_call` that change whether and where it runs: ignoring one would be unsafe, so they are refused."""


def handle(subtype: str, body: Json, parts: McpParts) -> Json | Later | None:
    """The answer to one of these requests; raises BadLine."""
    if subtype == "mcp_message":
        return _pass_on(body, parts)
    work = _WORK.get(subtype)
    if work is None:
        raise BadLine(f"Unsupported control request subtype: {subtype}", code="unsupported_request")
    return Later(lambda: work(body, parts))


def _server(body: Json, parts: McpParts) -> Server:
    name = body.get("serverName") or body.get("server_name")
    server = parts.servers.get(name) if isinstance(name, str) else None
    if server is None:
        raise BadLine(f"Server not found: {name}", code="not_found")
    return server


def _reconnect(body: Json, parts: McpParts) -> None:
    server = _server(body, parts)
    if server.config.kind == "sdk":
        raise BadLine("SDK servers are connected by the host", code="invalid_value")
    if server.status == "disabled":
        raise BadLine(f"MCP server {server.config.name} is disabled: enable it first (mcp_toggle)", code="failed")
    _connect(server, parts)


def _connect(server: Server, parts: McpParts) -> None:
    try:
        connected = server.reconnect(parts.lifetime)
    except Cancelled:
        connected = False
    if not connected:
        raise BadLine(server.error or "Connection closed", code="failed")


def _toggle(body: Json, parts: McpParts) -> None:
    server = _server(body, parts)
    if body.get("enabled") is False:
        server.disable()
    else:
        _connect(server, parts)


def _set_servers(body: Json, parts: McpParts) -> Json:
    from yume_shim.app.mcp_host_servers import set_servers

    given = body.get("servers")
    if not isinstance(given, dict):
        raise BadLine("mcp_set_servers needs `servers`: an object of servers by name", code="invalid_value")
    return set_servers(given, parts)


def _pass_on(body: Json, parts: McpParts) -> Json:
    """A message of a server in the host's process, for instance that its tools changed."""
    server, message = _server(body, parts), body.get("message")
    server.take(message)
    return {}


def _call(body: Json, parts: McpParts) -> Json:
    """Call a tool for the host itself: the host is trusted, so nothing is asked."""
    from yume_shim.types.outputs import ToolContext

    for option in UNSUPPORTED_OPTIONS:
        if body.get(option):
            raise BadLine(f"mcp_call: `{option}` is not supported; the tool was not called", code="invalid_value")
    server, tool = _called(body, parts)
    given = body.get("arguments") or {}
    if not isinstance(given, dict):
        raise BadLine("mcp_call: `arguments` must be an object", code="invalid_value")
    if server.status != "connected":
        raise BadLine(f"MCP server not connected: {server.config.name}", code="failed")
    try:
        if body.get("result_not_for_model") is True:
            return server.request("tools/call", {"name": tool, "arguments": given}, parts.lifetime)
        output = parts.servers.call(server, tool, given, ToolContext("mcp_call", parts.lifetime))
    except (McpError, ToolFailed) as error:
        raise BadLine(error.message, code="failed") from None
    if output.is_error:
        raise BadLine(str(output.content), code="failed")
    shown = output.structured
    return shown if isinstance(shown, dict) else {"content": shown}


def _called(body: Json, parts: McpParts) -> tuple[Server, str]:
    """The server and its own name of the tool: SDKs send the full name, `mcp__server__tool`."""
    tool = body.get("tool") or body.get("toolName")
    if not isinstance(tool, str):
        raise BadLine("mcp_call needs `tool`, a full name such as mcp__server__tool", code="invalid_value")
    if body.get("serverName") or body.get("server_name"):
        server = _server(body, parts)
    else:
        known = [each for each in parts.servers.all() if tool.startswith(f"{PREFIX}{plain(each.config.name)}__")]
        if not known:
            raise BadLine(f"MCP server not connected: {tool.removeprefix(PREFIX).split('__')[0]}", code="not_found")
        server = max(known, key=lambda each: len(each.config.name))  # `a__b` before `a`
        own, _ = server.tools.get(tool, ("", None))
        tool = own or tool.removeprefix(f"{PREFIX}{plain(server.config.name)}__")
    if server.config.kind == "sdk":
        raise BadLine("SDK servers are called by the host itself", code="invalid_value")
    return server, tool


def _read_resource(body: Json, parts: McpParts) -> Json:
    """Read a resource that a host shows to its user (MCP Apps)."""
    uri = body.get("uri")
    if not isinstance(uri, str) or not uri.startswith(RESOURCE_SCHEME):
        raise BadLine(f"mcp_read_resource: `uri` must begin with {RESOURCE_SCHEME}", code="invalid_value")
    server = _server(body, parts)
    if server.config.kind == "sdk":
        raise BadLine("SDK servers are read by the host itself", code="invalid_value")
    if server.status != "connected":
        raise BadLine(f"MCP server not connected: {server.config.name}", code="failed")
    try:
        found = server.request("resources/read", {"uri": uri}, parts.lifetime).get("contents")
    except McpError as error:
        raise BadLine(error.message, code="failed") from None
    items = [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    kept = ("uri", "mimeType", "text", "blob", "_meta")
    contents = [{name: item[name] for name in kept if name in item} for item in items]
    if sum(len(str(text)) for item in contents for text in item.values()) > MAX_RESOURCE:
        raise BadLine(f"mcp_read_resource: the resource has more than {MAX_RESOURCE:,} characters", code="failed")
    return {"contents": contents}


def _authenticate(body: Json, parts: McpParts) -> Json:
    from yume_shim.app.mcp_sign_in import sign_in

    return sign_in(_remote(body, parts), parts)


def _clear_auth(body: Json, parts: McpParts) -> Json:
    from yume_shim.extensions.mcp.tokens import forget

    server = _remote(body, parts)
    try:
        forget(server.config.url, parts.env)
    except McpError as error:
        raise BadLine(error.message, code="failed") from None
    try:
        server.reconnect(parts.lifetime)  # its status says whether it works without
    except Cancelled:
        pass
    return {}


def _remote(body: Json, parts: McpParts) -> Server:
    server = _server(body, parts)
    if server.config.kind not in ("http", "sse"):
        raise BadLine(f"MCP server {server.config.name} has no sign-in: only http and sse servers do", code="failed")
    return server


_WORK: dict[str, Callable[[Json, McpParts], Json | None]] = {
    "mcp_reconnect": _reconnect,
    "mcp_toggle": _toggle,
    "mcp_set_servers": _set_servers,
    "mcp_call": _call,
    "mcp_read_resource": _read_resource,
    "mcp_authenticate": _authenticate,
    "mcp_clear_auth": _clear_auth,
}
