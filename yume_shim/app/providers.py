"""Makes the provider of a model, with its keys; recorded or replayed if the settings say so."""

from __future__ import annotations

import os
import threading

from yume_shim.app.models import CASSETTE_SCHEME
from yume_shim.catalog.cost import cost_usd
from yume_shim.types.errors import Failure
from yume_shim.types.events import ResponseFailed
from yume_shim.types.folders import yume_folder
from yume_shim.types.models import COST_DECIMALS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.app.models import EndpointKeys
    from yume_shim.providers.discovery.limits_cache import LimitsCache
    from yume_shim.providers.keys.pauses import Pauses
    from yume_shim.types.blocks import Json
    from yume_shim.types.errors import BadInvocation
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.models import Cost, Credential, ModelSpec, Request, Usage
    from yume_shim.types.ports import Cancel, Clock, HostChannel, Ids, KeySource, Provider
    from yume_shim.types.settings import Settings

    Log = Callable[[str, str], None]


class Providers:
    """One provider for each endpoint and API, made at its first request.

    `provider_for`, `refine` and `cost` run on the threads of loops (the session's and children's); `use_profile` on the
    stdin reader's; `asked` on any thread that emits an event; `close` on the main thread at the end. The lock guards
    the providers, the models asked so far, the cache of limits and the cost.
    """

    def __init__(
        self, settings: Settings, keys: EndpointKeys, ids: Ids, clock: Clock, log: Log, host: HostChannel
    ) -> None:
        self._settings, self._keys, self._ids, self._clock, self._log = settings, keys, ids, clock, log
        self._host = host
        self._lock = threading.Lock()
        self._current: dict[str, Provider] = {}
        self._retired: list[Provider] = []
        """Providers of profiles used before: a request that is under way may still use them."""
        self._asked: dict[str, ModelSpec] = {}
        self._limits: LimitsCache | None = None
        self._pauses: Pauses | None = None
        self._spent = 0.0

    @property
    def profile(self) -> str:
        """The chosen profile ("" = none)."""
        return self._keys.profile

    def use_profile(self, name: str) -> None:
        """Use another profile from the next request on. Raises BadInvocation."""
        with self._lock:
            self._keys.use_profile(name)
            self._retired += self._current.values()
            self._current = {}

    def provider_for(self, spec: ModelSpec) -> Provider:
        """The provider of a model. Without a key: one that fails every request."""
        key = f"{spec.endpoint.name} {spec.origin}"
        with self._lock:
            self._asked[spec.id] = spec
            if key not in self._current:
                sources = self._sources(spec)
                if not sources:
                    return MissingKeyProvider(self._keys.missing(spec.endpoint))
                self._current[key] = self._make(spec, sources)
            return self._current[key]

    def asked(self, model: str) -> ModelSpec | None:
        """The model of this id, if it was asked in this process."""
        with self._lock:
            return self._asked.get(model)

    def refine(self, spec: ModelSpec, cancel: Cancel) -> ModelSpec:
        """The model with the limits that its endpoint reports, if the catalogue does not know it and the endpoint can
        be asked, else with the window of the price table; and with those that its refusals named, in this process or
        in an earlier one."""
        recalls = self._limits is not None or os.path.exists(self._facts_path())  # nearly always nothing was learned
        if recalls:  # first: the question below goes to the address that answered before
            spec = self._limits_cache().recall(spec)
        if not spec.known:
            from yume_shim.catalog.cost import with_listed_window

            spec = with_listed_window(spec)
            credential = self._keys.get(spec.endpoint, cancel) if spec.endpoint.tells_limits else None
            if credential is not None:
                spec = self._limits_cache().refine(spec, credential, cancel)
        return self._limits_cache().recall(spec) if recalls else spec

    def learned(self, spec: ModelSpec) -> ModelSpec:
        """The model with what its refusals named, if anything was asked or learned in this process."""
        return spec if self._limits is None else self._limits.recall(spec)

    def cost(self, spec: ModelSpec, usage: Usage) -> Cost:
        """What one answer cost. Asked once for each."""
        cost = cost_usd(spec, usage)
        with self._lock:
            self._spent = round(self._spent + cost.usd, COST_DECIMALS)
        return cost

    def count(self, request: Request, cancel: Cancel) -> int | None:
        """The provider's count of a request; None if it has no endpoint for that, or did not answer."""
        endpoint = request.model.endpoint
        if not endpoint.counts_tokens or not self._limits_cache().may_count(request.model):
            return None
        credential = self._keys.get(endpoint, cancel)
        return None if credential is None else self._limits_cache().count(request, credential, cancel)

    def _learn(self, spec: ModelSpec, facts: Json) -> None:
        self._limits_cache().learn(spec, facts)

    def close(self) -> None:
        """Close all providers ever made."""
        with self._lock:
            providers = [*self._current.values(), *self._retired]
        for provider in providers:
            provider.close()

    def _limits_cache(self) -> LimitsCache:
        from yume_shim.providers.discovery.limits_cache import LimitsCache
        from yume_shim.providers.facts.fact_file import FactFile

        with self._lock:
            if self._limits is None:
                facts = FactFile(self._facts_path(), self._clock.now, self._log)
                self._limits = LimitsCache(facts, self._settings, self._clock.now, self._log)
            return self._limits

    def _facts_path(self) -> str:
        return os.path.join(yume_folder(self._settings.env), "facts.json")

    def _sources(self, spec: ModelSpec) -> tuple[KeySource, ...]:
        found = self._keys.at(spec.endpoint)
        if len(found) > 1:
            places = ", ".join(key.known().source for key in found)
            self._log("info", f"{len(found)} keys for {spec.endpoint.name}, used in this order: {places}")
        for note in self._keys.take_notes():
            self._log("warning", note)
        return found

    def _make(self, spec: ModelSpec, sources: tuple[KeySource, ...]) -> Provider:
        make = self._maker(spec)
        if len(sources) == 1 and sources[0].fixed:
            return make(sources[0].known())
        from yume_shim.providers.keys.keyring import KeyringProvider

        return KeyringProvider(sources, make, spec.endpoint, self._clock, self._log)

    def _maker(self, spec: ModelSpec) -> Callable[[Credential], Provider]:
        """A function that makes a provider for one key. All of them share one recorder."""
        settings, ids, recorder = self._settings, self._ids, None
        if settings.network.record:
            from yume_shim.providers.cassettes.record import Recorder

            quirks = spec.endpoint.quirks
            recorder = Recorder(
                settings.network.record,
                spec.endpoint.api,
                spec.id,
                self._keys.secrets,
                self._log,
                native_tools=spec.tools and quirks.tools,
                streaming=spec.streaming and quirks.streaming,
            )
        if spec.endpoint.base_url.startswith(CASSETTE_SCHEME):
            from yume_shim.providers.cassettes.replay import ReplayProvider

            return lambda credential: ReplayProvider(settings.network.cassette, ids, self._log, recorder)
        from yume_shim.providers.load import provider_maker

        keep_error = self._keep_error if settings.log.keep_errors else None
        make = provider_maker(spec, settings, ids, self._log, recorder, self._learn, keep_error)
        if settings.host.request_permits:
            from yume_shim.providers.permits import asking_first

            make = asking_first(make, spec, self._host, lambda: self._spent)
        if not settings.network.share_limits or settings.env.get("YUME_TEST_CLOCK"):  # a fixed clock ends no pause
            return make
        from yume_shim.providers.keys.pauses import PausedProvider

        pauses = self._shared_pauses()
        return lambda credential: PausedProvider(make(credential), pauses, spec, credential)

    def _shared_pauses(self) -> Pauses:
        """The lock is held by `provider_for`."""
        if self._pauses is None:
            from yume_shim.providers.keys.pauses import Pauses

            self._pauses = Pauses(yume_folder(self._settings.env), self._log)
        return self._pauses

    def _keep_error(self, record: Json) -> None:
        """Store the record of a failed request for `doctor --last-errors`. It must not fail the turn."""
        from yume_shim.store.error_records import add_error, errors_path
        from yume_shim.text.redact import redact, with_texts

        secrets = self._keys.secrets
        try:
            add_error(errors_path(self._settings.env), with_texts(record, lambda text: redact(text, secrets)))
        except OSError as error:
            self._log("debug", f"the record of a failed request cannot be kept: {error}")


class MissingKeyProvider:
    """Used where a Claude form has no key: it sends nothing, and every request fails with an auth error."""

    def __init__(self, missing: BadInvocation) -> None:
        self._failure = Failure("auth", missing.message, provider=missing.provider, case="missing")

    def stream(self, request: Request, cancel: Cancel) -> Iterator[ModelEvent]:
        yield ResponseFailed(self._failure)

    def close(self) -> None:
        pass
