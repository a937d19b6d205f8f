"""The composition root: joins every part behind its port, owns the order of start and shutdown."""

from __future__ import annotations

import os
import threading

from yume_shim import CLAUDE_VERSION
from yume_shim.app.startup import CASSETTE_SCHEME, Startup, host_answers, refuse
from yume_shim.config.build import build_settings
from yume_shim.host.imports import one_at_a_time
from yume_shim.host.log import Log
from yume_shim.types.errors import BadInvocation, Failure
from yume_shim.types.events import EntriesWritten, ModelChanged, Notice, ResponseFailed, SessionReady, Tagged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from yume_shim.host.event_output import Listener
    from yume_shim.providers.discovery.limits_cache import LimitsCache
    from yume_shim.store.fork import Fork
    from yume_shim.store.jsonl import JsonlStore
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import InterruptReason, ModelEvent, SessionInfo
    from yume_shim.types.models import Credential, ModelSpec, Request, Usage
    from yume_shim.types.ports import Cancel, KeySource, Provider

    Values = Mapping[str, str | bool | tuple[str, ...]]

STDIN = 0
COST_DECIMALS = 12
"""What is behind these digits of a price is the rounding of floats."""
SIGNAL_CODES = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129, "SIGBREAK": 149}


def run(
    values: Values,
    words: tuple[str, ...],
    errors: tuple[str, ...],
    *,
    flat: bool,
    env: Mapping[str, str],
    listeners: Sequence[Listener] = (),
) -> int:
    """One process, from parsed argv to exit code. `listeners` receive every event."""
    settings = None
    try:
        if errors:
            raise BadInvocation(errors[0])
        early_log = Log("-", env.get("YUME_LOG", "warning"))
        settings = build_settings(values, words, flat=flat, env=env, cwd=os.getcwd(), log=early_log)
        startup = Startup(settings, flat, listeners)
    except BadInvocation as error:
        return refuse(error, flat=flat, settings=settings)
    hearing = EarlySignals()
    hearing.start(settings.limits.timeouts.shutdown)  # a host that has read the first line may send a signal at once
    if flat:
        startup.outlet.emit(SessionReady(startup.first_info()))
    try:
        program = Program(startup)
        hearing.forward_to(program.on_signal)
        if not flat:
            startup.outlet.emit(SessionReady(program.info()))
        program.tell_other_model()
        return program.run()
    except BadInvocation as error:
        return refuse(error, flat=flat, settings=settings)


