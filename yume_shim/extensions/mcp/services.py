"""What MCP servers need from the rest of the program."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from yume_shim.extensions.mcp.channel import ProcessWatcher
    from yume_shim.extensions.mcp.recording import Tape
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Cancel, HostChannel
    from yume_shim.types.settings import McpServer


class McpServices(Value):
    """One value for all servers of a session."""

    cwd: str
    env: Mapping[str, str]
    """The environment of server processes, without the keys of providers."""
    roots: Callable[[], tuple[str, ...]]
    """The folders that tools may use."""
    host: HostChannel
    watcher: ProcessWatcher | None
    log: Callable[[str, str], None]
    changed: Callable[[], None]
    """Called when the status or the lists of a server have changed."""
    elicit: Callable[[str, Json, Cancel], Json]
    """Asks the host a question of a server: (server, params) → the answer for the server."""
    save: Callable[[str, bytes, str], str]
    """Writes a part of the result of the call with this id to a file with this ending and returns its path; raises
    OSError."""
    connect_s: float
    call_s: float
    lifetime: Cancel
    """Set when the program ends."""
    record: Callable[[McpServer], Tape] | None = None
    """The recording of a server (`--record`)."""
    replayed: str = ""
    """The cassette that servers are played from, instead of being started."""
