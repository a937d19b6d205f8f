"""The composition root: joins all parts through their ports, and owns the order of work and shutdown."""

from __future__ import annotations

import os

from yume_shim import CLAUDE_VERSION
from yume_shim.app.closing import close_parts
from yume_shim.app.lazy_agents import LazyAgents
from yume_shim.app.lazy_hooks import LazyHooks
from yume_shim.app.lazy_mcp import LazyMcp
from yume_shim.app.lazy_tasks import LazyTasks
from yume_shim.app.providers import Providers
from yume_shim.app.start import host_answers, offered_agent_tools
from yume_shim.config.credentials import tool_environment
from yume_shim.engine.services import EngineServices
from yume_shim.engine.session import Session
from yume_shim.engine.toolbox import Toolbox
from yume_shim.gate.approvals import Approvals
from yume_shim.gate.permissions import Permissions
from yume_shim.host.host_requests import HostRequests
from yume_shim.host.imports import one_at_a_time
from yume_shim.host.own_modules import load_turn
from yume_shim.tools.dispatch.builtin import open_builtin_tools
from yume_shim.types.events import ModelChanged, TitleChanged
from yume_shim.types.folders import home_folder
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.app.mcp import McpParts
    from yume_shim.app.model_requests import ModelParts
    from yume_shim.app.session_requests import SessionParts
    from yume_shim.app.shared_host import SharedHost
    from yume_shim.app.start import Startup
    from yume_shim.app.trust_question import TrustQuestion
    from yume_shim.extensions.agents.agent_list import AgentList
    from yume_shim.extensions.agents.agent_tool import AgentTool
    from yume_shim.extensions.agents.message_tool import MessageTool
    from yume_shim.extensions.hooks.runner import HookServices
    from yume_shim.host.control import ControlResponder
    from yume_shim.store.jsonl import JsonlStore
    from yume_shim.types.blocks import Json
    from yume_shim.types.child import Child
    from yume_shim.types.events import InterruptReason, SessionInfo, TurnEnded
    from yume_shim.types.models import ModelSpec
    from yume_shim.types.ports import Asker, Cancel, ChildOutput, StreamWatcher, ToolSource
    from yume_shim.types.prompt_files import PromptFile
    from yume_shim.types.settings import PermissionSettings

STDIN = 0


