"""One MCP server: connects to it, keeps its lists, calls its tools, connects again after it ended."""

from __future__ import annotations

import threading
import time

from yume_shim import __version__
from yume_shim.extensions.mcp.errors import (
    CLOSED,
    ENDED,
    McpError,
    NeedsAuth,
    NoAnswer,
    RpcError,
    ServerGone,
    SessionLost,
)
from yume_shim.extensions.mcp.listing import read_list, tool_specs
from yume_shim.extensions.mcp.peer import METHOD_NOT_FOUND, Peer
from yume_shim.types.errors import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from yume_shim.extensions.mcp.channel import Channel
    from yume_shim.extensions.mcp.recording import Place
    from yume_shim.extensions.mcp.services import McpServices
    from yume_shim.types.blocks import Json
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.ports import Cancel
    from yume_shim.types.settings import McpServer

    Status = Literal["pending", "connected", "failed", "needs-auth", "disabled"]

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Protocol versions that we speak, newest first. We offer the newest; the server chooses."""
MAX_RESTARTS = 5
"""How often a server that ended is started again."""
MAX_MESSAGES, MAX_MESSAGE_CHARS = 2_000, 2_000
"""Log messages of a server that are kept, and characters of each; the rest is dropped."""
CLOSE_S = 2.0
REFRESH_PAUSE_S = 0.05
"""Between a server's word that a list changed and reading it: several changes are read together."""
MAX_PAUSES = 20
"""A server that reports changes all the time is read at longer and longer intervals, up to so many pauses."""
SETTLE_S = 2.0
"""How long the result of a call waits for lists that the call has changed."""


