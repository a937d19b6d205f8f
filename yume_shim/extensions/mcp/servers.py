"""All MCP servers of a session, as one tool source: starts them side by side, offers their tools, runs calls."""

from __future__ import annotations

import threading
import time

from yume_shim.extensions.mcp.errors import McpError, NoAnswer
from yume_shim.extensions.mcp.names import PREFIX, plain
from yume_shim.extensions.mcp.progress import progress_to
from yume_shim.extensions.mcp.results import tool_output
from yume_shim.extensions.mcp.server import Server
from yume_shim.types.calls import PreparedCall
from yume_shim.types.errors import ToolFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from yume_shim.extensions.mcp.services import McpServices
    from yume_shim.types.blocks import Json, ToolCall
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.outputs import ToolContext, ToolOutput
    from yume_shim.types.ports import Cancel
    from yume_shim.types.settings import McpServer

SHORT_WAIT_S = 2.0
"""How long the first turn waits for servers that are found, not named on the command line (`.mcp.json` …)."""
SETTLE_S = 5.0
"""How long a server that did not connect in time may take to be ended, on a busy machine."""
MAX_SERVERS = 64


class McpServers:
    """Implements `types.ports.ToolSource`. Safe from any thread; `_lock` guards the table of servers, which is
    replaced as a whole."""

    own_schemas = True  # the server validates its own input, as in the Claude CLI

    def __init__(self, configs: Iterable[McpServer], services: McpServices, max_tokens: int) -> None:
        """`max_tokens`: the longest result of a tool that the model gets."""
        self._services, self._max_tokens = services, max_tokens
        self._lock = threading.Lock()
        self._servers: dict[str, Server] = {}
        self._opened = time.monotonic()
        self._hidden: frozenset[str] = frozenset()
        for config in configs:
            self.add(config)

    def add(self, config: McpServer) -> Server | None:
        """Add a server, without starting it; one of the same name is replaced. None if there are too many."""
        with self._lock:
            if len(self._servers) >= MAX_SERVERS:
                self._services.log("warning", f"MCP server {config.name}: more than {MAX_SERVERS} servers")
                return None
            server = Server(config, self._services)
            self._servers = {**self._servers, config.name: server}
            return server

    def remove(self, name: str) -> None:
        """End a server and forget it."""
        with self._lock:
            server = self._servers.get(name)
            self._servers = {key: kept for key, kept in self._servers.items() if key != name}
        if server is not None:
            server.end()

    def get(self, name: str) -> Server | None:
        return self._servers.get(name)

    def all(self) -> tuple[Server, ...]:
        return tuple(self._servers.values())

    def hide(self, name: str) -> None:
        """Do not offer this tool to the model: it answers permission questions."""
        self._hidden = self._hidden | {name}

    def summary(self) -> tuple[Json, ...]:
        """Name, status and source of each server, and why it is not connected: for init lines."""
        return tuple(
            {
                "name": server.config.name,
                "status": server.status,
                "source": server.config.source,
                **({"error": server.error} if server.error else {}),
            }
            for server in self.all()
        )

    def details(self) -> tuple[Json, ...]:
        """Everything that `mcp_status` reports. Environment and headers may hold keys, so they are not shown."""
        return tuple(_details(server) for server in self.all())

    # ------------------------------------------------------------ starting and waiting

    def start(self, *, sdk: bool) -> None:
        """Start the servers that have not been started; those in the host's process only with `sdk`."""
        for server in self.all():
            if (server.config.kind == "sdk") <= sdk:
                server.start()

    def wait(self, cancel: Cancel) -> None:
        """Wait until the servers are connected or have failed: those of the command line as long as a connection may
        take, the others for a short time after the start. Returns early when cancelled."""
        self.start(sdk=True)
        short = max(0.0, self._opened + SHORT_WAIT_S - time.monotonic())
        for server in self.all():
            server.wait(self._services.connect_s + SETTLE_S if server.config.waited_for else short, cancel)
            if cancel.is_set():
                return

    def close(self) -> None:
        """End all servers, side by side."""
        servers = self.all()
        for server in servers:
            server.begin_close()
        ending: list[threading.Thread] = []
        for server in servers[1:]:
            thread = threading.Thread(target=server.end, name="mcp-end", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system gives no more threads
                server.end()
            else:
                ending.append(thread)
        for server in servers[:1]:
            server.end()
        for thread in ending:
            thread.join()

    # ------------------------------------------------------------ ToolSource

    def specs(self) -> tuple[ToolSpec, ...]:
        """Tools of all connected servers, in the order of the configuration, then those for resources."""
        found = [spec for server in self.all() if server.status == "connected" for _, spec in server.tools.values()]
        if any(server.has_resources for server in self.all()):
            from yume_shim.extensions.mcp.resources import SPECS

            found += SPECS
        return tuple(spec for spec in found if spec.name not in self._hidden)

    def find(self, name: str) -> ToolSpec | None:
        return next((spec for spec in self.specs() if spec.name == name), None)

    def why_missing(self, name: str) -> str:
        if not name.startswith(PREFIX):
            return ""
        for server in self.all():
            if name.startswith(f"{PREFIX}{plain(server.config.name)}__") and server.status != "connected":
                return f"MCP server {server.config.name}: {server.error or server.status}"
        return ""

    def complete(self, call: ToolCall, spec: ToolSpec, *, fix_arguments: bool = False) -> ToolCall:
        return call

    def prepare(self, call: ToolCall, spec: ToolSpec) -> PreparedCall:
        if call.broken is not None:
            message = f"InputValidationError: {spec.name}: the input is not one complete JSON object"
            raise ToolFailed(message, before_run=True)
        return PreparedCall(call, spec, self)

    def run(self, prepared: PreparedCall, context: ToolContext) -> ToolOutput:
        """Call the tool on its server; raises ToolFailed or Cancelled."""
        call = prepared.call
        output = self.call_named(prepared.spec.name, call.input, context)
        if output is not None:
            return output
        from yume_shim.extensions.mcp.resources import run_resource_tool

        return run_resource_tool(self, call, context)

    def call_named(self, name: str, given: Json, context: ToolContext) -> ToolOutput | None:
        """Call a tool by its full name, also one that is hidden from the model; None if no server has it."""
        for server in self.all():
            own, spec = server.tools.get(name, ("", None))
            if spec is not None:
                return self.call(server, own, given, context)
        return None

    def call(self, server: Server, tool: str, given: Json, context: ToolContext) -> ToolOutput:
        """The output of one `tools/call`."""
        params: Json = {"name": tool, "arguments": given, "_meta": {"claudecode/toolUseId": context.call_id}}

        def keep(data: bytes, ending: str) -> str:
            try:
                return self._services.save(context.call_id, data, ending)
            except OSError as error:
                self._services.log("warning", f"MCP server {server.config.name}: a result is not saved: {error}")
                return ""

        try:
            result = server.request("tools/call", params, context.cancel, on_progress=progress_to(context.report))
            output = tool_output(result, keep)
            server.settle()
        except NoAnswer:
            name, seconds = server.config.name, self._services.call_s
            raise ToolFailed(f'MCP server "{name}" tool "{tool}" timed out after {seconds:g}s') from None
        except McpError as error:
            raise ToolFailed(error.message) from None
        from yume_shim.extensions.mcp.large_results import limited

        return limited(output, self._max_tokens, self._services.save, context.call_id)


def _details(server: Server) -> Json:
    config = server.config
    found: Json = {
        "name": config.name,
        "status": server.status,
        "scope": "dynamic" if config.source in ("dynamic", "sdk", "host") else config.source,
        "source": config.source,
        "transport": config.kind,
        "config": _config(server),
    }
    if server.status == "connected":
        found["serverInfo"] = server.info
        found["tools"] = [
            {"name": entry.get("name"), "description": entry.get("description", ""), "annotations": _annotations(entry)}
            for entry in server.tool_entries
        ]
    if server.error:
        found["error"] = server.error
    return found


def _config(server: Server) -> Json:
    config = server.config
    match config.kind:
        case "stdio":
            return {"type": "stdio", "command": config.command, "args": list(config.args)}
        case "sdk":
            return {"type": "sdk", "name": config.name}
        case _:
            return {"type": config.kind, "url": config.url}


def _annotations(entry: Json) -> Json:
    given = entry.get("annotations")
    given = given if isinstance(given, dict) else {}
    names = {"readOnlyHint": "readOnly", "destructiveHint": "destructive", "openWorldHint": "openWorld"}
    return {short: given[name] for name, short in names.items() if isinstance(given.get(name), bool)}
