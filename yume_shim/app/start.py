"""Runs one process, from parsed argv to the exit code. Loads nothing heavy before the first line is printed."""

from __future__ import annotations

import gc
import os

from yume_shim.app.command_list import command_names, skill_names
from yume_shim.app.early_signals import EarlySignals
from yume_shim.app.models import EndpointKeys, ModelResolver
from yume_shim.app.output import Output, refusal_output
from yume_shim.app.resume import NoConversation, open_session
from yume_shim.config.build import build_settings
from yume_shim.config.credentials import secrets_of
from yume_shim.config.setting_sources import SettingSources, working_folder
from yume_shim.host.clock import FixedClock, SystemClock
from yume_shim.host.descriptors import is_terminal
from yume_shim.host.ids import CountedIds, RandomIds, random_uuid
from yume_shim.host.log import Log
from yume_shim.host.own_modules import load_program, load_turn
from yume_shim.host.writer import STDOUT
from yume_shim.store.layout import projects_dir
from yume_shim.tools.dispatch.specs import chosen_specs
from yume_shim.types.agents import AGENT_TOOL, MESSAGE_TOOL, TASK_TOOL
from yume_shim.types.errors import BadInvocation
from yume_shim.types.events import SUCCESSES, ResumeFailed, SessionInfo, SessionReady, StartFailed
from yume_shim.types.prompt_files import SKILL_TOOL
from yume_shim.types.script_settings import ScriptSettings
from yume_shim.types.settings import CLAUDE_MODES, Rules
from yume_shim.types.shapes import timestamp
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from yume_shim.app.output import OutputLink
    from yume_shim.app.script_ends import Deadline
    from yume_shim.extensions.commands.library import PromptLibrary
    from yume_shim.host.event_output import Listener
    from yume_shim.types.agents import AgentDefinition
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import TurnEnded
    from yume_shim.types.models import Credential, ModelSpec
    from yume_shim.types.ports import Clock, Gate, Ids
    from yume_shim.types.settings import Settings

    Values = Mapping[str, str | bool | tuple[str, ...]]

FLAT_REFUSED = 2
COLLECT_AFTER = 5_000
"""Containers between two collections: one read of a fast stream makes 2,000, which live for a millisecond."""
PRICE_NEEDED = "give --price IN,OUT (USD per million tokens), or `prices` for the model in the config file"
COUNTS_AS_ZERO = "its cost counts as zero, and the budget cannot stop it. Give --price IN,OUT (USD per million tokens)"
CLAUDE_REFUSED = 1


def run(
    values: Values,
    words: tuple[str, ...],
    errors: tuple[str, ...],
    *,
    flat: bool,
    env: Mapping[str, str],
    listeners: Sequence[Listener] = (),
) -> int:
    """Run one process; returns its exit code. `listeners` receive every event before it is printed."""
    settings = None
    try:
        check_words(errors)
        early_log = Log("-", env.get("YUME_LOG", "warning"))
        cwd = working_folder()
        sources = SettingSources(values, words, flat=flat, env=env, cwd=cwd, log=early_log, is_terminal=is_terminal)
        settings = build_settings(sources)
        if settings.host.typed:
            from yume_shim.host.typed_lines import greet

            greet()
        startup = Startup(settings, flat, listeners)
    except BadInvocation as error:
        return refuse(error, flat=flat, settings=settings, values=values)
    signals = EarlySignals()
    # at once: a host that has read the first line may send a signal
    signals.start(settings.limits.timeouts.shutdown, as_signal=settings.host.attended)
    told = flat or startup.knows_all()
    if told:
        startup.output.emit(SessionReady(startup.first_info()))
    try:
        load_program(settings.host.output_format)
        if flat or settings.host.input_format != "text":  # the first line is out, or waits for a prompt
            load_turn(settings.host.output_format, startup.spec.endpoint.api)
        from yume_shim.app.program import Program

        deadline = _deadline(startup)
        program = Program(startup, lambda: bool(signals.received) or deadline.over)
        signals.forward_to(program.on_signal)
        deadline.start(lambda: program.stop("deadline"))
        if not told:
            startup.output.emit(SessionReady(program.info()))
        gc.freeze()  # what a start has made stays; a collection need not look at it
        gc.set_threshold(COLLECT_AFTER)
        gc.enable()
        program.run()
        deadline.cancel()
        startup.close()
    except BadInvocation as error:
        return refuse(error, flat=flat, settings=settings, values=values)
    signals.settle()
    writer, end = startup.output.writer, program.last_end()
    gone, complete = writer.gone and not writer.problem, not (writer.problem or program.compact_failed())
    code = exit_code(signals.received, end, flat=flat, host_gone=gone, complete=complete)
    if settings.script == ScriptSettings():
        return code
    from yume_shim.app.script_ends import script_exit_code

    return script_exit_code(code, settings, signals.received, end, deadline_over=deadline.over)