class Server:
    """Safe from any thread. `_connecting` allows one connection attempt at a time; `_lock` guards status and lists."""

    def __init__(self, config: McpServer, services: McpServices) -> None:
        self.config, self._services = config, services
        self._connecting = threading.Lock()
        self._lock = threading.Lock()
        self._ending = threading.Lock()
        self._stop_opening: Callable[[], None] = _nothing
        """Ends the command that the opening of the channel waits for."""
        self._tape = None if services.record is None or config.kind == "sdk" else services.record(config)
        self._place: Place | None = None
        """Where a replay is."""
        self._peer: Peer | None = None
        self._channel: Channel | None = None
        self._starts = self._messages = 0
        self._begun = self._settled = self._closing = False
        self._waiting: list[Callable[[], None]] = []
        self._fresh = threading.Condition(self._lock)
        """Notified when no list is being read again any more."""
        self._reading = False
        self._stale: frozenset[str] = frozenset()
        """Lists that must be read again: "tools", "prompts", "resources"."""
        self.status: Status = "pending"
        self.error = ""
        self.info: Json = {}
        self.instructions = ""
        self.tools: dict[str, tuple[str, ToolSpec]] = {}
        self.tool_entries: list[Json] = []
        self.prompts: list[Json] = []
        self.resources: list[Json] = []
        self.has_resources = False

    # ------------------------------------------------------------ connecting

    def start(self) -> None:
        """Connect on a thread, once."""
        with self._lock:
            if self._begun:
                return
            self._begun = True

        def work() -> None:
            try:
                self.connect(self._services.lifetime)
            except Cancelled:
                pass  # the program ends
            finally:
                with self._lock:
                    self._settled, waiting = True, self._waiting
                for wake in waiting:
                    wake()

        threading.Thread(target=work, name="mcp-connect", daemon=True).start()

    def wait(self, seconds: float, cancel: Cancel) -> None:
        """Wait until the first attempt to connect has ended. Returns early when cancelled."""
        woken = threading.Event()
        with self._lock:
            if self._settled:
                return
            self._waiting.append(woken.set)
        with cancel.guard(woken.set):
            woken.wait(seconds)

    def connect(self, cancel: Cancel) -> bool:
        """Connect and read the lists; False (and `error`) if that fails. Raises Cancelled."""
        with self._connecting:
            if self.status == "connected" and self._peer is not None and not self._peer.gone:
                return True
            try:
                self._connect(cancel)
            except NeedsAuth as error:
                self._set("needs-auth", error.message)
            except McpError as error:
                self._set("failed", error.message)
            except Cancelled:
                self.disconnect()
                raise
            else:
                self._set("connected", "")
            if self.status != "connected":
                if not self._closing:
                    self._services.log("warning", f"MCP server {self.config.name}: {self.error}")
                self.disconnect()
            return self.status == "connected"

    def reconnect(self, cancel: Cancel) -> bool:
        """Connect anew, whatever the status is, and count restarts from zero. Raises Cancelled."""
        self.disconnect()
        self._starts = 0
        self._set("pending", "")
        return self.connect(cancel)

    def take(self, message: Any) -> None:
        """A message of a server in the host's process that the host passes on."""
        peer = self._peer
        if peer is not None:
            peer.take(message)

    def _connect(self, cancel: Cancel) -> None:
        if self.config.problem:
            raise McpError(self.config.problem)
        self.disconnect()
        self._starts += 1
        end = time.monotonic() + self._services.connect_s
        tap = None if self._tape is None else self._tape.note
        peer = Peer(self._send, self._on_request, self._on_notification, self._request_done, tap)
        self._peer = peer
        self._channel = self._open(peer, cancel)
        if self._closing:  # it was opened beside `begin_close`, which has not seen it
            raise McpError(CLOSED)

        def ask(method: str, params: Json) -> Json:
            return peer.request(method, params, seconds=max(0.0, end - time.monotonic()), cancel=cancel)

        sdk = self.config.kind == "sdk"
        capabilities: Json = {} if sdk else {"roots": {"listChanged": False}, "elicitation": {}}
        try:
            hello = ask(
                "initialize",
                {
                    "protocolVersion": VERSIONS[0],
                    "capabilities": capabilities,
                    "clientInfo": {"name": "yume-shim", "version": __version__},
                },
            )
            version = hello.get("protocolVersion")
            if version not in VERSIONS:
                raise McpError(f"the server speaks protocol version {version!r}, which this program does not know")
            self._negotiated(str(version))
            peer.notify("notifications/initialized")
            self._read_lists(peer, hello, max(0.0, end - time.monotonic()), cancel)
        except ServerGone as gone:
            words = getattr(self._channel, "last_words", "") if gone.message == CLOSED else ""
            raise McpError(f"{gone.message}{f' ({words})' if words else ''}") from None
        except NoAnswer:
            raise McpError(f"no answer within {self._services.connect_s:g} s") from None

    def _negotiated(self, version: str) -> None:
        """HTTP requests carry the version from here on."""
        note = getattr(self._channel, "use_version", None)
        if note is not None:
            note(version)

    def _read_lists(self, peer: Peer, hello: Json, seconds: float, cancel: Cancel) -> None:
        info, has = hello.get("serverInfo"), hello.get("capabilities")
        has = has if isinstance(has, dict) else {}
        sdk = self.config.kind == "sdk"
        entries = read_list(peer, "tools/list", "tools", seconds, cancel) if "tools" in has or sdk else []
        prompts = read_list(peer, "prompts/list", "prompts", seconds, cancel) if "prompts" in has and not sdk else []
        resources = "resources" in has and not sdk
        listed = read_list(peer, "resources/list", "resources", seconds, cancel) if resources else []
        with self._lock:
            self.info = info if isinstance(info, dict) else {}
            self.instructions = str(hello.get("instructions") or "")
            self.prompts, self.resources, self.has_resources = prompts, listed, resources
            self.tool_entries = entries
            self.tools = tool_specs(self.config.name, entries, self._services.log)

    def _open(self, peer: Peer, cancel: Cancel) -> Channel:
        """The channel to the server; raises McpError."""
        config, services = self.config, self._services

        def gone(why: str) -> None:
            if self._tape is not None and why != ENDED:
                self._tape.note("gone", why)
            peer.close(why)
            self._lost(peer, why)

        def log(level: str, message: str) -> None:
            services.log(level, f"MCP server {config.name}: {message}")

        if services.replayed and config.kind != "sdk":
            from yume_shim.extensions.mcp.recording import ReplayChannel, open_place

            self._place = self._place or open_place(services.replayed, config.name)
            return ReplayChannel(self._place, peer.take, gone)
        match config.kind:
            case "stdio":
                from yume_shim.extensions.mcp.stdio import StdioChannel

                env = {**services.env, "CLAUDE_PROJECT_DIR": services.cwd, **config.env}
                argv = [config.command, *config.args]
                try:
                    return StdioChannel(argv, services.cwd, env, services.watcher, log, peer.take, gone)
                except (OSError, ValueError) as error:
                    raise McpError(f"cannot start {config.command}: {error}") from None
            case "sdk":
                from yume_shim.extensions.mcp.host_bridge import HostBridge

                return HostBridge(config.name, services.host, services.call_s, services.lifetime, peer.take, gone)
            case "http" | "sse":
                from yume_shim.extensions.mcp.http_channel import open_http_channel

                self._channel = channel = open_http_channel(config, services, log, peer, gone, cancel, self._stopper)
                channel.open(cancel)  # from here on `disconnect` can end it
                return channel

    def _stopper(self, stop: Callable[[], None]) -> None:
        self._stop_opening = stop
        if self._closing:  # `begin_close` has not seen it
            stop()

    def _send(self, message: Json) -> None:
        channel = self._channel
        if channel is None:
            raise ServerGone(CLOSED)
        if self._tape is not None:
            self._tape.note("sent", message)
        channel.send(message)

    def _request_done(self, number: int) -> None:
        """Over HTTP a request has a connection of its own."""
        note = getattr(self._channel, "done", None)
        if note is not None:
            note(number)

    def _lost(self, peer: Peer, why: str) -> None:
        """The connection ended by itself: the tools stay offered, the next call connects again."""
        if why != ENDED and peer is self._peer and self.status == "connected":
            self._services.log("warning", f"MCP server {self.config.name}: {why}")

    def disconnect(self) -> None:
        """Close the connection; `status` stays as it is. If another thread is just doing so, wait for it."""
        with self._ending:
            self._stop_opening()
            channel, peer = self._channel, self._peer
            self._channel = self._peer = None
            if peer is not None:
                peer.close(CLOSED)
            if channel is not None:
                channel.close()
                channel.finish(CLOSE_S)

    def end(self) -> None:
        """For good: no server is left behind, not even one that is being started at this moment."""
        self.begin_close()
        self.disconnect()
        self._await_attempt()

    def begin_close(self) -> None:
        """Tell the server to end, without waiting. It is not connected again."""
        self._closing = True
        self._stop_opening()
        channel = self._channel
        if channel is not None:
            channel.close()

    def disable(self) -> None:
        self.disconnect()
        self._await_attempt()
        self._set("disabled", "")

    def _await_attempt(self) -> None:
        """Another thread may be connecting at this moment: it fails, because its connection was closed."""
        if self._connecting.acquire(timeout=CLOSE_S):
            self._connecting.release()
        self.disconnect()

    def _set(self, status: Status, error: str) -> None:
        with self._lock:
            changed = (self.status, self.error) != (status, error)
            self.status, self.error = status, error
        if changed:
            self._services.changed()

    # ------------------------------------------------------------ requests

    def request(
        self,
        method: str,
        params: Json,
        cancel: Cancel,
        on_progress: Callable[[Json], None] | None = None,
    ) -> Json:
        """A request to the connected server, which is started again if it has ended. Raises McpError or Cancelled."""
        peer = self._connected_peer(cancel)
        limit = self._services.call_s
        try:
            return peer.request(method, params, seconds=limit, cancel=cancel, on_progress=on_progress)
        except SessionLost:  # nothing was done: the request is made once more in a new session
            self.disconnect()
            peer = self._connected_peer(cancel)
            return peer.request(method, params, seconds=limit, cancel=cancel, on_progress=on_progress)
        except NeedsAuth as error:
            self._set("needs-auth", error.message)
            raise

    def _connected_peer(self, cancel: Cancel) -> Peer:
        """The connection, made anew if it has ended. Raises McpError or Cancelled."""
        peer = self._peer
        if peer is None or peer.gone:
            if self._closing:
                raise McpError(CLOSED)
            if self.status == "disabled":
                raise McpError(f"MCP server {self.config.name} is disabled")
            if self._starts > MAX_RESTARTS:
                raise McpError(f"MCP server {self.config.name} ended {self._starts} times and is not started again")
            self.status = "pending"
            if not self.connect(cancel):
                raise McpError(f"MCP server {self.config.name} is not connected: {self.error}")
            peer = self._peer
            if peer is None:
                raise McpError(CLOSED)  # closed meanwhile
        return peer

    # ------------------------------------------------------------ from the server, on its reader's thread

    def _on_notification(self, method: str, params: Json) -> None:
        match method:
            case "notifications/message":
                self._log_message(params)
            case (
                "notifications/tools/list_changed"
                | "notifications/prompts/list_changed"
                | "notifications/resources/list_changed"
            ):
                self._mark_stale(method.split("/")[1])
            case _:
                pass  # cancelled, updated resources: nothing here depends on them

    def _log_message(self, params: Json) -> None:
        self._messages += 1
        if self._messages <= MAX_MESSAGES:
            level = "warning" if params.get("level") in ("error", "critical", "alert", "emergency") else "info"
            text = str(params.get("data", ""))[:MAX_MESSAGE_CHARS]
            self._services.log(level, f"MCP server {self.config.name}: {text}")

    def _mark_stale(self, kind: str) -> None:
        """Read a list again, on a thread; a server that reports changes without end has one reader at a time."""
        with self._lock:
            reading, self._reading = self._reading, True
            self._stale = self._stale | {kind}
        if not reading:
            threading.Thread(target=self._refresh, name="mcp-refresh", daemon=True).start()

    def _refresh(self) -> None:
        reads = 0
        while not self._services.lifetime.wait(REFRESH_PAUSE_S * min(1 + reads, MAX_PAUSES)):
            with self._fresh:
                kind = next(iter(self._stale), "")
                self._stale = self._stale - {kind}
                if not kind:
                    self._reading = False
                    self._fresh.notify_all()
                    return
            self._read_again(kind)
            reads += 1

    def settle(self) -> None:
        """Wait a moment for lists that are being read again, so that the next request has the new tools."""
        with self._fresh:
            self._fresh.wait_for(lambda: not self._reading, SETTLE_S)

    def _read_again(self, kind: str) -> None:
        peer = self._peer
        if peer is None:
            return
        try:
            with self._connecting:
                entries = read_list(peer, f"{kind}/list", kind, self._services.connect_s, self._services.lifetime)
        except (McpError, Cancelled) as error:
            self._services.log("warning", f"MCP server {self.config.name}: cannot read its {kind} again: {error}")
            return
        with self._lock:
            match kind:
                case "tools":
                    self.tool_entries, self.tools = entries, tool_specs(self.config.name, entries, self._services.log)
                case "prompts":
                    self.prompts = entries
                case _:
                    self.resources = entries
        self._services.changed()

    def _on_request(self, method: str, params: Json) -> Json:
        match method:
            case "ping":
                return {}
            case "roots/list":
                return {"roots": [{"uri": _file_uri(folder), "name": folder} for folder in self._services.roots()]}
            case "elicitation/create":
                return self._services.elicit(self.config.name, params, self._services.lifetime)
            case "sampling/createMessage":
                raise RpcError(-1, "this client does not let servers use the model")
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"unknown method: {method}")


def _nothing() -> None:
    """Nothing is being opened."""


def _file_uri(folder: str) -> str:
    from pathlib import Path

    return Path(folder).as_uri()
