"""The composition root: builds every part from Settings, joins them, owns the order of start and shutdown."""

from __future__ import annotations

import os

from yume_shim import CLAUDE_VERSION, __version__
from yume_shim.catalog.cost import cost_usd
from yume_shim.catalog.resolve import Catalog
from yume_shim.config.build import build_settings
from yume_shim.config.credentials import find_credential, missing_key, secrets_of, tool_environment
from yume_shim.context.environment import facts
from yume_shim.engine.parts import Parts
from yume_shim.engine.session import Session
from yume_shim.gate.approvals import Approvals
from yume_shim.gate.permissions import Permissions
from yume_shim.host.clock import FixedClock, SystemClock
from yume_shim.host.ids import CountedIds, RandomIds, random_uuid
from yume_shim.host.log import Log
from yume_shim.host.outlet import Outlet
from yume_shim.host.writer import STDOUT, LineWriter
from yume_shim.store.layout import projects_dir, session_path
from yume_shim.switchboard import Switchboard
from yume_shim.tools.registry import open_toolbox
from yume_shim.types.blocks import Text
from yume_shim.types.commands import EndOfInput, UserInput
from yume_shim.types.errors import BadInvocation, Failure
from yume_shim.types.events import BlockDelta, ResponseFailed, SessionInfo, SessionReady, StartFailed
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from yume_shim.cli.argv import Parsed
    from yume_shim.types.blocks import Json, ToolCall
    from yume_shim.types.events import InterruptReason, ModelEvent, Tagged
    from yume_shim.types.models import Credential, ModelSpec, Request
    from yume_shim.types.outputs import Answer, Decision
    from yume_shim.types.ports import Cancel, Clock, Dialect, Ids, Provider
    from yume_shim.types.settings import OutputFormat, Settings

STDIN = 0
CASSETTE_API = "replay"
"""The `api` of the catalogue row whose real API is written in the cassette."""
CASSETTE_SCHEME = "cassette:"
FLAT_LINE_BYTES = 98_304
NESTED_LINE_BYTES = 1_000_000
"""The Python SDK dies above 1 MiB."""
SIGNAL_CODES = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129, "SIGBREAK": 149}


def run(parsed: Parsed, env: Mapping[str, str]) -> int:
    """One process, from argv to exit code."""
    flat = parsed.is_flat()
    try:
        if parsed.errors:
            raise BadInvocation(parsed.errors[0])
        settings = build_settings(
            parsed.values,
            parsed.words,
            flat=flat,
            env=env,
            cwd=os.getcwd(),
            log=Log("-", env.get("YUME_LOG", "warning")),
        )
        program = Program(settings, flat)
    except BadInvocation as error:
        return _refuse(error, flat)
    return program.run()


def _refuse(error: BadInvocation, flat: bool) -> int:
    """Nothing can start: one message on stderr; in the flat dialect also a `system/error` line in place of init."""
    try:
        os.write(2, (error.message + "\n").encode("utf-8", "replace"))
    except OSError:
        pass  # stderr is closed: the exit code must say it alone
    if not flat:
        return 1
    ids = RandomIds()
    writer = LineWriter(STDOUT, FLAT_LINE_BYTES, wide_escapes=False, shrink=_shrink)
    Outlet(SystemClock(), ids, _flat_dialect(ids, FLAT_LINE_BYTES), writer).emit(StartFailed(error.message, error.kind))
    return 2


