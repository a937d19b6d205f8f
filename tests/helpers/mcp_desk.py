"""MCP servers with everything that they need, for tests of the client against real servers."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yume_shim.engine.cancel import CancelSignal
from yume_shim.extensions.mcp.servers import McpServers
from yume_shim.extensions.mcp.services import McpServices
from yume_shim.host.host_requests import HostRequests
from yume_shim.host.ids import CountedIds
from yume_shim.system.orphan_watcher import OrphanWatcher
from yume_shim.types.blocks import Text, ToolCall
from yume_shim.types.outputs import ToolContext, ToolOutput
from yume_shim.types.settings import McpServer
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from yume_shim.types.events import ProgressReport

HELPERS = Path(__file__).parent
REFERENCE, ODD = str(HELPERS / "mcp_server.py"), str(HELPERS / "odd_mcp_server.py")


class Desk:
    """Servers with everything that they need, and what they logged."""

    def __init__(self, folder: Path) -> None:
        self.logged: list[str] = []
        self.changes = 0
        self.saved: dict[str, bytes] = {}
        self.lifetime = CancelSignal()
        self.watcher = OrphanWatcher(self.log)
        self.services = McpServices(
            cwd=str(folder),
            env={"PATH": os.environ["PATH"], "HOME": str(folder)},
            roots=lambda: (str(folder),),
            host=HostRequests(lambda _: "", CountedIds()),
            watcher=self.watcher,
            log=self.log,
            changed=self.changed,
            elicit=lambda server, params, cancel: {"action": "accept", "content": {"to": server}},
            save=self.save,
            connect_s=20.0,
            call_s=20.0,
            lifetime=self.lifetime,
        )
        self.servers: list[McpServers] = []

    def log(self, level: str, message: str) -> None:
        self.logged.append(f"{level}: {message}")

    def changed(self) -> None:
        self.changes += 1

    def save(self, name: str, data: bytes, ending: str) -> str:
        self.saved[f"{name}{ending}"] = data
        return f"saved/{name}{ending}"

    def open(self, *configs: McpServer, **limits: float) -> McpServers:
        made = McpServers(configs, replace(self.services, **limits), 25_000)
        self.servers.append(made)
        made.start(sdk=False)
        made.wait(CancelSignal())
        return made

    def odd(self, *behaviour: str, **limits: float) -> McpServers:
        return self.open(config("odd", ODD, *behaviour), **limits)

    def close(self) -> None:
        for made in self.servers:
            made.close()
        self.lifetime.set()
        self.watcher.close()


def config(name: str, *args: str) -> McpServer:
    return McpServer(name=name, command=sys.executable, args=args, waited_for=True)


def call(
    servers: McpServers,
    name: str,
    cancel: CancelSignal | None = None,
    reports: list[ProgressReport] | None = None,
    **given: Any,
) -> ToolOutput:
    """Call a tool as the engine does; `reports` collects what it says about its progress."""
    spec = servers.find(name)
    assert spec is not None, servers.specs()
    prepared = servers.prepare(ToolCall("c1", name, given), spec)
    report = None if reports is None else reports.append
    return servers.run(prepared, ToolContext("c1", cancel or CancelSignal(), report=report))


def only_text(output: ToolOutput) -> str:
    assert isinstance(output.content, tuple)
    [content] = output.content
    assert isinstance(content, Text)
    return content.text


def status(servers: McpServers) -> list[tuple[str, str]]:
    return [(server.status, server.error) for server in servers.all()]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False
