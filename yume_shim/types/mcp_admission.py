"""Which MCP servers the settings admit, as a value that outlives the reading of settings files."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class McpAdmission(Value):
    """Which MCP servers the settings admit. Entries are objects with `serverName`, `serverCommand` or `serverUrl`."""

    denied: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """(name of the settings layer, entry)."""
    allowed: tuple[Mapping[str, Any], ...] | None = None
    """None = every server that is not denied."""