class Program:
    """All parts of one run. Built after the first flat line is out, so this is where the imports are paid."""

    def __init__(self, startup: Startup) -> None:
        from yume_shim.catalog.cost import cost_usd
        from yume_shim.config.credentials import tool_environment
        from yume_shim.engine.services import EngineServices
        from yume_shim.engine.session import Session
        from yume_shim.gate.approvals import Approvals
        from yume_shim.gate.permissions import Permissions
        from yume_shim.host.host_requests import HostRequests
        from yume_shim.tools.dispatch.builtin import open_toolbox

        self._startup, self._settings, self._log = startup, startup.settings, startup.log
        settings = startup.settings
        home = settings.env.get("HOME") or os.path.expanduser("~")
        beside = os.path.join(startup.transcript.removesuffix(".jsonl"), "tool-results")
        self._toolbox = open_toolbox(
            settings,
            beside,
            tool_environment(settings),
            startup.log,
            host_answers=host_answers(settings),
            tell=startup.outlet.emit,
        )
        self._gate = Permissions(
            settings, settings.cwd, home, startup.flat, startup.log, shell_cwd=self._toolbox.shell_folder
        )
        self._questions = HostRequests(startup.outlet.emit, startup.ids)
        self._choosing = threading.Lock()
        """Held while a provider is made or a profile chosen: the host may choose one at any time."""
        self._providers: dict[str, Provider] = {}
        self._left_behind: list[Provider] = []
        self._asked: dict[str, ModelSpec] = {}
        self._limits: LimitsCache | None = None
        self._signal = ""
        services = EngineServices(
            settings=settings,
            emit=startup.outlet.emit,
            clock=startup.clock,
            ids=startup.ids,
            toolbox=self._toolbox,
            gate=self._gate,
            asker=Approvals(self._questions, settings.limits.timeouts.approval, self._host_answers),
            provider_for=self._provider_for,
            cost=cost_usd,
            log=startup.log,
            secrets=startup.secrets,
            refine=self._refine,
        )
        self._session = Session(
            services, startup.spec, startup.session_id, startup.resolve, self._describe, startup.fallback
        )
        self._store: JsonlStore | None = None
        if startup.start.past is not None:
            past = startup.start.past
            self._session.restore(past.history, past.used, past.counted)
        startup.on_gone = self._host_gone

    def run(self) -> int:
        """Listen, work, tidy up."""
        if self._settings.session.persist:
            self._open_store()
        try:
            one_at_a_time()
            if not self._take_prompt_text():
                self._listen_to_host()
            self._session.run()
        finally:
            self._questions.close()
            self._toolbox.close()
            for provider in (*self._providers.values(), *self._left_behind):
                provider.close()
            if self._store is not None:
                self._store.close()
            self._startup.writer.drain(self._settings.limits.timeouts.shutdown)
        return self._exit_code()

    def tell_other_model(self) -> None:
        """A conversation that another model began goes on with this one."""
        past, spec = self._startup.start.past, self._startup.spec
        if past is not None and past.model and past.model != f"{spec.endpoint.name}/{spec.id}":
            self._startup.outlet.emit(ModelChanged(spec.endpoint.name, spec.id, "resume"))

    def info(self) -> SessionInfo:
        """The session as it stands."""
        return self._session.info()

    def _exit_code(self) -> int:
        flat = self._startup.flat
        if self._signal:
            # as the Claude CLI does it: an interrupt from the terminal is no failure there
            return 0 if not flat and self._signal == "SIGINT" else SIGNAL_CODES[self._signal]
        end = self._session.last_end
        return 1 if end is not None and end.outcome != "success" and not self._startup.writer.gone else 0

    # ------------------------------------------------------------ input

    def _take_prompt_text(self) -> bool:
        """Text input: the prompt is complete before the turn. False when stdin carries lines."""
        settings = self._settings
        if settings.host.input_format == "lines":
            return False
        from yume_shim.host.prompt_text import read_prompt
        from yume_shim.types.blocks import Text
        from yume_shim.types.commands import EndOfInput, UserInput

        prompt = read_prompt(STDIN, settings.host.prompt, lambda: bool(self._signal), self._log)
        if prompt is not None:
            self._session.submit(UserInput((Text(prompt),), prompt))
        self._session.submit(EndOfInput())
        return True

    def _listen_to_host(self) -> None:
        from yume_shim.app.control_requests import ControlRequests
        from yume_shim.app.host_commands import HostCommands
        from yume_shim.host.control import ControlDesk
        from yume_shim.host.reader import LineReader

        session, gate, emit, settings = self._session, self._gate, self._startup.outlet.emit, self._settings
        models = self._startup.catalog.model_list()
        requests = ControlRequests(
            session, gate, emit, settings, models, CLAUDE_VERSION, self._leave, self._use_profile
        )
        board = HostCommands(
            session,
            self._questions,
            gate,
            ControlDesk(emit, requests.handlers(), self._log),
            emit,
            flat=self._startup.flat,
            replay=settings.host.replay_user_messages,
        )
        LineReader(STDIN, board.take_line, board.end, board.take_long).start()

    def on_signal(self, name: str) -> None:
        """Stop, in the way that the form asks for. Called once, on a thread of its own."""
        self._signal = name
        reason: InterruptReason = "signal" if self._startup.flat or name == "SIGINT" else "shutdown"
        if reason == "shutdown":
            self._startup.outlet.mute()
        self._questions.close()
        self._session.shut_down(reason)

    def _leave(self) -> None:
        """The host ends the session: nothing more is said, a running turn is stopped."""
        self._startup.outlet.mute()
        self._questions.close()
        self._session.shut_down("shutdown")

    def _host_gone(self) -> None:
        """Nobody reads any more: a flat session stops, a Claude form finishes its turn silently."""
        if self._startup.flat:
            self._session.shut_down("shutdown")

    def _host_answers(self) -> bool:
        """Questions go to the host if it said that it answers them: by flag, or by the flat mode made for it."""
        settings = self._settings
        asked = settings.permissions.prompt_tool == "stdio" or self._gate.mode() == "interactive"
        return asked and not settings.permissions.never_ask and settings.host.input_format == "lines"

    # ------------------------------------------------------------ parts

    def _provider_for(self, spec: ModelSpec) -> Provider:
        self._asked[spec.id] = spec
        key = f"{spec.endpoint.name} {spec.origin}"
        with self._choosing:
            if key not in self._providers:
                keys = self._startup.keys(spec)
                if not keys:
                    from yume_shim.config.credentials import missing_key

                    return MissingKeyProvider(missing_key(spec.endpoint, self._startup.settings).message)
                self._providers[key] = self._with_keys(spec, keys)
            return self._providers[key]

    def _with_keys(self, spec: ModelSpec, keys: tuple[KeySource, ...]) -> Provider:
        make = self._maker(spec)
        if len(keys) == 1 and keys[0].fixed:
            return make(keys[0].known())
        from yume_shim.providers.keys.keyring import KeyringProvider

        return KeyringProvider(keys, make, spec.endpoint, self._startup.clock, self._log)

    def _use_profile(self, name: str) -> None:
        """The host picks another credential; what is under way ends with the one it began with."""
        with self._choosing:
            self._startup.use_profile(name)
            self._left_behind += self._providers.values()
            self._providers = {}

    def _refine(self, spec: ModelSpec, cancel: Cancel) -> ModelSpec:
        """A model that the catalogue does not know, as its endpoint describes it, where that can be asked."""
        if spec.known or not spec.endpoint.tells_limits:
            return spec
        credential = self._startup.credential_now(spec, cancel)
        if credential is None:
            return spec
        if self._limits is None:
            from yume_shim.providers.discovery.limits_cache import LimitsCache

            settings = self._settings
            home = settings.env.get("HOME") or os.path.expanduser("~")
            path = os.path.join(home, ".yume", "limits.json")
            self._limits = LimitsCache(path, settings, self._startup.clock.now, self._log)
        return self._limits.refine(spec, credential, cancel)

    def _maker(self, spec: ModelSpec) -> Callable[[Credential], Provider]:
        """Makes the provider of an endpoint, once per key; all of them are recorded together."""
        settings, ids, tap = self._settings, self._startup.ids, None
        if settings.network.record:
            from yume_shim.providers.cassettes.record import Recorder

            quirks = spec.endpoint.quirks
            tap = Recorder(
                settings.network.record,
                spec.endpoint.api,
                spec.id,
                self._startup.secrets,
                self._log,
                native_tools=spec.tools and quirks.tools,
                streaming=spec.streaming and quirks.streaming,
            )

        if spec.endpoint.base_url.startswith(CASSETTE_SCHEME):
            from yume_shim.providers.cassettes.replay import ReplayProvider

            return lambda credential: ReplayProvider(settings.network.cassette, ids, self._log, tap)
        from yume_shim.providers.load import provider_maker

        return provider_maker(spec, settings, ids, self._log, tap)

    def _describe(self, spec: ModelSpec, session_id: str) -> SessionInfo:
        gate, tools = self._gate, self._toolbox
        return self._startup.describe(spec, session_id, gate.mode(), tools.names(), gate.directories())

    def _open_store(self) -> None:
        from yume_shim.context.environment import facts
        from yume_shim.dialects.results import error_text, nested_error_category
        from yume_shim.store.entries import Entries
        from yume_shim.store.jsonl import JsonlStore

        settings, start, emit = self._settings, self._startup.start, self._startup.outlet.emit
        fork = self._fork()
        leaf = fork.leaf if fork is not None else start.past.leaf if start.past is not None else None
        entries = Entries(
            CLAUDE_VERSION,
            lambda failure: (nested_error_category(failure), error_text(failure)),
            self._startup.ids.uuid,
            entrypoint=settings.session.entrypoint,
            git_branch=facts(settings.cwd, self._startup.clock.now(), settings.env).branch,
            leaf=leaf,
            price=self._price,
        )

        def tell(text: str) -> None:
            emit(Notice("store", text))

        def mirror(path: str, written: tuple[Json, ...]) -> None:
            emit(EntriesWritten(path, written))

        self._store = JsonlStore(
            start.transcript,
            self._log,
            entries,
            lock=start.lock,
            first=None if fork is None else fork.lines,
            tell=tell,
            mirror=mirror if settings.host.session_mirror and settings.host.output_format == "stream-json" else None,
        )
        # the first line may be out already: the store is told by itself
        self._store.feed(Tagged(SessionReady(self._session.info()), "", self._startup.clock.now()))
        self._startup.outlet.store_in(self._store)

    def _fork(self) -> Fork | None:
        start = self._startup.start
        if start.past is None or not start.source:
            return None
        from yume_shim.store.fork import Fork

        return Fork(start.source, start.past, start.session_id, self._startup.ids.uuid)

    def _price(self, model: str, usage: Usage) -> float | None:
        """What an answer cost; None where nobody knows (yet)."""
        from yume_shim.catalog.cost import cost_usd

        spec = self._asked.get(model)
        spent, known = cost_usd(spec, usage) if spec is not None else (0.0, False)
        return round(spent, COST_DECIMALS) if known else None


class EarlySignals:
    """Signals from the first moment on: one that comes before the program stands waits for it."""

    def __init__(self) -> None:
        from queue import SimpleQueue

        self._heard: SimpleQueue[str] = SimpleQueue()

    def start(self, shutdown: float) -> None:
        from yume_shim.host.signals import Signals

        Signals(self._heard.put, shutdown).install()

    def forward_to(self, on_signal: Callable[[str], None]) -> None:
        threading.Thread(target=lambda: on_signal(self._heard.get()), name="signal", daemon=True).start()


class MissingKeyProvider:
    """The provider of a Claude form without a key: every request fails the way a missing login does, none is made."""

    def __init__(self, message: str) -> None:
        self._failure = Failure("auth", message)

    def stream(self, request: Request, cancel: Cancel) -> Iterator[ModelEvent]:
        yield ResponseFailed(self._failure)

    def close(self) -> None:
        pass
