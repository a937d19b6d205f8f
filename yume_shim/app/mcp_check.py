"""Connects to MCP servers once, side by side, and says how each did: for `yume-shim mcp` and `yume-shim doctor`."""

from __future__ import annotations

from yume_shim.config.credentials import tool_environment
from yume_shim.engine.cancel import CancelSignal
from yume_shim.extensions.mcp.servers import McpServers
from yume_shim.extensions.mcp.services import McpServices
from yume_shim.host.host_requests import HostRequests
from yume_shim.host.ids import CountedIds
from yume_shim.system.orphan_watcher import OrphanWatcher
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.settings import McpServer, Settings


def check_servers(configs: Sequence[McpServer], settings: Settings) -> dict[str, tuple[str, str]]:
    """{name: (status, error)}. Takes no longer than one connection may; every server has ended afterwards."""
    if not configs:
        return {}
    lifetime, watcher = CancelSignal(), OrphanWatcher(_ignore)
    services = McpServices(
        cwd=settings.cwd,
        env=tool_environment(settings),
        roots=lambda: (settings.cwd,),
        host=HostRequests(lambda _: "", CountedIds()),
        watcher=watcher,
        log=_ignore,
        changed=lambda: None,
        elicit=lambda server, params, cancel: {"action": "decline"},
        save=_no_file,
        connect_s=settings.mcp.connect_s,
        call_s=settings.mcp.connect_s,
        lifetime=lifetime,
    )
    servers = McpServers([replace(config, waited_for=True) for config in configs], services, 1)
    try:
        servers.wait(lifetime)
        found = {server.config.name: (server.status, server.error) for server in servers.all()}
    finally:
        servers.close()
        lifetime.set()
        watcher.close()
    return {config.name: found.get(config.name, ("failed", "too many servers")) for config in configs}


def _ignore(level: str, message: str) -> None:
    """What servers log is not shown: the state of each is one line."""


def _no_file(call_id: str, data: bytes, ending: str) -> str:
    raise OSError("no tool is called here")
