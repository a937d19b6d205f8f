"""The two tools for resources of MCP servers: list them, read one. They need no permission: servers offer them to be
read."""

from __future__ import annotations

from yume_shim.extensions.mcp.errors import McpError, RpcError
from yume_shim.extensions.mcp.results import resource_blocks
from yume_shim.text import codec
from yume_shim.types.errors import ToolFailed
from yume_shim.types.models import ToolSpec
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.extensions.mcp.server import Server
    from yume_shim.extensions.mcp.servers import McpServers
    from yume_shim.types.blocks import Json, ToolCall
    from yume_shim.types.outputs import ToolContext

LIST, READ = "ListMcpResourcesTool", "ReadMcpResourceTool"
_SERVER: Json = {"type": "string", "description": "Name of the MCP server"}
SPECS = (
    ToolSpec(
        LIST,
        "Lists the resources that MCP servers offer, of one server or of all.",
        {"type": "object", "properties": {"server": _SERVER}},
        source="mcp",
        gated=False,
        parallel=True,
    ),
    ToolSpec(
        READ,
        "Reads one resource of an MCP server by its URI.",
        {
            "type": "object",
            "properties": {"server": _SERVER, "uri": {"type": "string", "description": "URI of the resource"}},
            "required": ["server", "uri"],
        },
        source="mcp",
        gated=False,
        parallel=True,
    ),
)


def run_resource_tool(servers: McpServers, call: ToolCall, context: ToolContext) -> ToolOutput:
    """Run one of the two; raises ToolFailed or Cancelled."""
    match call.name:
        case name if name == LIST:
            return _list(servers, call, context)
        case name if name == READ:
            return _read(_server(servers, call), call, context)
        case name:
            raise ToolFailed(f"No such tool available: {name}")


def _list(servers: McpServers, call: ToolCall, context: ToolContext) -> ToolOutput:
    chosen = (_server(servers, call),) if call.input.get("server") else servers.all()
    found: list[Json] = []
    for server in chosen:
        if server.status == "connected" and server.has_resources:
            found += [{**entry, "server": server.config.name} for entry in server.resources]
    return ToolOutput(codec.dumps(found).decode("utf-8") if found else "No resources found.", found)


def _read(server: Server, call: ToolCall, context: ToolContext) -> ToolOutput:
    uri = call.input.get("uri")
    if not isinstance(uri, str):
        raise ToolFailed("InputValidationError: `uri` is missing", before_run=True)
    try:
        result = server.request("resources/read", {"uri": uri}, context.cancel)
    except RpcError as error:  # as in the Claude CLI, a resource that does not exist is an answer, not a failure
        return ToolOutput(f"{server.config.name} cannot read {uri}: {error.message}")
    except McpError as error:
        raise ToolFailed(error.message) from None
    contents = result.get("contents")
    entries = [entry for entry in contents if isinstance(entry, dict)] if isinstance(contents, list) else []
    return ToolOutput(tuple(block for entry in entries for block in resource_blocks(entry)) or "(empty)", entries)


def _server(servers: McpServers, call: ToolCall) -> Server:
    name = call.input.get("server")
    server = servers.get(name) if isinstance(name, str) else None
    if server is None:
        known = ", ".join(each.config.name for each in servers.all())
        raise ToolFailed(f'Server "{name}" not found. Available servers: {known or "none"}')
    return server