class Program:
    """All parts of one run. This module, which loads most of the program, is imported after the first flat line.

    `run` belongs to the main thread, which becomes the session's. `on_signal` runs on the thread of signals, the
    handlers of host lines on the stdin reader's; both only call parts that are safe from any thread.
    """

    def __init__(self, startup: Startup, signalled: Callable[[], bool], host: SharedHost | None = None) -> None:
        """`host`: the session is one of several of a process, so it reads no lines itself."""
        self._startup, self._settings, self._log = startup, startup.settings, startup.log
        self._output, self._emit = startup.output, startup.output.emit
        self._signalled, self._host = signalled, host
        settings, opened = startup.settings, startup.opened
        self._questions = HostRequests(self._emit, startup.ids)
        home = home_folder(settings.env)
        results_folder = os.path.join(opened.transcript.removesuffix(".jsonl"), "tool-results")
        self._tasks = LazyTasks(self._emit, startup.ids.uuid, lambda: self._session.notify)
        self._tools = open_builtin_tools(
            settings,
            results_folder,
            tool_environment(settings),
            startup.log,
            host_answers=host_answers(settings, settings.permissions.mode),
            tasks=self._tasks.open,
            secrets=startup.keys.secrets,
            host_files=host.files(self._questions) if host is not None else None,
        )
        self._gate = Permissions(
            settings,
            settings.cwd,
            home,
            startup.flat,
            startup.log,
            shell_cwd=self._tools.shell_folder,
            confiner=self._tools.confiner,
            shell=self._tools.shell_kind,
        )
        self._agents = self._open_agents()
        self._toolbox = Toolbox((self._tools, self._agents, *self._skill_sources()))
        if startup.agent is not None:
            self._toolbox = self._toolbox.limited_to(startup.agent.tools, startup.agent.disallowed_tools)
        self._hooks = LazyHooks(settings.hooks, self._hook_services)
        self._mcp = LazyMcp(self._make_mcp)
        if settings.mcp.servers:
            one_at_a_time()  # their threads import
            self._mcp.open()
        self._trust_question = self._open_trust_question()
        self._providers = Providers(settings, startup.keys, startup.ids, startup.clock, startup.log, self._questions)
        self._store: JsonlStore | None = None
        self._responder: ControlResponder | None = None
        self._session = self._open_session()
        if startup.library is not None:
            startup.library.session_id = self._session_id
        self._output.host_gone.then(self._on_host_gone)

    def _open_session(self) -> Session:
        startup = self._startup
        services = EngineServices(
            settings=self._settings,
            emit=self._emit,
            clock=startup.clock,
            ids=startup.ids,
            toolbox=self._toolbox,
            gate=self._gate,
            asker=self._open_asker(),
            provider_for=self._providers.provider_for,
            load_turn=lambda: load_turn(self._settings.host.output_format, startup.spec.endpoint.api),
            cost=self._providers.cost,
            log=startup.log,
            secrets=startup.keys.secrets,
            refine=self._providers.refine,
            advise=startup.models.advise,
            await_tools=self._await_tools,
            expand=self._mcp.expand,
            prompt_files=startup.library,
            skill_list=self._skill_list if startup.offers_skills() else None,
            hooks=self._hooks.get,
            own_hooks=self._hooks.with_own,
            output_blocked=self._output.writer.waits,
            learned=self._providers.learned,
            count=self._providers.count,
            preview=self._tools.preview,
            save_rules=startup.save_rules,
            checkpoints=self._tools.checkpoints,
            forget_tools=self._tools.forget,
            tasks=self._tasks.get,
            open_tasks=self._tasks.open,
            open_child=self._open_child,
            watch=self._make_watcher if self._settings.host.watch_streams else None,
        )
        models, opened = startup.models, startup.opened
        session = Session(services, startup.spec, opened.session_id, models.switch_to, self._describe, models.fallback)
        if opened.stored is not None:
            session.restore(opened.stored.history, opened.stored.used, opened.stored.counted)
        if startup.agent is not None:
            from yume_shim.app.agents import run_as

            run_as(session, startup.agent, self._settings)
        return session

    def run(self) -> None:
        """Run the session until the input ends, then close all parts. Raises BadInvocation if there is no prompt."""
        self._report_other_model()
        if self._settings.session.persist:
            from yume_shim.app.transcript import open_transcript

            startup = self._startup
            self._store = open_transcript(
                self._settings,
                startup.opened,
                self._session,
                self._providers.asked,
                emit=self._emit,
                clock=startup.clock,
                ids=startup.ids,
                log=self._log,
            )
            if startup.flat:  # a flat host has read the text of a block before the block is complete
                self._store.write_open_text()
            self._output.events.store_in(self._store, self._store.feed_delta if startup.flat else None)
        if self._startup.flat and self._host is None:  # a Claude form finishes its turn without a reader
            self._output.writer.watch_reader()
        try:
            if self._settings.session.title:
                self._emit(TitleChanged(self._settings.session.title))
            one_at_a_time()
            if self._settings.host.input_format == "lines":
                self._read_lines()
            else:
                self._read_prompt()
            self._session.run()
            if self._responder is not None:
                self._responder.finish(lambda: self._session.leaving)
        finally:
            self._tools.closing()
            close_parts(self._log, self._questions, self._tasks, self._mcp, self._tools, self._providers)
            if self._store is not None:
                self._store.close()
            self._output.writer.drain(self._settings.limits.timeouts.shutdown)

    def info(self) -> SessionInfo:
        """The session as it is now."""
        return self._session.info()

    def last_end(self) -> TurnEnded | None:
        """How the last turn ended."""
        return self._session.last_end

    def compact_failed(self) -> bool:
        """Has the host's last `compact` failed, with no turn after it?"""
        return self._session.compact_failed

    def on_signal(self, name: str) -> None:
        """Stop the session; a Claude form that is terminated prints nothing more."""
        self.stop("signal" if self._startup.flat or name == "SIGINT" else "shutdown")

    # ------------------------------------------------------------ input

    def _read_prompt(self) -> None:
        """Text input: read the whole prompt before the turn."""
        from yume_shim.host.prompt_text import read_prompt
        from yume_shim.types.blocks import Text
        from yume_shim.types.commands import EndOfInput, UserInput

        host = self._settings.host
        prompt = read_prompt(STDIN, host, self._signalled, self._log)
        if prompt is not None:
            self._session.submit(UserInput((Text(prompt),), prompt))
        self._session.submit(EndOfInput())

    def _read_lines(self) -> None:
        """JSON lines: start the reader, whose thread handles each line."""
        if self._host is not None:
            from yume_shim.app.shared_host import SessionControls

            self._host.attach(
                SessionControls(
                    self._session,
                    self._gate,
                    self._questions,
                    self._emit,
                    self._toolbox.find,
                    self.stop,
                    lambda: self._list_commands(self._mcp.commands()),
                )
            )
            return
        from yume_shim.app.control_requests import ControlRequests
        from yume_shim.app.host_commands import HostCommands
        from yume_shim.host.control import ControlResponder
        from yume_shim.host.reader import LineReader

        requests = ControlRequests(
            self._session,
            self._gate,
            self._providers,
            self._emit,
            self._settings,
            self._mcp,
            self._hooks,
            self._tasks,
            self._agents,
            self._startup.models.catalog.model_list(),
            CLAUDE_VERSION,
            list_commands=self._list_commands,
            reload_prompts=self.reload_prompts,
            end_session=lambda: self.stop("shutdown"),
            session_parts=self._session_parts,
            model_parts=self._model_parts,
        )
        self._responder = responder = ControlResponder(self._emit, requests.handlers(), self._log)
        commands = HostCommands(
            self._session,
            self._questions,
            self._gate,
            responder,
            self._emit,
            flat=self._startup.flat,
            replay=self._settings.host.replay_user_messages,
            typed=self._settings.host.typed,
        )
        LineReader(STDIN, commands.take_line, commands.end, commands.take_long).start()

    def _session_parts(self) -> SessionParts:
        from yume_shim.app.session_requests import SessionParts

        folder = os.path.dirname(self._startup.opened.transcript)
        return SessionParts(self._session, self._settings, self._emit, self._startup.ids, folder)

    def _model_parts(self) -> ModelParts:
        from yume_shim.app.model_requests import ModelParts

        startup = self._startup
        return ModelParts(
            startup.models.catalog,
            startup.keys,
            self._settings,
            lambda: self._session.spec,
            startup.clock.now,
            self._log,
        )

    # ------------------------------------------------------------ reactions, on any thread

    def stop(self, reason: InterruptReason) -> None:
        """Stop the turn and end the session; a shutdown prints nothing more."""
        self._questions.close()
        self._tools.closing()
        self._tasks.stop_all()  # reported before the output of a shutdown ends
        if reason == "shutdown":
            self._output.events.mute()
        self._session.shut_down(reason)

    def _on_host_gone(self, _: str) -> None:
        """The host no longer reads: a flat session stops, a Claude form finishes its turn silently."""
        if self._startup.flat:
            self._session.shut_down("shutdown")

    def _describe(self, spec: ModelSpec, session_id: str) -> SessionInfo:
        gate, names = self._gate, self._toolbox.names()
        info = self._startup.describe(spec, session_id, gate.mode(), names, gate.directories(), self._mcp.summary())
        info = replace(info, agents=self._agents.names())
        commands = self._mcp.commands()
        if not commands:
            return info
        return replace(info, slash_commands=(*info.slash_commands, *(str(command["name"]) for command in commands)))

    def _await_tools(self, cancel: Cancel) -> None:
        """Before a turn: what waits for the host's trust in the folder, then the servers."""
        if self._trust_question is not None:
            self._trust_question.settle(cancel)
        self._mcp.wait(cancel)
        self.reload_prompts()

    # ------------------------------------------------------------ commands and skills

    def reload_prompts(self) -> None:
        """Read commands and skills again if their files have changed, and announce that."""
        library = self._startup.library
        if library is not None and library.refresh():
            from yume_shim.types.events import CommandsChanged

            self._emit(CommandsChanged(self._list_commands(self._mcp.commands())))

    def _list_commands(self, of_servers: tuple[Json, ...]) -> tuple[Json, ...]:
        from yume_shim.app.command_list import described_commands

        return described_commands(self._startup.library, of_servers)

    def _skill_sources(self) -> tuple[ToolSource, ...]:
        library = self._startup.library
        if library is None or not self._startup.offers_skills():
            return ()
        from yume_shim.app.prompts import skill_tool

        return (skill_tool(library, self._model_of),)

    def _session_id(self) -> str:
        return self._session.session_id

    def _model_of(self, file: PromptFile) -> ModelSpec | None:
        """The model that a skill names. (The session is made after its tools.)"""
        return self._session.model_of(file)

    def _skill_list(self, window: int) -> str:
        from yume_shim.app.prompts import skill_list

        return "" if self._startup.library is None else skill_list(self._settings, self._startup.library, window)

    def _open_trust_question(self) -> TrustQuestion | None:
        """The question about the folder, if something waits for its answer."""
        settings = self._settings
        granted = settings.permissions.allow_if_trusted or settings.permissions.variables_if_trusted
        if not settings.hooks.sources_if_trusted and not settings.mcp.servers_if_trusted and not granted:
            return None
        from yume_shim.app.trust_question import TrustQuestion

        def grant(trusted: PermissionSettings) -> None:
            self._gate.trust_rules(trusted.allow_if_trusted)
            self._tools.add_variables(trusted.variables_if_trusted)

        start, gate = self._startup, self._gate
        return TrustQuestion(start, self._questions, lambda: start.answers(gate.mode()), self._hooks, self._mcp, grant)

    def _open_asker(self) -> Asker:
        """Who answers permission questions: a tool of an MCP server, or the host."""
        tool = self._settings.permissions.prompt_tool
        if tool.startswith("mcp__"):
            from yume_shim.app.mcp_asker import McpAsker

            return McpAsker(tool, self._mcp)
        return Approvals(self._questions, self._settings.limits.timeouts.approval, self._startup.approver(self._gate))

    def _hook_services(self) -> HookServices:
        from yume_shim.app.hooks import hook_services

        return hook_services(
            self._startup,
            self._tools,
            self._gate,
            self._questions,
            lambda: self._session,
            lambda: self._mcp,
            self._tasks,
        )

    def _make_mcp(self) -> McpParts:
        from yume_shim.app.mcp import McpParts

        names = self._toolbox.names if self._startup.flat else None
        made = McpParts(
            self._settings,
            self._tools,
            self._gate,
            self._questions,
            self._emit,
            self._log,
            names,
            self._list_commands,
            self._startup.keys.secrets,
        )
        self._toolbox.add(made.servers)
        return made

    def _make_watcher(self, cancel: Cancel) -> StreamWatcher:
        from yume_shim.app.watchers import watcher_maker

        return watcher_maker(self._tools, self._gate)(cancel)

    def _open_agents(self) -> LazyAgents:
        settings = self._settings
        background = not self._startup.flat and not settings.env.get("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS")

        def make(agents: AgentList) -> tuple[AgentTool, MessageTool]:
            from yume_shim.app.agents import agent_tool, message_tool

            tool = agent_tool(self._startup, agents, self._mcp, background=background)
            return tool, message_tool(agents, tool, self._tasks.get, self._store, background=background)

        def warn(text: str) -> None:
            self._log("warning", text)

        return LazyAgents(settings.agents, make, warn, offered=offered_agent_tools(settings), background=background)

    def _open_child(self, child: Child) -> ChildOutput:
        from yume_shim.app.children import open_child

        return open_child(child, self._output.events, self._store, forwards=self._agents.forwards)

    def _report_other_model(self) -> None:
        """Announce that a resumed session continues with another model than before."""
        stored, spec = self._startup.opened.stored, self._startup.spec
        if stored is not None and stored.model and stored.model != f"{spec.endpoint.name}/{spec.id}":
            self._emit(ModelChanged(spec.endpoint.name, spec.id, "resume"))
