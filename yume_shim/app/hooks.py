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
    from typing import TypeVar

    from yume_shim.app.lazy_mcp import LazyMcp
    from yume_shim.app.lazy_tasks import LazyTasks
    from yume_shim.app.start import Startup
    from yume_shim.engine.session import Session
    from yume_shim.tools.dispatch.builtin import BuiltinTools
    from yume_shim.types.blocks import Json
    from yume_shim.types.calls import PreparedCall
    from yume_shim.types.errors import Failure
    from yume_shim.types.ports import Cancel, Gate, HostChannel
    from yume_shim.types.tasks import TaskFacts

    T = TypeVar("T")

MAX_CONVERSATION = 60_000
"""Characters of the conversation that a judging model sees."""


def hook_services(
    startup: Startup,
    tools: BuiltinTools,
    gate: Gate,
    host: HostChannel,
    session: Callable[[], Session],
    mcp: Callable[[], LazyMcp],
    tasks: LazyTasks,
) -> HookServices:
    """What the hooks of a session need."""
    settings, opened = startup.settings, startup.opened

    def facts() -> Json:
        return {
            "session_id": session().session_id,
            "transcript_path": opened.transcript,
            "cwd": tools.shell_folder(),
        }

    def effort() -> str:
        conversation = session().conversation
        spec, asked = conversation.models.current(), conversation.options.get().effort or settings.model.effort
        if not asked or not spec.thinking:
            return ""
        from yume_shim.types.effort import nearest_effort

        return nearest_effort(asked, spec.efforts)

    def background() -> list[Json]:
        found = tasks.get()
        return [] if found is None else [_task(task.facts) for task in found.running()]

    def conversation() -> str:
        from yume_shim.context.recent_text import recent_text

        return recent_text(session().conversation.history, MAX_CONVERSATION)

    def category(failure: Failure) -> str:
        from yume_shim.dialects.results import nested_error_category

        return nested_error_category(failure)

    def agent_transcript(agent_id: str) -> str:
        from yume_shim.store.children import child_path

        return child_path(opened.transcript, agent_id) if opened.transcript else ""

    def covers(rule: str, prepared: PreparedCall) -> bool | None:
        return gate.covers(rule, prepared.call, prepared.spec)

    def ask(system: str, text: str, model: str, seconds: float, cancel: Cancel) -> str:
        from yume_shim.engine.side_question import SideQuestions

        questions = SideQuestions(session().conversation, startup.models.switch_to)
        return _within(seconds, cancel, lambda limit: questions.ask(system, text, model, limit))

    def ask_agent(system: str, text: str, model: str, seconds: float, cancel: Cancel) -> str:
        from yume_shim.engine.judging_agents import JudgingAgents

        agents = JudgingAgents(session().conversation, startup.models.switch_to)
        return _within(seconds, cancel, lambda limit: agents.ask(system, text, model, limit))

    def call_tool(server: str, tool: str, given: Json, seconds: float, cancel: Cancel) -> tuple[str, bool]:
        from yume_shim.app.mcp_tool_hooks import call_server_tool

        return _within(seconds, cancel, lambda limit: call_server_tool(mcp(), server, tool, given, limit))

    env = {**tools.environment, "CLAUDE_PROJECT_DIR": settings.cwd}
    return HookServices(
        facts=facts,
        mode=gate.mode,
        effort=effort,
        tasks=background,
        conversation=conversation,
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
        ask_agent=ask_agent,
        call_tool=call_tool,
        settings=settings.hooks,
        env=env,
        category=category,
        lifetime=CancelSignal(),
        spent=set(),
    )


def _task(facts: TaskFacts) -> Json:
    """A background task in the event of hooks, in the Claude CLI's words."""
    same = {"id": facts.task_id, "status": "running", "description": facts.description}
    if facts.kind == "local_agent":
        return {**same, "type": "subagent", "agent_type": facts.agent_type}
    return {**same, "type": "shell", "command": facts.command}


def _within(seconds: float, cancel: Cancel, work: Callable[[Cancel], T]) -> T:
    """The result of the work, which gets a signal for its time limit; raises TimeoutError or Cancelled."""
    limit = CancelSignal()
    timer = threading.Timer(seconds, limit.set)
    timer.daemon = True
    timer.start()
    try:
        with cancel.guard(limit.set):
            return work(limit)
    except Cancelled:
        cancel.check()
        raise TimeoutError from None
    finally:
        timer.cancel()