class NoDeadline:
    """The run may take as long as it wants."""

    over = False

    def start(self, stop: Callable[[], None]) -> None:
        """Nothing is counted."""

    def cancel(self) -> None:
        """Nothing was counted."""


def _nothing() -> None:
    """There is nothing to close."""


def _deadline(startup: Startup) -> NoDeadline | Deadline:
    seconds = startup.settings.script.deadline
    if not seconds:
        return NoDeadline()
    from yume_shim.app.script_ends import Deadline

    return Deadline(seconds, startup.log)


def check_words(errors: tuple[str, ...]) -> None:
    """Raise BadInvocation if a word of the command line is wrong."""
    if errors:
        raise BadInvocation(errors[0])


class Startup:
    """What exists before the first line: session, keys, model, log, output. Raises BadInvocation.

    `YUME_TEST_CLOCK` and `YUME_TEST_IDS` in the environment select a fixed clock and counted ids, for tests.
    """

    def __init__(
        self,
        settings: Settings,
        flat: bool,
        listeners: Sequence[Listener] = (),
        link: Callable[[Startup], OutputLink] | None = None,
    ) -> None:
        """`link` makes the way out of a session that shares its stdout with others."""
        self.settings, self.flat = settings, flat
        self.left_out = settings.left_out
        """What init lines name as not used; the host's answer about the folder changes it."""
        env = settings.env
        counted = bool(env.get("YUME_TEST_IDS"))
        self.ids: Ids = CountedIds() if counted else RandomIds()
        self.clock: Clock = FixedClock() if env.get("YUME_TEST_CLOCK") else SystemClock()
        self.opened = open_session(
            settings,
            projects_dir(env, settings.session.folder),
            self.ids.uuid if counted else random_uuid,
            lambda: timestamp(self.clock.now()),
        )
        self.keys = EndpointKeys(settings)
        self.models = ModelResolver(settings, self.keys)
        self.agent = self._main_agent() if settings.agents.main else None
        self.spec = self._agent_model() or self.models.first(self.opened.stored)
        credential = self.keys.known(self.spec.endpoint)
        if credential is None and flat:
            raise self.keys.missing(self.spec.endpoint)
        unpriced = settings.limits.max_budget_usd is not None and self._unpriced()
        if unpriced and flat:
            raise BadInvocation(f"{unpriced}: {PRICE_NEEDED}", "config")
        self.log = self._open_log(credential)
        for warning in (f"{unpriced}: {COUNTS_AS_ZERO}" if unpriced else "", *self._unknown_names()):
            if warning:
                self.log("warning", warning)
        self.library: PromptLibrary | None = None
        """Commands and skills of files; None = there are none."""
        if settings.prompts.prompt_folders:
            from yume_shim.app.prompts import open_library, ungranted

            self.library = open_library(settings, self.log)
            self.left_out += ungranted(self.library, self.log)
        self.close: Callable[[], None] = _nothing
        """To be called when the session has ended and said everything."""
        if settings.telemetry.on:
            from yume_shim.app.telemetry import with_telemetry

            listeners, self.close = with_telemetry(settings, self.opened, self.keys.secrets, self.log, listeners)
        self.output = Output(
            settings,
            self.opened,
            self.clock,
            self.ids,
            flat=flat,
            log=self.log,
            listeners=listeners,
            link=link(self) if link is not None else None,
        )

    def _main_agent(self) -> AgentDefinition | None:
        from yume_shim.app.agents import main_agent

        return main_agent(self.settings, self.keys.note, flat=self.flat)

    def _agent_model(self) -> ModelSpec | None:
        """The model of the agent that the main loop runs as. One that a flag names overrides it, and a resumed session
        keeps its own."""
        agent, settings = self.agent, self.settings
        if agent is None or not agent.model or settings.model.chosen_by_flag or self.opened.stored is not None:
            return None
        try:
            found = self.models.switch_to(agent.model)
        except BadInvocation as error:
            self.keys.note(f"agent {agent.name}: {agent.model}: {error.message}")
            return None
        if agent.same_provider and found.endpoint.base_url != self.models.first(None).endpoint.base_url:
            self.keys.note(f"agent {agent.name}: an untrusted folder may not choose another provider")
            return None
        return found

    def _unpriced(self) -> str:
        """What is wrong if no price of the model is known; "" if one is. Needs the price table, so only a start with a
        budget asks."""
        from yume_shim.catalog.cost import has_price

        if has_price(self.spec):
            return ""
        return f"--max-budget-usd: no price is known for {self.spec.endpoint.name}/{self.spec.id}"

    def _unknown_names(self) -> list[str]:
        permissions = self.settings.permissions
        if not self.settings.tools.names and permissions.rules == Rules() and not permissions.add_dirs:
            return []
        from yume_shim.app.name_checks import name_warnings

        return name_warnings(self.settings)

    def knows_all(self) -> bool:
        """Does `first_info` say all that the init line of a Claude form says? What servers, folders, agents and skills
        add to it is known when the program is built."""
        settings = self.settings
        servers = settings.mcp.servers or settings.mcp.servers_if_trusted
        agents = self.agent or settings.agents.given or settings.agents.folders
        usual = settings.permissions.mode in CLAUDE_MODES and not settings.permissions.add_dirs
        return usual and not servers and not agents and self.library is None

    def first_info(self) -> SessionInfo:
        """The session before anything has happened."""
        settings = self.settings
        mode = settings.permissions.mode
        shell = True
        if os.name == "nt":
            from yume_shim.system.windows.shell import shell_of_settings

            shell = bool(shell_of_settings(settings).kind)
        specs = chosen_specs(
            settings.tools.names,
            settings.permissions.rules.deny,
            host_answers=host_answers(settings, mode),
            shell=shell,
        )
        agents = offered_agent_tools(settings)
        tools = (*(spec.name for spec in specs), *agents, *((SKILL_TOOL,) if self.offers_skills() else ()))
        if self.agent is not None:
            from yume_shim.app.agents import offered_to

            tools = offered_to(self.agent, specs, agents=agents)
        info = self.describe(self.spec, self.opened.session_id, mode, tools, settings.permissions.add_dirs)
        if self.flat or not agents:
            return info
        from yume_shim.types.agent_offer import BUILTIN_OFFERS

        return replace(info, agents=tuple(name for name, _ in BUILTIN_OFFERS))

    def offers_skills(self) -> bool:
        """Whether the model gets the Skill tool."""
        if self.library is None:
            return False
        from yume_shim.app.prompts import offers_tool

        return offers_tool(self.settings, self.library)

    def answers(self, mode: str) -> bool:
        """Does the host answer questions in this mode?"""
        return host_answers(self.settings, mode)

    def approver(self, gate: Gate) -> Callable[[], bool]:
        """Does the host answer permission questions, in the mode of the moment?"""
        return lambda: host_approves(self.settings, gate.mode())

    def save_rules(self, scope: str, rules: tuple[str, ...]) -> None:
        """Keep allow rules of an answer for the user or for this folder. Raises OSError."""
        from yume_shim.config.saved_rules import save_rules

        save_rules(self.settings.env, self.settings.cwd, scope, rules)

    def describe(
        self,
        spec: ModelSpec,
        session_id: str,
        mode: str,
        tools: tuple[str, ...],
        folders: tuple[str, ...],
        mcp_servers: tuple[Json, ...] | None = None,
    ) -> SessionInfo:
        """What init lines report. `mcp_servers` None: they have not been started yet."""
        credential = self.keys.known(spec.endpoint)
        return SessionInfo(
            session_id=session_id,
            cwd=self.settings.cwd,
            provider=spec.endpoint.name,
            model=spec.id,
            permission_mode=mode,
            tools=tools,
            api_key_source=credential.source if credential is not None and credential.kind == "key" else "none",
            mcp_servers=self._waiting_servers() if mcp_servers is None else mcp_servers,
            left_out=tuple(entry.line() for entry in self.left_out),
            additional_directories=folders,
            slash_commands=command_names(self.library) if self.settings.host.slash_commands else (),
            skills=skill_names(self.library),
            plugins=tuple(plugin.line() for plugin in self.settings.plugins.used),
            plugin_errors=tuple(dict(entry) for entry in self.settings.plugins.errors),
            resumed=self.opened.stored is not None and session_id == self.opened.session_id,
            output_style=self.settings.instructions.output_style,
        )

    def _waiting_servers(self) -> tuple[Json, ...]:
        return tuple(
            {"name": server.name, "status": "pending", "source": server.source} for server in self.settings.mcp.servers
        )

    def _open_log(self, credential: Credential | None) -> Log:
        """The log, which redacts every key known so far, with its first lines written."""
        settings, endpoint = self.settings, self.spec.endpoint
        self.keys.secrets[:0] = secrets_of(settings, credential)
        log = Log(
            endpoint.name,
            settings.log.level,
            self.keys.secrets,
            debug_file=settings.log.debug_file,
            as_json=settings.log.as_json,
        )
        source = credential.source if credential is not None else "nowhere"
        log("info", f"{self.spec.id} at {_shown(endpoint.base_url)}, key from {source}")
        for note in (*self.opened.notes, *self.keys.take_notes()):
            log("warning", note)
        return log


