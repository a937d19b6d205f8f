"""What must stand before the first line can leave: settings, model, key, dialect, stdout. Loads nothing heavy."""

from __future__ import annotations

import os
import threading

from yume_shim import CLAUDE_VERSION, __version__
from yume_shim.app.resume import NoConversation, begin
from yume_shim.catalog.resolve import Catalog
from yume_shim.config.credentials import find_keys, missing_key, secrets_of
from yume_shim.host.clock import FixedClock, SystemClock
from yume_shim.host.event_output import EventOutput
from yume_shim.host.ids import CountedIds, RandomIds, random_uuid
from yume_shim.host.log import Log
from yume_shim.host.writer import STDOUT, LineWriter
from yume_shim.store.layout import projects_dir
from yume_shim.tools.dispatch.builtin import chosen_specs
from yume_shim.types.errors import BadInvocation, Cancelled
from yume_shim.types.events import ResumeFailed, SessionInfo, StartFailed
from yume_shim.types.shapes import timestamp
from yume_shim.types.value import replace, replace_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.host.event_output import Listener
    from yume_shim.types.blocks import Json
    from yume_shim.types.models import Credential, Endpoint, ModelSpec
    from yume_shim.types.ports import Cancel, Clock, Dialect, Ids, KeySource
    from yume_shim.types.settings import OutputFormat, Settings
    from yume_shim.types.stored_session import StoredSession

FLAT_LINE_BYTES = 98_304
NESTED_LINE_BYTES = 1_000_000
"""The Python SDK dies above 1 MiB."""
LOCAL_COMMANDS = ("clear", "compact")
CASSETTE_API = "replay"
"""The `api` of the catalogue row whose real API is written in the cassette."""
CASSETTE_SCHEME = "cassette:"


