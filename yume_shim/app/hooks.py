"""Joins hooks with the rest of the program: what they are given, their environment, the host, the output."""

from __future__ import annotations

import os
import threading
from functools import partial

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
    from yume_shim.system.shell_choice import ShellChoice
    from yume_shim.tools.dispatch.builtin import BuiltinTools
    from yume_shim.types.blocks import Json
    from yume_shim.types.calls import PreparedCall
    from yume_shim.types.errors import Failure
    from yume_shim.types.ports import Cancel, Gate, HostChannel
    from yume_shim.types.settings import Settings
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
    settings = startup.settings
    facts, models = _Facts(startup, tools, session, tasks), _Models(startup, session, mcp)

    def covers(rule: str, prepared: PreparedCall) -> bool | None:
        return gate.covers(rule, prepared.call, prepared.spec)

    env = {**tools.environment, "CLAUDE_PROJECT_DIR": settings.cwd}
    return HookServices(
        facts=facts.common,
        mode=gate.mode,
        effort=facts.effort,
        tasks=facts.background,
        conversation=facts.conversation,
        folder=tools.shell_folder,
        commands=HookCommands(settings.cwd, env, tools.orphan_watcher, _windows_shell(settings)),
        host=host,
        emit=startup.output.emit,
        ids=startup.ids,
        log=startup.log,
        shows_all=settings.hooks.show_all or startup.flat,
        fail_closed=settings.hooks.fail_closed,
        add_variables=tools.add_variables,
        agent_transcript=facts.agent_transcript,
        covers=covers,
        ask=models.ask,
        ask_agent=models.ask_agent,
        call_tool=models.call_tool,
        settings=settings.hooks,
        env=env,
        category=_category,
        lifetime=CancelSignal(),
        spent=set(),
    )


def _windows_shell(settings: Settings) -> Callable[[], ShellChoice] | None:
    if os.name != "nt":
        return None
    from yume_shim.system.windows.shell import shell_of_settings

    return partial(shell_of_settings, settings)


class _Facts:
    """The facts about the session that hooks receive."""

    def __init__(self, startup: Startup, tools: BuiltinTools, session: Callable[[], Session], tasks: LazyTasks) -> None:
        self._effort, self._transcript = startup.settings.model.effort, startup.opened.transcript
        self._tools, self._session, self._tasks = tools, session, tasks

    def common(self) -> Json:
        return {
            "session_id": self._session().session_id,
            "transcript_path": self._transcript,
            "cwd": self._tools.shell_folder(),
        }

    def effort(self) -> str:
        conversation = self._session().conversation
        spec, asked = conversation.models.current(), conversation.options.get().effort or self._effort
        if not asked or not spec.thinking:
            return ""
        from yume_shim.types.effort import nearest_effort

        return nearest_effort(asked, spec.efforts)

    def background(self) -> list[Json]:
        found = self._tasks.get()
        return [] if found is None else [_task(task.facts) for task in found.running()]

    def conversation(self) -> str:
        from yume_shim.context.recent_text import recent_text

        return recent_text(self._session().conversation.history, MAX_CONVERSATION)

    def agent_transcript(self, agent_id: str) -> str:
        from yume_shim.store.children import child_path

        return child_path(self._transcript, agent_id) if self._transcript else ""


class _Models:
    """What hooks may ask: a model, an agent, a tool of a server. Each within a time limit."""

    def __init__(self, startup: Startup, session: Callable[[], Session], mcp: Callable[[], LazyMcp]) -> None:
        self._switch_to, self._session, self._mcp = startup.models.switch_to, session, mcp

    def ask(self, system: str, text: str, model: str, seconds: float, cancel: Cancel) -> str:
        from yume_shim.engine.side_question import SideQuestions

        questions = SideQuestions(self._session().conversation, self._switch_to)
        return _within(seconds, cancel, lambda limit: questions.ask(system, text, model, limit))

    def ask_agent(self, system: str, text: str, model: str, seconds: float, cancel: Cancel) -> str:
        from yume_shim.engine.judging_agents import JudgingAgents

        agents = JudgingAgents(self._session().conversation, self._switch_to)
        return _within(seconds, cancel, lambda limit: agents.ask(system, text, model, limit))

    def call_tool(self, server: str, tool: str, given: Json, seconds: float, cancel: Cancel) -> tuple[str, bool]:
        from yume_shim.app.mcp_tool_hooks import call_server_tool

        return _within(seconds, cancel, lambda limit: call_server_tool(self._mcp(), server, tool, given, limit))


def _category(failure: Failure) -> str:
    from yume_shim.dialects.results import nested_error_category

    return nested_error_category(failure)


def _task(facts: TaskFacts) -> Json:
    """A background task in the event of hooks, in the Claude CLI's words."""
    same = {"id": facts.task_id, "status": "running", "description": facts.description}
    if facts.kind == "local_agent":
        return {**same, "type": "subagent", "agent_type": facts.agent_type}
    return {**same, "type": "shell", "command": facts.command}


def _within(seconds: float, cancel: Cancel, work: Callable[[Cancel], T]) -> T:
    """The result of the work, which gets a signal for its time limit; raises TimeoutError or Cancelled."""
    limit = CancelSignal(cancel)
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
