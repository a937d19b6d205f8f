"""Names of MCP tools as the model sees them: `mcp__SERVER__TOOL`."""

from __future__ import annotations

import re

PREFIX = "mcp__"
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_-]")


def plain(name: str) -> str:
    """A name with every character that tool names may not have replaced by `_`."""
    return _NOT_ALLOWED.sub("_", name)


def tool_name(server: str, tool: str) -> str:
    """The full name of a tool."""
    return f"{PREFIX}{plain(server)}__{plain(tool)}"