class Startup:
    """Raises BadInvocation when the start makes no sense."""

    def __init__(self, settings: Settings, flat: bool, listeners: Sequence[Listener] = ()) -> None:
        self.settings, self.flat = settings, flat
        env = settings.env
        counted = bool(env.get("YUME_TEST_IDS"))
        self.ids: Ids = CountedIds() if counted else RandomIds()
        self.clock: Clock = FixedClock() if env.get("YUME_TEST_CLOCK") else SystemClock()
        self.start = begin(
            settings,
            projects_dir(env, settings.session.folder),
            self.ids.uuid if counted else random_uuid,
            lambda: timestamp(self.clock.now()),
        )
        self.session_id, self.transcript = self.start.session_id, self.start.transcript
        self.secrets: list[str] = []
        """Every key known so far; log, recorder and redaction look here, and it grows."""
        self._notes = list(self.start.notes)
        self._looking = threading.Lock()
        """Held while keys are looked for: the host may choose a profile at any time."""
        self._keys: dict[tuple[str, str, tuple[str, ...]], tuple[KeySource, ...]] = {}
        self.catalog = Catalog(settings, lambda endpoint: bool(self._keys_at(endpoint)))
        self.spec = self._first_model()
        credential = self.credential(self.spec)
        if credential is None and flat:
            raise missing_key(self.spec.endpoint, settings)
        self.secrets[:0] = secrets_of(settings, credential)
        where, source = _shown(self.spec.endpoint.base_url), credential.source if credential else "nowhere"
        self.log = Log(
            self.spec.endpoint.name,
            settings.log.level,
            self.secrets,
            debug_file=settings.log.debug_file,
        )
        self.log("info", f"{self.spec.id} at {where}, key from {source}")
        self._tell_notes()
        cap = settings.host.max_line_bytes or (FLAT_LINE_BYTES if flat else NESTED_LINE_BYTES)
        self.on_gone: Callable[[], None] = _nothing
        self.writer = LineWriter(STDOUT, cap, wide_escapes=not flat, shrink=self._shrink, on_gone=self._gone)
        dialect = _dialect(settings, self.ids, cap, self.start.past)
        self.outlet = EventOutput(self.clock, self.ids, dialect, self.writer, listeners)

    def fallback(self, text: str) -> ModelSpec:
        """A model that takes over; one without a key cannot."""
        spec = self._placed(self.catalog.fallback(text))
        if self.credential(spec) is None:
            raise missing_key(spec.endpoint, self.settings)
        return spec

    def resolve(self, text: str) -> ModelSpec:
        """A model's name."""
        return self._placed(self.catalog.resolve(text))

    def _placed(self, spec: ModelSpec) -> ModelSpec:
        """The model of a cassette is written in it."""
        if spec.endpoint.api != CASSETTE_API:
            return spec
        from yume_shim.providers.cassettes.replay import read_cassette

        if not self.settings.network.cassette:
            raise BadInvocation("the replay provider answers from a folder: give --cassette DIR")
        made_with = read_cassette(self.settings.network.cassette)
        at = replace(
            spec.endpoint, api=made_with.endpoint.api, base_url=CASSETTE_SCHEME + self.settings.network.cassette
        )
        found = self.catalog.at(at, made_with.id)
        return replace(found, tools=found.tools and made_with.tools, streaming=found.streaming and made_with.streaming)

    def _first_model(self) -> ModelSpec:
        """A resumed session keeps its model, unless a flag names one or it cannot be had here."""
        past = self._model_of_the_past()
        if past is not None and self.credential(past) is not None:
            return past
        spec = self.resolve(self.settings.model.name)
        if past is None:
            return spec
        if self.credential(spec) is None:
            return past  # neither has a key: the one that is missed is that of the session's own
        names = [f"{each.endpoint.name}/{each.id}" for each in (past, spec)]
        self._notes.append(f"there is no key for {names[0]}, the model of this session: it goes on with {names[1]}")
        return spec

    def _model_of_the_past(self) -> ModelSpec | None:
        """A model that another program used counts only where this one was told nothing of its own."""
        settings, past = self.settings, self.start.past
        if past is None or settings.model.chosen_by_flag:
            return None
        own_wish = settings.model.name or settings.model.default_provider or "default" in settings.model.aliases
        name = past.model or ("" if own_wish else past.foreign_model)
        if not name:
            return None
        self.catalog.settle(name)
        try:
            spec = self.resolve(name)
        except BadInvocation:
            return None
        return spec if past.model or spec.known else None

    def credential(self, spec: ModelSpec) -> Credential | None:
        """The key for a model's endpoint; None if it needs one and there is none."""
        found = self._keys_at(spec.endpoint)
        return found[0].known() if found else None

    def credential_now(self, spec: ModelSpec, cancel: Cancel) -> Credential | None:
        """As `credential`, with the key itself, which a command may have to be asked for. None also if it cannot be
        had: the request will tell."""
        found = self._keys_at(spec.endpoint)
        try:
            return found[0].get(cancel) if found else None
        except (BadInvocation, Cancelled):
            return None

    def keys(self, spec: ModelSpec) -> tuple[KeySource, ...]:
        """All keys for a model's endpoint, to be used in turn; asked for when a request is about to be made."""
        found = self._keys_at(spec.endpoint)
        if len(found) > 1:
            places = ", ".join(key.known().source for key in found)
            self.log("info", f"{len(found)} keys for {spec.endpoint.name}, used in this order: {places}")
        self._tell_notes()
        return found

    def use_profile(self, name: str) -> None:
        """The host picks a profile ("" = none): from the next request on. Raises BadInvocation."""
        if name and name not in self.settings.credentials.profiles:
            from yume_shim.config.key_settings import unknown_profile

            raise BadInvocation(
                unknown_profile(name, tuple(self.settings.credentials.profiles), self.settings.config_file)
            )
        with self._looking:
            self.settings = replace_in(self.settings, "credentials", profile=name)
            self._keys = {}

    def _keys_at(self, endpoint: Endpoint) -> tuple[KeySource, ...]:
        """Kept per address and variables too: flags change both for one provider, and which one is found out late."""
        at = (endpoint.name, endpoint.base_url, endpoint.key_vars)
        with self._looking:
            if at not in self._keys:
                self._keys[at] = find_keys(endpoint, self.settings, self._notes.append, self._learn)
            return self._keys[at]

    def _learn(self, key: str) -> None:
        if key not in self.secrets:
            self.secrets.append(key)

    def _tell_notes(self) -> None:
        notes, self._notes = self._notes, []
        for note in notes:
            self.log("warning", note)

    def first_info(self) -> SessionInfo:
        """The session before anything has happened."""
        settings = self.settings
        specs = chosen_specs(settings.tools.names, settings.permissions.rules.deny, host_answers=host_answers(settings))
        return self.describe(
            self.spec,
            self.session_id,
            settings.permissions.mode,
            tuple(s.name for s in specs),
            settings.permissions.add_dirs,
        )

    def describe(
        self, spec: ModelSpec, session_id: str, mode: str, tools: tuple[str, ...], folders: tuple[str, ...]
    ) -> SessionInfo:
        """What init lines tell."""
        credential = self.credential(spec)
        return SessionInfo(
            session_id=session_id,
            cwd=self.settings.cwd,
            provider=spec.endpoint.name,
            model=spec.id,
            permission_mode=mode,
            tools=tools,
            api_key_source=credential.source if credential is not None and credential.kind == "key" else "none",
            additional_directories=folders,
            slash_commands=LOCAL_COMMANDS if self.settings.host.slash_commands else (),
            resumed=self.start.past is not None and session_id == self.start.session_id,
        )

    def _gone(self) -> None:
        self.on_gone()

    def _shrink(self, line: Json, limit: int) -> Json:
        from yume_shim.dialects.line_shrinking import shrink

        return shrink(line, limit, self.transcript if self.settings.session.persist else "")