class Program:
    """All parts of one run."""

    def __init__(self, settings: Settings, flat: bool) -> None:
        self._settings, self._flat = settings, flat
        env = settings.env
        self._catalog = Catalog(settings, lambda endpoint: find_credential(endpoint, settings) is not None)
        spec = self._resolve(settings.model)
        self._credentials: dict[str, Credential | None] = {}
        credential = self._credential(spec)
        if credential is None and flat:
            raise missing_key(spec.endpoint, settings)
        self._log = Log(
            spec.endpoint.name, settings.log_level, secrets_of(settings, credential), debug_file=settings.debug_file
        )
        self._log(
            "info", f"{spec.id} at {spec.endpoint.base_url}, key from {credential.source if credential else 'nowhere'}"
        )
        self._ids: Ids = CountedIds() if env.get("YUME_TEST_IDS") else RandomIds()
        self._clock: Clock = FixedClock() if env.get("YUME_TEST_CLOCK") else SystemClock()
        session_id = settings.session_id or (self._ids.uuid() if env.get("YUME_TEST_IDS") else random_uuid())
        cap = settings.max_line_bytes or (FLAT_LINE_BYTES if flat else NESTED_LINE_BYTES)
        self._writer = LineWriter(STDOUT, cap, wide_escapes=not flat, shrink=self._shrink, on_gone=self._host_gone)
        self._outlet = Outlet(self._clock, self._ids, _dialect(settings, self._ids, cap), self._writer)
        self._watch_for_tests()
        home = env.get("HOME") or os.path.expanduser("~")
        self._gate = Permissions(settings, settings.cwd, home, flat, self._log)
        self._approvals = Approvals(
            self._outlet.emit, self._ids, settings.timeouts.approval, enabled=settings.input_format == "lines"
        )
        projects = projects_dir(env, settings.session_dir)
        self._transcript = session_path(projects, settings.cwd, session_id)
        beside = os.path.join(self._transcript.removesuffix(".jsonl"), "tool-results")
        self._toolbox = open_toolbox(settings, beside, tool_environment(settings), self._log)
        self._providers: dict[str, Provider] = {}
        self._signal = ""
        parts = Parts(
            settings=settings,
            emit=self._outlet.emit,
            clock=self._clock,
            ids=self._ids,
            toolbox=self._toolbox,
            gate=self._gate,
            asker=_Asker(self._approvals, self._somebody_answers),
            provider_for=self._provider_for,
            cost=cost_usd,
            log=self._log,
        )
        self._session = Session(parts, spec, session_id, self._resolve, self._describe)

    def run(self) -> int:
        """Print, listen, work, tidy up."""
        try:
            self._provider_for(self._session.spec)  # a cassette that cannot be read is told before init
        except BadInvocation as error:
            return _refuse(error, self._flat)
        if self._settings.persist:
            self._open_store()
        self._outlet.emit(SessionReady(self._session.info()))
        self._listen_to_signals()
        try:
            if not self._take_prompt_text():
                self._listen_to_host()
            self._warm_up()
            self._session.run()
        except BadInvocation as error:
            return _refuse(error, self._flat)
        finally:
            self._approvals.close()
            self._toolbox.close()
            for provider in self._providers.values():
                provider.close()
            self._writer.drain(self._settings.timeouts.shutdown)
        return self._exit_code()

    def _exit_code(self) -> int:
        if self._signal:
            # as the Claude CLI does it: an interrupt from the terminal is no failure there
            return 0 if not self._flat and self._signal == "SIGINT" else SIGNAL_CODES[self._signal]
        end = self._session.last_end
        return 1 if end is not None and end.outcome != "success" and not self._writer.gone else 0

    # ------------------------------------------------------------ input

    def _take_prompt_text(self) -> bool:
        """Text input: the prompt is complete before the turn. False when stdin carries lines."""
        settings = self._settings
        if settings.input_format == "lines":
            return False
        from yume_shim.host.prompt_text import read_prompt

        prompt = read_prompt(STDIN, settings.prompt, lambda: bool(self._signal), self._log)
        if prompt is not None:
            self._session.submit(UserInput((Text(prompt),), prompt))
        self._approvals.close()  # nobody can answer: stdin was the prompt
        self._session.submit(EndOfInput())
        return True

    def _listen_to_host(self) -> None:
        from yume_shim.host.reader import LineReader

        board = Switchboard(
            self._session,
            self._approvals,
            self._gate,
            self._outlet.emit,
            self._log,
            flat=self._flat,
            replay=self._settings.replay_user_messages,
            models=self._catalog.model_list(),
            version=CLAUDE_VERSION,
        )
        LineReader(STDIN, board.take_line, board.end, board.take_long).start()

    def _listen_to_signals(self) -> None:
        from yume_shim.host.signals import Signals

        Signals(self._on_signal, self._settings.timeouts.shutdown).install()

    def _on_signal(self, name: str) -> None:
        self._signal = name
        reason: InterruptReason = "signal" if self._flat or name == "SIGINT" else "shutdown"
        if reason == "shutdown":
            self._outlet.mute()
        self._approvals.close()
        self._session.shut_down(reason)

    def _host_gone(self) -> None:
        """Nobody reads any more: a flat session stops, a Claude form finishes its turn silently."""
        if self._flat:
            self._session.shut_down("shutdown")

    def _somebody_answers(self) -> bool:
        """Questions go to the host if it said that it answers them: by flag, or by the flat mode made for it."""
        settings = self._settings
        return not settings.ask_nobody and (settings.prompt_tool == "stdio" or self._gate.mode() == "interactive")

    # ------------------------------------------------------------ parts

    def _credential(self, spec: ModelSpec) -> Credential | None:
        name = spec.endpoint.name
        if name not in self._credentials:
            self._credentials[name] = find_credential(spec.endpoint, self._settings)
        return self._credentials[name]

    def _resolve(self, text: str) -> ModelSpec:
        """A model's name; the one of a cassette is written in it."""
        spec = self._catalog.resolve(text)
        if spec.endpoint.api != CASSETTE_API:
            return spec
        from yume_shim.providers.replay import read_cassette

        if not self._settings.cassette:
            raise BadInvocation("the replay provider answers from a folder: give --cassette DIR")
        made_with = read_cassette(self._settings.cassette)
        at = replace(spec.endpoint, api=made_with.endpoint.api, base_url=CASSETTE_SCHEME + self._settings.cassette)
        return self._catalog.at(at, made_with.id)

    def _provider_for(self, spec: ModelSpec) -> Provider:
        key = f"{spec.endpoint.name} {spec.origin}"
        if key not in self._providers:
            credential = self._credential(spec)
            if credential is None:
                return _Keyless(missing_key(spec.endpoint, self._settings).message)
            self._providers[key] = self._load(spec, credential)
        return self._providers[key]

    def _load(self, spec: ModelSpec, credential: Credential) -> Provider:
        tap = None
        if self._settings.record:
            from yume_shim.providers.record import Recorder

            secrets = secrets_of(self._settings, credential)
            tap = Recorder(self._settings.record, spec.endpoint.api, spec.id, secrets)
        if spec.endpoint.base_url.startswith(CASSETTE_SCHEME):
            from yume_shim.providers.replay import ReplayProvider

            return ReplayProvider(self._settings.cassette, self._ids, self._log, tap)
        from yume_shim.providers.load import load_provider

        return load_provider(spec, credential, self._settings, self._ids, self._log, tap)

    def _describe(self, spec: ModelSpec, session_id: str) -> SessionInfo:
        credential = self._credential(spec)
        return SessionInfo(
            session_id=session_id,
            cwd=self._settings.cwd,
            provider=spec.endpoint.name,
            model=spec.id,
            permission_mode=self._gate.mode(),
            tools=self._toolbox.names(),
            api_key_source=credential.source if credential is not None and credential.kind == "key" else "none",
            additional_directories=self._gate.directories(),
        )

    def _shrink(self, line: Json, limit: int) -> Json:
        return _shrink(line, limit, self._transcript if self._settings.persist else "")

    def _open_store(self) -> None:
        from yume_shim.dialects.results import error_text, nested_error_category
        from yume_shim.store.entries import Entries
        from yume_shim.store.jsonl import JsonlStore

        settings = self._settings
        entries = Entries(
            CLAUDE_VERSION,
            lambda failure: (nested_error_category(failure), error_text(failure)),
            entrypoint=settings.entrypoint,
            git_branch=facts(settings.cwd, self._clock.now(), settings.env).branch,
        )
        self._outlet.remember_in(JsonlStore(self._transcript, self._log, entries))

    def _warm_up(self) -> None:
        """Load what the answer will need while the model is thinking."""
        import threading

        from yume_shim.text.codec import warm

        threading.Thread(target=warm, name="warm-up", daemon=True).start()

    def _watch_for_tests(self) -> None:
        env = self._settings.env
        if env.get("YUME_TEST_MODULES"):
            self._outlet.listen(_module_watch(env["YUME_TEST_MODULES"]))
        if env.get("YUME_CHECK_ORDER"):
            from yume_shim.dialects.order import OrderCheck

            check = OrderCheck(self._settings.tool_concurrency)
            self._outlet.listen(check.feed)


