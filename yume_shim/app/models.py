"""Chooses the model and its keys: flags, aliases, the resumed session's model, fallbacks, profiles."""

from __future__ import annotations

import threading

from yume_shim.catalog.resolve import Catalog
from yume_shim.config.credentials import find_keys, missing_key
from yume_shim.types.errors import BadInvocation, Cancelled
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.errors import Failure
    from yume_shim.types.models import Credential, Endpoint, ModelSpec
    from yume_shim.types.ports import Cancel, KeySource
    from yume_shim.types.settings import Settings
    from yume_shim.types.stored_session import StoredSession

CASSETTE_API = "replay"
"""The `api` of the catalogue row whose real API is written in the cassette."""
CASSETTE_SCHEME = "cassette:"

MAX_NEAR = 3
"""How many similar names a message offers."""
NEAR = 0.8
"""How similar they are at least, from 0 to 1."""


class EndpointKeys:
    """The keys of each endpoint under the chosen profile.

    The threads of loops (the session's and children's) and the stdin reader's (`set_model`, `initialize`) look up keys;
    the reader's thread also changes the profile (`set_profile`). The lock guards the profile, the keys found so far and
    the notes.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._profile = settings.credentials.profile
        self._found: dict[tuple[str, str, tuple[str, ...]], tuple[KeySource, ...]] = {}
        self._notes: list[str] = []
        self.secrets: list[str] = []
        """Every key known so far, for log, recorder and redaction. Any thread may append; nothing is ever removed."""

    @property
    def profile(self) -> str:
        """The chosen profile ("" = none)."""
        return self._profile

    def use_profile(self, name: str) -> None:
        """Choose a profile ("" = none) for keys asked for from now on. Raises BadInvocation."""
        if name and name not in self._settings.credentials.profiles:
            from yume_shim.config.key_settings import unknown_profile

            raise BadInvocation(
                unknown_profile(name, tuple(self._settings.credentials.profiles), self._settings.config_file)
            )
        with self._lock:
            self._profile = name
            self._found = {}

    def at(self, endpoint: Endpoint) -> tuple[KeySource, ...]:
        """All keys for an endpoint, to be used in turn; () if it needs one and there is none."""
        # Address and variables are part of the cache key: flags may change both for one provider.
        place = (endpoint.name, endpoint.base_url, endpoint.key_vars)
        with self._lock:
            if place not in self._found:
                self._found[place] = find_keys(
                    endpoint, self._settings, self._notes.append, self._learn, profile=self._profile
                )
            return self._found[place]

    def known(self, endpoint: Endpoint) -> Credential | None:
        """The first key, as far as it is known without running a command; None if there is none."""
        found = self.at(endpoint)
        return found[0].known() if found else None

    def get(self, endpoint: Endpoint, cancel: Cancel) -> Credential | None:
        """As `known`, but runs the command that prints the key. None also if that fails: the request reports it."""
        found = self.at(endpoint)
        try:
            return found[0].get(cancel) if found else None
        except (BadInvocation, Cancelled):
            return None

    def missing(self, endpoint: Endpoint) -> BadInvocation:
        """The error for a missing key; it names every place that was checked."""
        return missing_key(endpoint, self._settings, profile=self._profile)

    def note(self, text: str) -> None:
        """Keep a warning for the log, which may not exist yet."""
        with self._lock:
            self._notes.append(text)

    def take_notes(self) -> list[str]:
        """The warnings since the last call."""
        with self._lock:
            notes, self._notes = self._notes, []
        return notes

    def _learn(self, key: str) -> None:
        if key not in self.secrets:
            self.secrets.append(key)


class ModelResolver:
    """Resolves model names. It has no state besides the catalogue's."""

    def __init__(self, settings: Settings, keys: EndpointKeys) -> None:
        self._settings = settings
        self._keys = keys
        self.catalog = Catalog(settings, lambda endpoint: bool(keys.at(endpoint)))

    def resolve(self, text: str) -> ModelSpec:
        """The model that `text` means ("" = the default). Raises BadInvocation."""
        spec = self._from_cassette(self.catalog.resolve(text))
        if text and (doubt := self.catalog.doubt(text)):
            self._keys.note(doubt)
        return spec

    def switch_to(self, text: str) -> ModelSpec:
        """The model that the host asks for. Raises BadInvocation, also if it has no key."""
        return self._with_key(self.resolve(text))

    def fallback(self, text: str) -> ModelSpec:
        """The model that takes over. Raises BadInvocation, also if it has no key."""
        return self._with_key(self._from_cassette(self.catalog.fallback(text)))

    def _with_key(self, spec: ModelSpec) -> ModelSpec:
        if self._keys.known(spec.endpoint) is None:
            raise self._keys.missing(spec.endpoint)
        return spec

    def advise(self, failure: Failure, spec: ModelSpec) -> Failure:
        """The failure with its whole message: what was tried with which keys at which address, and what the user can
        do about it."""
        from yume_shim.text.redact import shown_address
        from yume_shim.types.errors import Tried
        from yume_shim.types.failure_text import explained

        endpoint = spec.endpoint
        address = shown_address(endpoint.base_url) if endpoint.base_url.startswith("http") else ""
        tried = replace(failure.tried or Tried(), address=address, keys=", ".join(self._key_places(endpoint)))
        named = self._with_names(failure, spec) if failure.kind == "not_found" else failure
        return explained(replace(named, tried=tried), provider=endpoint.name, model=spec.id)

    def _key_places(self, endpoint: Endpoint) -> list[str]:
        try:
            known = [key.known() for key in self._keys.at(endpoint)]
            return [each.source for each in known if each.kind != "none"]
        except BadInvocation:  # the failure says so itself
            return []

    def _with_names(self, failure: Failure, spec: ModelSpec) -> Failure:
        """The failure of a model that does not exist names the model, similar ones and the command that lists all."""
        import difflib

        name = f"{spec.endpoint.name}/{spec.id}"
        known = {f"{each.endpoint.name}/{each.id}" for each in self.catalog.known_models()} - {name}
        near = difflib.get_close_matches(name, sorted(known), n=MAX_NEAR, cutoff=NEAR)
        asked = "" if f"'{spec.id}'" in failure.message else f" (model '{spec.id}')"
        similar = f"; similar names: {', '.join(near)}" if near else ""
        return replace(failure, message=f"{failure.message}{asked}{similar}; `yume-shim models` lists the known ones")

    def first(self, stored: StoredSession | None) -> ModelSpec:
        """The model of the first turn. A resumed session keeps its model, unless a flag names one or its key is
        missing."""
        before = self._of_stored(stored) if stored is not None else None
        if before is not None and self._keys.known(before.endpoint) is not None:
            return before
        name, ignored = self.catalog.configured()
        if ignored:
            self._keys.note(ignored)
        spec = self.resolve(name)
        if before is None:
            return spec
        if self._keys.known(spec.endpoint) is None:
            return before  # neither has a key: the message names the key of the session's own model
        names = [f"{each.endpoint.name}/{each.id}" for each in (before, spec)]
        self._keys.note(f"there is no key for {names[0]}, the model of this session: continuing with {names[1]}")
        return spec

    def _of_stored(self, stored: StoredSession) -> ModelSpec | None:
        """The model of a stored session, if it can be resolved. A model that another program used counts only if our
        settings name none and the catalogue knows it."""
        settings = self._settings
        if settings.model.chosen_by_flag:
            return None
        own_setting = (
            self.catalog.configured()[0] or settings.model.default_provider or "default" in settings.model.aliases
        )
        name = stored.model or ("" if own_setting else stored.foreign_model)
        if not name:
            return None
        self.catalog.bind_flags(name)
        try:
            spec = self.resolve(name)
        except BadInvocation:
            return None
        return spec if stored.model or spec.known else None

    def _from_cassette(self, spec: ModelSpec) -> ModelSpec:
        """For the replay provider: the model and API that the cassette was recorded with."""
        if spec.endpoint.api != CASSETTE_API:
            return spec
        from yume_shim.providers.cassettes.replay import read_cassette

        if not self._settings.network.cassette:
            raise BadInvocation("the replay provider answers from a folder: give --cassette DIR")
        made_with = read_cassette(self._settings.network.cassette)
        address = CASSETTE_SCHEME + self._settings.network.cassette
        endpoint = replace(spec.endpoint, api=made_with.endpoint.api, base_url=address)
        found = self.catalog.at(endpoint, made_with.id)
        return replace(found, tools=found.tools and made_with.tools, streaming=found.streaming and made_with.streaming)
