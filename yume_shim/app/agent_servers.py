"""MCP servers of an agent's definition: they start with the agent and end with it."""

from __future__ import annotations

from yume_shim.config.mcp_admission import refusal
from yume_shim.config.mcp_settings import server_of
from yume_shim.extensions.mcp.servers import McpServers
from yume_shim.types.errors import BadInvocation
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.app.mcp import McpParts
    from yume_shim.types.agents import AgentDefinition
    from yume_shim.types.ports import Cancel, ToolSource
    from yume_shim.types.settings import McpServer


class AgentServers:
    """The servers of one run of an agent. `open` and `close` run on the agent's thread."""

    def __init__(self, agent: AgentDefinition, parts: McpParts, log: Callable[[str, str], None]) -> None:
        self._agent, self._parts, self._log = agent, parts, log
        self._servers: McpServers | None = None

    def open(self, cancel: Cancel) -> ToolSource | None:
        """Start them and wait until they are connected or have failed; None if there are none. Never raises."""
        configs = [config for entry in self._agent.mcp_servers if (config := self._config(entry)) is not None]
        if not configs:
            return None
        services = replace(self._parts.services, changed=lambda: None)
        self._servers = McpServers(configs, services, self._parts.max_tokens)
        self._servers.start(sdk=False)
        self._servers.wait(cancel)
        for server in self._servers.all():
            if server.status != "connected":
                self._warn(f"server {server.config.name}: {server.error or server.status}")
        return self._servers

    def close(self) -> None:
        """End them."""
        if self._servers is not None:
            self._servers.close()

    def _config(self, entry: object) -> McpServer | None:
        """A server that the definition describes; those that it only names belong to the session. `${NAME}` never means
        the key of a provider."""
        if not isinstance(entry, dict):
            return None
        [(name, table)] = entry.items()
        try:
            config = server_of(name, table, "dynamic", self._parts.services.env, self._log, waited_for=True)
        except BadInvocation as error:
            self._warn(f"server {name} is not started: {error.message}")
            return None
        problem = refusal(config, self._parts.admission)
        if problem:
            self._warn(f"server {name} is not started: {problem}")
        return None if problem else config

    def _warn(self, text: str) -> None:
        self._log("warning", f"agent {self._agent.name}: {text}")
