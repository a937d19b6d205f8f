"""Joins hooks with the rest of the program: what they are given, their environment, the host, the output."""

from __future__ import annotations

import threading

from yume_shim.engine.cancel import CancelSignal
from yume_shim.extensions.hooks.commands import HookCommands
from yume_shim.extensions.hooks.runner import HookServices
from yume_shim.types.errors import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.app.start import Startup
    from yume_shim.engine.session import Session
    from yume_shim.tools.dispatch.builtin import BuiltinTools
    from yume_shim.types.blocks import Json
    from yume_shim.types.calls import PreparedCall
    from yume_shim.types.errors import Failure
    from yume_shim.types.ports import Cancel, Gate, HostChannel


def hook_services(
    startup: Startup, tools: BuiltinTools, gate: Gate, host: HostChannel, session: Callable[[], Session]
) -> HookServices:
    """What the hooks of a session need."""
    settings, opened = startup.settings, startup.opened

    def facts() -> Json:
        return {
            "session_id": session().session_id,
            "transcript_path": opened.transcript,
            "cwd": tools.shell_folder(),
            "permission_mode": gate.mode(),
        }

    def category(failure: Failure) -> str:
        from yume_shim.dialects.results import nested_error_category

        return nested_error_category(failure)

    def agent_transcript(agent_id: str) -> str:
        from yume_shim.store.children import child_path

        return child_path(opened.transcript, agent_id) if opened.transcript else ""

    def covers(rule: str, prepared: PreparedCall) -> bool | None:
        return gate.covers(rule, prepared.call, prepared.spec)

    def ask(system: str, text: str, model: str, seconds: float, cancel: Cancel) -> str:
        """Ask a model within a time limit: TimeoutError when it is over."""
        from yume_shim.engine.side_question import SideQuestions

        questions = SideQuestions(session().conversation, startup.models.switch_to)
        limit = CancelSignal()
        timer = threading.Timer(seconds, limit.set)
        timer.daemon = True
        timer.start()
        try:
            with cancel.guard(limit.set):
                return questions.ask(system, text, model, limit)
        except Cancelled:
            cancel.check()
            raise TimeoutError from None
        finally:
            timer.cancel()

    env = {**tools.environment, "CLAUDE_PROJECT_DIR": settings.cwd}
    return HookServices(
        facts=facts,
        folder=tools.shell_folder,
        commands=HookCommands(settings.cwd, env, tools.orphan_watcher),
        host=host,
        emit=startup.output.emit,
        ids=startup.ids,
        log=startup.log,
        shows_all=settings.hooks.show_all or startup.flat,
        fail_closed=settings.hooks.fail_closed,
        add_variables=tools.add_variables,
        agent_transcript=agent_transcript,
        covers=covers,
        ask=ask,
        settings=settings.hooks,
        env=env,
        category=category,
        lifetime=CancelSignal(),
        spent=set(),
    )
