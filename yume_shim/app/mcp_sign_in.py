"""`mcp_authenticate`: the browser sign-in to a server, started by the host."""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue

from yume_shim.extensions.mcp.errors import McpError
from yume_shim.types.errors import BadLine, Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.app.mcp import McpParts
    from yume_shim.extensions.mcp.server import Server
    from yume_shim.types.blocks import Json

ADDRESS_S = 60.0
"""How long the server may take to name the address for the browser."""


def sign_in(server: Server, parts: McpParts) -> Json:
    """The address that the host shows to its user: `{authUrl, requiresUserAction}`. When the user has signed in, the
    server is connected anew. Raises BadLine."""
    steps: SimpleQueue[tuple[str, str]] = SimpleQueue()

    def work() -> None:
        from yume_shim.extensions.mcp.login import log_in

        try:
            log_in(server.config, parts.env, lambda url: steps.put(("open", url)), open_browser=False)
        except McpError as error:
            steps.put(("failed", error.message))
            return
        steps.put(("done", ""))
        try:
            server.reconnect(parts.lifetime)
        except Cancelled:
            pass  # the session ends; the token is kept

    threading.Thread(target=work, name="mcp-login", daemon=True).start()
    try:
        kind, text = steps.get(timeout=ADDRESS_S)
    except Empty:
        raise BadLine(f"MCP server {server.config.name} named no address for the sign-in", code="failed") from None
    if kind == "failed":
        raise BadLine(f"The sign-in failed: {text}", code="failed")
    return {"authUrl": text, "requiresUserAction": True} if kind == "open" else {"requiresUserAction": False}
