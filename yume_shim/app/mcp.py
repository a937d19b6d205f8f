"""Joins the MCP servers with the rest of the program: environment, host, output, tools."""

from __future__ import annotations

import threading

from yume_shim.engine.cancel import CancelSignal
from yume_shim.extensions.mcp.servers import McpServers
from yume_shim.extensions.mcp.services import McpServices
from yume_shim.types.errors import Cancelled
from yume_shim.types.events import CommandsChanged, ServersChanged
from yume_shim.types.settings import McpServer
from yume_shim.types.side_events import ElicitationAsked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.extensions.mcp.recording import Tape
    from yume_shim.tools.dispatch.builtin import BuiltinTools
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Cancel, Emit, Gate, HostChannel
    from yume_shim.types.settings import Settings

DECLINED: Json = {"action": "decline"}


class McpParts:
    """The servers of a session, and what they need."""

    def __init__(
        self,
        settings: Settings,
        tools: BuiltinTools,
        gate: Gate,
        host: HostChannel,
        emit: Emit,
        log: Callable[[str, str], None],
        tool_names: Callable[[], tuple[str, ...]] | None,
        list_commands: Callable[[tuple[Json, ...]], tuple[Json, ...]],
        secrets: Sequence[str] = (),
    ) -> None:
        """`tool_names` returns the names of all tools of the session, for the events about changes; None = changes are
        not announced: init lines of the Claude forms report the servers at each turn. `list_commands` completes a list
        of commands for hosts."""
        self._settings, self._host, self._emit, self._log = settings, host, emit, log
        self._list_commands = list_commands
        self._secrets = secrets  # not copied: it grows when a key is obtained later
        self.lifetime = CancelSignal()
        """Set when the program ends."""
        self.env, self.connect_s, self.admission = settings.env, settings.mcp.connect_s, settings.mcp.admission
        self.setting = threading.Lock()
        """Held while the host changes its servers; guards `set_by_host`."""
        self.set_by_host: frozenset[str] = frozenset()
        """Servers of the last `mcp_set_servers`."""
        self._tool_names = tool_names
        self._telling = threading.Lock()
        self._told: tuple[Json, ...] | None = None
        """The commands that the host knows; None = it has not asked for them."""
        self.services = McpServices(
            cwd=settings.cwd,
            env=tools.environment,
            roots=lambda: (settings.cwd, *gate.directories()),
            host=host,
            watcher=tools.orphan_watcher,
            log=log,
            changed=self._on_change,
            elicit=self._elicit,
            save=tools.save_output,
            connect_s=settings.mcp.connect_s,
            call_s=settings.mcp.call_s,
            lifetime=self.lifetime,
            record=self._tape if settings.network.record else None,
            replayed=self._cassette(),
        )
        self.max_tokens = settings.mcp.output_tokens
        self.servers = McpServers(settings.mcp.servers, self.services, self.max_tokens)
        if settings.permissions.prompt_tool.startswith("mcp__"):
            self.servers.hide(settings.permissions.prompt_tool)

    def _tape(self, config: McpServer) -> Tape:
        """The recording of a server: without our keys, and without what its own environment and headers hold."""
        from yume_shim.extensions.mcp.recording import Tape
        from yume_shim.providers.cassettes.record import safe_line

        own = (*config.env.values(), *config.headers.values())

        def safe(item: Json) -> bytes:
            return safe_line(item, (*self._secrets, *own))

        return Tape(self._settings.network.record, config.name, safe, self._log)

    def _cassette(self) -> str:
        """The cassette that servers are played from; "" if they are started."""
        cassette = self._settings.network.cassette
        if not cassette:
            return ""
        from yume_shim.extensions.mcp.recording import is_recorded

        return cassette if is_recorded(cassette) else ""

    def start(self) -> None:
        """Start the servers, except those in the host's process, which `initialize` starts."""
        self.servers.start(sdk=False)

    def add_host_servers(self, names: Sequence[str]) -> None:
        """Add servers in the host's process; those that are known already stay as they are."""
        for name in names:
            if self.servers.get(name) is None:
                self.servers.add(McpServer(name=name, kind="sdk", source="sdk", waited_for=True))

    def commands(self) -> tuple[Json, ...]:
        """Prompts of the servers as slash commands, with descriptions and hints for arguments."""
        if not self._settings.host.slash_commands or not any(server.prompts for server in self.servers.all()):
            return ()
        from yume_shim.extensions.mcp.prompts import commands

        return commands(self.servers.all())

    def told_commands(self) -> tuple[Json, ...]:
        """The same for the answer to `initialize`: from now on changes are announced."""
        with self._telling:
            self._told = self.commands()
            return self._told

    def expand(self, name: str, arguments: str, cancel: Cancel) -> str | None:
        """The text of a prompt; None if there is none of this name. Raises ToolFailed or Cancelled."""
        from yume_shim.extensions.mcp.prompts import prompt_text

        return prompt_text(self.servers.all(), name, arguments, cancel)

    def close(self) -> None:
        """End all servers."""
        self.servers.close()
        self.lifetime.set()

    def changed(self) -> None:
        """Servers were added or removed: the host learns it as it learns of other changes."""
        self._on_change()

    def _on_change(self) -> None:
        if self.lifetime.is_set():
            return
        if self._tool_names is not None:
            names = tuple(str(command["name"]) for command in self.commands())
            self._emit(ServersChanged(self.servers.summary(), self._tool_names(), names))
            return
        with self._telling:
            now = self.commands()
            changed, self._told = self._told not in (None, now), self._told if self._told is None else now
            if changed:
                self._emit(CommandsChanged(self._list_commands(now)))

    def _elicit(self, server: str, params: Json, cancel: Cancel) -> Json:
        """Pass a server's question to the host; without a host that answers it is declined."""
        from yume_shim.app.start import host_answers

        if not self._host.is_open() or not host_answers(self._settings, self._settings.permissions.mode):
            return DECLINED
        try:
            reply = self._host.ask(
                lambda ask_id: ElicitationAsked(ask_id, server, params),
                timeout_s=self._settings.limits.timeouts.approval,
                cancel=cancel,
            )
        except Cancelled:
            return {"action": "cancel"}
        action = reply.body.get("action") if reply.outcome == "answered" else None
        if action not in ("accept", "decline", "cancel"):
            return DECLINED
        content = reply.body.get("content")
        return {"action": action, **({"content": content} if isinstance(content, dict) else {})}
