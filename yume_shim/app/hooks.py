"""Joins hooks with the rest of the program: what they are given, their environment, the host, the output."""

from __future__ import annotations

from yume_shim.extensions.hooks.commands import HookCommands
from yume_shim.extensions.hooks.runner import HookServices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.app.start import Startup
    from yume_shim.tools.dispatch.builtin import BuiltinTools
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Gate, HostChannel


def hook_services(
    startup: Startup, tools: BuiltinTools, gate: Gate, host: HostChannel, session_id: Callable[[], str]
) -> HookServices:
    """What the hooks of a session need."""
    settings, opened = startup.settings, startup.opened

    def facts() -> Json:
        return {
            "session_id": session_id(),
            "transcript_path": opened.transcript,
            "cwd": tools.shell_folder(),
            "permission_mode": gate.mode(),
        }

    def agent_transcript(agent_id: str) -> str:
        from yume_shim.store.children import child_path

        return child_path(opened.transcript, agent_id) if opened.transcript else ""

    env = {**tools.environment, "CLAUDE_PROJECT_DIR": settings.cwd}
    return HookServices(
        facts=facts,
        commands=HookCommands(settings.cwd, env, tools.orphan_watcher),
        host=host,
        emit=startup.output.emit,
        ids=startup.ids,
        log=startup.log,
        shows_all=settings.hooks.show_all or startup.flat,
        fail_closed=settings.hooks.fail_closed,
        add_variables=tools.add_variables,
        agent_transcript=agent_transcript,
    )