def exit_code(signal: str, last_end: TurnEnded | None, *, flat: bool, host_gone: bool, complete: bool = True) -> int:
    """The exit code of a process that could start. `complete`: all output was written, and no `compact` line has failed
    since the last turn (a failed `/compact` is no failure in the Claude CLI)."""
    if signal:
        from yume_shim.host.signals import EXIT_CODES

        # as in the Claude CLI, whose print mode does not count an interrupt from the terminal as a failure
        return 0 if not flat and signal == "SIGINT" else EXIT_CODES[signal]
    if host_gone or not complete:
        return 0 if host_gone else 1
    if last_end is None or (last_end.failed_command and not flat):
        return 0
    return 0 if last_end.outcome in SUCCESSES else 1


def refuse(error: BadInvocation, *, flat: bool, settings: Settings | None = None, values: Values | None = None) -> int:
    """Report that the process cannot start; returns the exit code. One message goes to stderr. The flat dialect also
    prints a `system/error` line in place of init; stream-json prints a `result` if there is no session to continue."""
    from yume_shim.text.redact import redact

    # a key may be in the wrong place: `--api-key-env sk-…`
    message = redact(error.message, secrets_of(settings, None) if settings is not None else ())
    try:
        os.write(2, (message + "\n").encode("utf-8", "replace"))
    except OSError:
        pass  # stderr is closed: only the exit code is left
    clock, ids = SystemClock(), RandomIds()
    form = "flat" if flat else str((values or {}).get("output-format"))
    detailed = (values or {}).get("exit-codes") == "detailed"
    typed = settings.host.typed if settings is not None else is_terminal(0)
    if flat and typed and is_terminal(STDOUT):
        pass  # a person has read the message; nobody reads lines of JSON
    elif flat:
        refusal_output(None, clock, ids).emit(StartFailed(message, error.kind))
    elif form == "json" and detailed:
        from yume_shim.app.script_ends import print_refusal

        print_refusal(message, values or {}, clock, ids)
    elif settings is not None and settings.host.output_format == "stream-json" and isinstance(error, NoConversation):
        refusal_output(settings, clock, ids).emit(ResumeFailed(message, error.session_id))
    if detailed:
        from yume_shim.app.script_ends import refused_code

        return refused_code(error)
    return FLAT_REFUSED if flat else CLAUDE_REFUSED


