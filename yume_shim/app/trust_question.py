"""Asks the host whether the folder is trusted, before what its files configure is started. Loaded only if that is
configured (`trust = "ask"`) and something waits for the answer."""

from __future__ import annotations

from yume_shim.config.trust import record_path, remember
from yume_shim.types.errors import Cancelled
from yume_shim.types.side_events import QuestionWithdrawn, TrustAsked
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.app.lazy_hooks import LazyHooks
    from yume_shim.app.lazy_mcp import LazyMcp
    from yume_shim.app.start import Startup
    from yume_shim.types.ports import Cancel, HostChannel
    from yume_shim.types.settings import PermissionSettings


class TrustQuestion:
    """Asked once, on the session's thread, before the first turn. Without an answer the folder is not trusted."""

    def __init__(
        self,
        startup: Startup,
        host: HostChannel,
        host_answers: Callable[[], bool],
        hooks: LazyHooks,
        mcp: LazyMcp,
        grant: Callable[[PermissionSettings], None],
    ) -> None:
        """`grant` makes rules and variables of the folder count."""
        self._startup, self._host, self._host_answers, self._grant = startup, host, host_answers, grant
        self._hooks, self._mcp = hooks, mcp
        self._settled = False

    def settle(self, cancel: Cancel) -> None:
        """Ask, unless that was done; start what waited if the answer is yes. A cancelled question is asked again before
        the next turn."""
        if self._settled:
            return
        try:
            answer = self._ask(cancel)
        except Cancelled:
            return
        self._settled = True
        settings, startup = self._startup.settings, self._startup
        if answer is not None:
            self._remember(answer)
        if answer is not True:
            startup.left_out = tuple(
                replace(entry, reason="untrusted") if entry.reason == "asking" else entry for entry in startup.left_out
            )
            return
        startup.left_out = tuple(entry for entry in startup.left_out if entry.reason != "asking")
        self._grant(settings.permissions)
        self._hooks.add_sources(settings.hooks.sources_if_trusted)
        if settings.mcp.servers_if_trusted:
            servers = self._mcp.open().servers
            for server in settings.mcp.servers_if_trusted:
                servers.add(server)
            servers.start(sdk=False)

    def _ask(self, cancel: Cancel) -> bool | None:
        """The host's answer; None if there is none."""
        if not self._host.is_open() or not self._host_answers():
            return None
        settings = self._startup.settings
        waiting = tuple(entry.line() for entry in self._startup.left_out if entry.reason == "asking")
        reply = self._host.ask(
            lambda ask_id: TrustAsked(ask_id, settings.cwd, waiting),
            timeout_s=settings.limits.timeouts.approval,
            cancel=cancel,
            withdraw=QuestionWithdrawn,
        )
        trusted = reply.body.get("trusted") if reply.outcome == "answered" else None
        return trusted if isinstance(trusted, bool) else None

    def _remember(self, trusted: bool) -> None:
        settings = self._startup.settings
        try:
            remember(settings.cwd, settings.env, trusted)
        except OSError as error:
            place = record_path(settings.env)
            self._startup.log("warning", f"the answer about this folder is not kept in {place}: {error}")
