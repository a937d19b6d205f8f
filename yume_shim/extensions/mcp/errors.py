"""How a request to an MCP server can fail, besides being cancelled.

McpError
├── RpcError       the server answered with an error
├── ServerGone     the connection is closed
├── SessionLost    the server no longer knows the session (HTTP 404): nothing was done
├── NoAnswer       the time limit passed
└── NeedsAuth      the server wants a sign-in (HTTP 401 or 403)
"""

from __future__ import annotations

CLOSED = "Connection closed"
"""Why a request failed whose server ended; the Claude CLI says the same."""


ENDED = "closed"
"""Why a connection ended that we closed ourselves."""


class McpError(Exception):
    """The base; `message` is for the model and the user."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class RpcError(McpError):
    """A JSON-RPC error object."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class ServerGone(McpError):
    """The server's process ended, or its connection closed."""


class SessionLost(McpError):
    """The server forgot our session, for instance because it was restarted."""


class NoAnswer(McpError):
    """The server did not answer within the time limit."""


class NeedsAuth(McpError):
    """The server refuses requests without a sign-in."""
