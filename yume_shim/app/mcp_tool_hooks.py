"""Calls a tool of an MCP server for a hook. The settings name it, so nothing is asked."""

from __future__ import annotations

from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.app.lazy_mcp import LazyMcp
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Cancel


def call_server_tool(mcp: LazyMcp, server: str, tool: str, given: Json, cancel: Cancel) -> tuple[str, bool]:
    """(the text of the result, whether it is an error). Waits for servers that are still being started. Raises
    ToolFailed, `before_run` if the server is not connected, or Cancelled."""
    mcp.wait(cancel)
    cancel.check()
    found = None if mcp.parts is None else mcp.parts.servers.get(server)
    if mcp.parts is None or found is None or found.status != "connected":
        raise ToolFailed(f"the MCP server {server!r} is not connected", before_run=True)
    output = mcp.parts.servers.call(found, tool, given, ToolContext("hook", cancel))
    content = output.content
    text = content if isinstance(content, str) else "\n".join(getattr(block, "text", "") for block in content)
    return text, output.is_error is True