class _Asker:
    """The approvals, while somebody is there to answer."""

    def __init__(self, approvals: Approvals, somebody: Callable[[], bool]) -> None:
        self._approvals = approvals
        self._somebody = somebody

    def can_ask(self) -> bool:
        return self._approvals.can_ask() and self._somebody()

    def ask(self, call: ToolCall, decision: Decision, cancel: Cancel) -> Answer:
        return self._approvals.ask(call, decision, cancel)


class _Keyless:
    """The provider of a Claude form without a key: every request fails the way a missing login does, none is made."""

    def __init__(self, message: str) -> None:
        self._failure = Failure("auth", message)

    def stream(self, request: Request, cancel: Cancel) -> Iterator[ModelEvent]:
        yield ResponseFailed(self._failure)

    def close(self) -> None:
        pass


def _dialect(settings: Settings, ids: Ids, cap: int) -> Dialect:
    wanted: OutputFormat = settings.output_format
    if wanted == "flat":
        return _flat_dialect(ids, cap)
    if wanted == "text":
        from yume_shim.dialects.plain import TextDialect

        return TextDialect()
    from yume_shim.dialects.nested import NestedDialect

    nested = NestedDialect(CLAUDE_VERSION, ids, partial=settings.partial_messages)
    if wanted == "json":
        from yume_shim.dialects.plain import JsonDialect

        return JsonDialect(nested, verbose=settings.verbose)
    return nested


def _flat_dialect(ids: Ids, cap: int) -> Dialect:
    from yume_shim.dialects.flat import FlatDialect

    return FlatDialect(__version__, ids, cap)


def _shrink(line: Json, limit: int, where: str = "") -> Json:
    from yume_shim.dialects.shrink import shrink

    return shrink(line, limit, where)


def _module_watch(path: str) -> Callable[[Tagged], None]:
    """For the start-up test: the modules loaded when the first event goes out, and the first delta."""
    seen: set[str] = set()

    def watch(tagged: Tagged) -> None:
        import sys

        moment = "delta" if type(tagged.event) is BlockDelta else "first"
        if moment not in seen:
            seen.add(moment)
            with open(path, "a", encoding="utf-8") as file:
                file.write(f"{moment} {' '.join(sorted(sys.modules))}\n")

    return watch