def offers_agents(settings: Settings) -> bool:
    """Is the tool Agent offered?"""
    names, denied = settings.tools.names, settings.permissions.rules.deny
    if AGENT_TOOL in denied or TASK_TOOL in denied:
        return False
    return names is None or "default" in names or AGENT_TOOL in names or TASK_TOOL in names


def offered_agent_tools(settings: Settings) -> tuple[str, ...]:
    """Agent and SendMessage, as far as they are offered; the second one only where the first is."""
    names = settings.tools.names
    if not offers_agents(settings):
        return ()
    chosen = names is None or "default" in names or MESSAGE_TOOL in names
    return (
        (AGENT_TOOL, MESSAGE_TOOL) if chosen and MESSAGE_TOOL not in settings.permissions.rules.deny else (AGENT_TOOL,)
    )


def host_answers(settings: Settings, mode: str) -> bool:
    """Does the host answer questions in this permission mode? A flag says so, or the flat mode `interactive`."""
    asked = settings.permissions.prompt_tool == "stdio" or mode == "interactive"
    return asked and settings.host.input_format == "lines" and not settings.permissions.never_ask


def host_approves(settings: Settings, mode: str) -> bool:
    """Does the host answer permission questions? A flat host that sends lines does, unless a flag says that it does
    not."""
    lines = settings.host.output_format == "flat" and settings.host.input_format == "lines"
    return host_answers(settings, mode) or (lines and not settings.permissions.never_ask)


def _shown(address: str) -> str:
    if "@" not in address and "?" not in address:
        return address
    from yume_shim.text.redact import shown_address

    return shown_address(address)
