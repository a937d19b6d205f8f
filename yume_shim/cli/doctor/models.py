"""Lines of `doctor` about the model: provider, model, address, keys by name and place, and what endpoints answer."""

from __future__ import annotations

import os

from yume_shim.catalog.cost import has_price, with_listed_window
from yume_shim.catalog.resolve import Catalog
from yume_shim.cli.doctor.line import Line
from yume_shim.config.credentials import check_places, find_credential, find_keys
from yume_shim.config.key_doubts import key_doubt, near_variables
from yume_shim.providers.load import known_apis
from yume_shim.text.redact import shown_address
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.cli.doctor.line import State
    from yume_shim.types.models import Credential, Endpoint, ModelSpec
    from yume_shim.types.settings import Settings

MODEL, KEYS, LIVE = "Model", "Keys", "Endpoints, asked now"
_ADDRESS = "give the address of {}: --api-base, base_url in the config file, or its variable"
REPLAY = "replay"
"""The API of recordings: it has no address, no key and no models of its own."""


class ModelFacts:
    """What the settings choose: `spec` is None if that does not name a model, and `error` says why."""

    def __init__(self, settings: Settings, model: str, provider: str) -> None:
        self.settings, self.spec, self.error, self._named = settings, None, "", bool(model or provider)
        self._badly_placed = ""
        self._misplaced: list[Line] = []
        """Other providers whose addresses cannot be used."""
        self.catalog = Catalog(settings, lambda endpoint: find_credential(endpoint, settings) is not None)
        try:
            asked = model or self.catalog.configured()[0]
            self.spec = with_listed_window(self.catalog.resolve(asked, provider))
        except BadInvocation as error:
            self.error, self._badly_placed = error.message, error.provider

    spec: ModelSpec | None

    def lines(self) -> Iterator[Line]:
        """Provider, model, address, and the models that take over."""
        if self.spec is None:
            todo = "name one with --model, or run: yume-shim init (yume-shim models lists them)"
            if self._badly_placed:
                todo = _ADDRESS.format(self._badly_placed)
            yield Line(MODEL, "address" if self._badly_placed else "model", "wrong", self.error, todo)
            return
        endpoint, spec = self.spec.endpoint, self.spec
        yield Line(MODEL, "provider", "ok", f"{endpoint.name}, wire API {endpoint.api}")
        if endpoint.api == REPLAY:
            yield Line(MODEL, "model", "ok", "that of the recording, which --cassette names")
            return
        doubt = self.catalog.doubt(spec.id)
        unknown = f" (not in the catalogue: window {spec.window:,}, {_price(spec)})"
        text = f"{spec.id}{'' if spec.known else unknown}{f'; {doubt}' if doubt else ''}"
        yield Line(MODEL, "model", "ok" if spec.known else "off", text)
        yield Line(MODEL, "address", "ok", shown_address(endpoint.base_url) or "by region and project")

    def key_lines(self) -> Iterator[Line]:
        """Names and places of keys, never a part of one."""
        chosen = self.spec.endpoint if self.spec is not None else None
        without, others = [], []
        for endpoint in self._endpoints():
            name = endpoint.name
            if chosen is not None and name == chosen.name:
                continue
            credential = find_credential(endpoint, self.settings)
            if credential is None:
                without.append(name)
            elif credential.kind != "none":
                others.append(_found_key(name, credential, needed=False))
        if chosen is not None:
            yield self._chosen_key(chosen, "" if self._named or not others else others[0].name)
        yield from (*others, *self._misplaced)
        if without:
            yield Line(KEYS, "no key", "off", ", ".join(without), "yume-shim auth shows where keys are looked for")

    def _chosen_key(self, endpoint: Endpoint, other: str) -> Line:
        """`other`: a provider whose key is there, if nobody has chosen this one."""
        credential = find_credential(endpoint, self.settings)
        if credential is None:
            looked = ", ".join(place.name for place in check_places(endpoint, self.settings))
            looked += near_variables(endpoint, self.settings.env)
            name = endpoint.key_vars[0] if endpoint.key_vars else "YUME_API_KEY"
            instead = f"{other}, whose key is there" if other else endpoint.name
            todo = f"{set_variable(name)} (or run: yume-shim init --provider {instead})"
            return Line(KEYS, endpoint.name, "wrong", f"no key: looked at {looked}", todo)
        if endpoint.sign_in:
            return Line(KEYS, endpoint.name, "ok", f"signs in with {endpoint.sign_in}")
        if credential.kind == "none":
            return Line(KEYS, endpoint.name, "ok", "needs none")
        return _found_key(endpoint.name, credential, needed=True)

    def _endpoints(self) -> list[Endpoint]:
        apis, found = known_apis(), []
        self._misplaced.clear()
        for name in self.catalog.names():
            try:
                endpoint = self.catalog.endpoint(name, address=False)
            except BadInvocation as error:
                if name != self._badly_placed:
                    self._misplaced.append(Line(KEYS, name, "off", error.message, _ADDRESS.format(name)))
                continue
            if endpoint.api in apis:
                found.append(endpoint)
        return found

    def live_lines(self) -> Iterator[Line]:
        """One request to each endpoint that has a key, or an entry in the configuration, side by side."""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            yield from pool.map(self._asked, self._configured())

    def ask(self) -> Line:
        """The same of the chosen provider alone."""
        if self.spec is None or self.spec.endpoint.api == REPLAY:
            return Line(LIVE, "model", "off", "there is no endpoint to ask")
        return self._asked(self.spec.endpoint)

    def _configured(self) -> list[Endpoint]:
        found = {}
        if self.spec is not None and self.spec.endpoint.api != REPLAY:
            found[self.spec.endpoint.name] = self.spec.endpoint
        for endpoint in self._endpoints():
            credential = find_credential(endpoint, self.settings)
            name = endpoint.name
            own = name in self.settings.endpoint.rows
            if credential is not None and (own or credential.kind != "none"):
                found.setdefault(endpoint.name, self.catalog.endpoint(endpoint.name))
        return list(found.values())

    def _asked(self, endpoint: Endpoint) -> Line:
        from yume_shim.engine.cancel import CancelSignal
        from yume_shim.providers.discovery.model_lists import list_models

        if endpoint.sign_in:
            return Line(LIVE, endpoint.name, "off", f"signs in with {endpoint.sign_in}: no list of models to ask for")
        try:
            keys, cancel = find_keys(endpoint, self.settings), CancelSignal()
            if not keys:
                none = self._chosen_key(endpoint, "")
                return Line(LIVE, none.name, none.state, none.text, none.todo)
            spec = self.catalog.at(endpoint, "")
            names = list_models(spec, keys[0].get(cancel), self.settings, cancel, lambda level, text: None)
        except BadInvocation as error:
            return Line(LIVE, endpoint.name, "wrong", error.message, _advice(error.kind).format(endpoint.name))
        text = f"{len(names)} model{'' if len(names) == 1 else 's'}"
        chosen = self.spec.endpoint.name if self.spec is not None else ""
        if self.spec is None or chosen != endpoint.name or self.spec.id in names:
            return Line(LIVE, endpoint.name, "ok", text)
        return Line(LIVE, endpoint.name, "off", f"{text}, {self.spec.id} is not in the list")


_AT_ONCE = 8
_ADVICE = {
    "auth": "correct the key of {}",
    "billing": "look at the account of {}",
    "rate_limit": "try again later: {} is at its limit, which says nothing against the key",
    "overloaded": "try again later: {} is overloaded",
    "server": "try again later: the fault is on the side of {}",
    "not_found": "check the address of {}; if it has no list of models, try it with a prompt",
}
"""By the kind of the failure; the rest is about the address and the way there."""


def _advice(kind: str) -> str:
    return _ADVICE.get(kind, "check the address of {}, and the way there")


def _found_key(name: str, credential: Credential, *, needed: bool) -> Line:
    if doubt := key_doubt(credential.key):
        state: State = "wrong" if needed else "off"
        return Line(KEYS, name, state, f"from {credential.source}: {doubt}", f"enter {credential.source} again")
    return Line(KEYS, name, "ok", f"from {credential.source}")


def _price(spec: ModelSpec) -> str:
    return "price known" if has_price(spec) else "price unknown"


def set_variable(name: str, *, windows: bool = os.name == "nt") -> str:
    """The command that gives later programs a variable; that of Windows works in cmd.exe and PowerShell, for terminals
    that are opened later."""
    return f"setx {name} …" if windows else f"export {name}=…"