def host_answers(settings: Settings) -> bool:
    """Does the host answer questions from the start? It says so by flag, or by the flat mode made for it."""
    asked = settings.permissions.prompt_tool == "stdio" or settings.permissions.mode == "interactive"
    return asked and settings.host.input_format == "lines" and not settings.permissions.never_ask


def refuse(error: BadInvocation, *, flat: bool, settings: Settings | None = None) -> int:
    """Nothing can start: one message on stderr; in the flat dialect also a `system/error` line in place of init. A
    Claude form that finds no conversation to continue ends with a `result` all the same."""
    from yume_shim.text.redact import redact

    # what stands where something else belongs may be a key: `--api-key-env sk-…`
    message = redact(error.message, secrets_of(settings, None) if settings is not None else ())
    try:
        os.write(2, (message + "\n").encode("utf-8", "replace"))
    except OSError:
        pass  # stderr is closed: the exit code must say it alone
    ids = RandomIds()
    if not flat:
        if isinstance(error, NoConversation) and settings is not None:
            writer = LineWriter(STDOUT, NESTED_LINE_BYTES, wide_escapes=True)
            outlet = EventOutput(SystemClock(), ids, _dialect(settings, ids, NESTED_LINE_BYTES), writer)
            outlet.emit(ResumeFailed(message, error.session_id))
        return 1
    writer = LineWriter(STDOUT, FLAT_LINE_BYTES, wide_escapes=False)
    EventOutput(SystemClock(), ids, _flat_dialect(ids, FLAT_LINE_BYTES), writer).emit(StartFailed(message, error.kind))
    return 2


def _dialect(settings: Settings, ids: Ids, cap: int, past: StoredSession | None = None) -> Dialect:
    wanted: OutputFormat = settings.host.output_format
    if wanted == "flat":
        return _flat_dialect(ids, cap)
    if wanted == "text":
        from yume_shim.dialects.plain import TextDialect

        return TextDialect()
    from yume_shim.dialects.nested import NestedDialect

    nested = NestedDialect(
        CLAUDE_VERSION, ids, partial=settings.host.partial_messages, spent_before=past.used if past else ()
    )
    if wanted == "json":
        from yume_shim.dialects.plain import JsonDialect

        return JsonDialect(nested, verbose=settings.host.verbose)
    return nested


def _flat_dialect(ids: Ids, cap: int) -> Dialect:
    from yume_shim.dialects.flat import FlatDialect

    return FlatDialect(__version__, ids, cap)


def _shown(address: str) -> str:
    if "@" not in address and "?" not in address:
        return address
    from yume_shim.text.redact import shown_address

    return shown_address(address)


def _nothing() -> None:
    pass
