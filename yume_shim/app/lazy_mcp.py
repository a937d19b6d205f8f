"""Opens the MCP servers when the first one is configured, by the settings or by the host; loads nothing before."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.app.mcp import McpParts
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Cancel


class LazyMcp:
    """Used by the session's thread and the stdin reader's; the lock makes sure that the servers are opened once."""

    def __init__(self, make: Callable[[], McpParts]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self.parts: McpParts | None = None

    def open(self) -> McpParts:
        """The servers, opened now if they were not."""
        with self._lock:
            if self.parts is None:
                self.parts = self._make()
                self.parts.start()
            return self.parts

    def wait(self, cancel: Cancel) -> None:
        """Wait until the servers offer their tools, within their limits."""
        if self.parts is not None:
            self.parts.servers.wait(cancel)

    def summary(self) -> tuple[Json, ...]:
        """The servers for init lines."""
        return self.parts.servers.summary() if self.parts is not None else ()

    def commands(self) -> tuple[Json, ...]:
        """Prompts of the servers, as slash commands."""
        return self.parts.commands() if self.parts is not None else ()

    def expand(self, name: str, arguments: str, cancel: Cancel) -> str | None:
        """The text of a prompt; None if there is none of this name. Raises ToolFailed or Cancelled."""
        if self.parts is None or not name.startswith("mcp__"):
            return None
        return self.parts.expand(name, arguments, cancel)

    def close(self) -> None:
        if self.parts is not None:
            self.parts.close()
