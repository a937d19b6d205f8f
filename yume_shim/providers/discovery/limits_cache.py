"""Keeps what is known about models besides the catalogue: what their endpoints report when they are asked, and what
their refusals name. For the process, and on disk (`providers/facts`), so that a host which starts one process per turn
pays for a question or a refusal once."""

from __future__ import annotations

import threading

from yume_shim.providers.discovery.limits import ask_limits, load_asker, valid_limits, with_limits
from yume_shim.providers.wire.google_version import is_version
from yume_shim.text import codec
from yume_shim.text.redact import shown_address
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from yume_shim.providers.facts.fact_file import FactFile
    from yume_shim.types.blocks import Json
    from yume_shim.types.models import Credential, ModelSpec, Request
    from yume_shim.types.ports import Cancel
    from yume_shim.types.settings import Settings

    Log = Callable[[str, str], None]

ASKED, LEARNED, MUTE = "asked", "learned", "counts_nothing"
"""The kinds of facts."""
KEPT_SECONDS = 86_400
"""How long an answer of an endpoint is kept."""
SILENCE_SECONDS = 600
"""How long an endpoint that timed out is not asked again. Timeouts are kept too, as an empty fact."""
LEARNED_SECONDS = 7 * 86_400
"""How long a limit from a refusal is kept: servers get larger contexts, accounts higher limits."""
SLOW_SECONDS = 1.0
"""A missing answer is kept only if the request took longer: a quick failure may be gone a moment later."""
MIN_LEARNED_OUTPUT = 256
"""A refusal that names less is not believed for longer than its process."""
MIN_LEARNED_TOOLS, MAX_LEARNED_TOOLS = 8, 100_000
"""The same for a number of tools."""
MAX_KEYWORDS = 64
"""Schema keywords that are remembered."""


class LimitsCache:
    """One per process. Used from the threads of loops: the lock guards what was learned. No method raises."""

    def __init__(self, facts: FactFile, settings: Settings, now: Callable[[], float], log: Log) -> None:
        self._facts, self._settings, self._now, self._log = facts, settings, now, log
        self._lock = threading.Lock()
        self._asked: dict[str, Json | None] = {}
        self._learned: dict[str, Json] = {}
        self._stamp = (0, 0, 0)
        self._current: set[str] = set()
        """What was read of the file since it last changed."""
        self._mute: set[str] = set()
        """Addresses that did not count tokens."""

    def refine(self, spec: ModelSpec, credential: Credential, cancel: Cancel) -> ModelSpec:
        """The model with the limits that its endpoint reports."""
        key = _key(spec)
        limits = self._asked.get(key)
        if key not in self._asked:
            limits = self._from_disk(key)
            if limits is None:
                limits = self._ask(key, spec, credential, cancel)
            if limits or not cancel.is_set():  # a cancelled question is asked again
                self._asked[key] = limits
        if not limits:
            return spec
        return with_limits(spec, {name: item for name, item in limits.items() if name not in self._configured(spec)})

    def recall(self, spec: ModelSpec) -> ModelSpec:
        """The model with what its refusals named, in this process or in an earlier one."""
        key = _key(spec)
        with self._lock:
            stamp = self._facts.stamp()
            if stamp != self._stamp:  # another process may have learned something
                self._stamp, self._current = stamp, set()
            if key not in self._current:
                self._current.add(key)
                self._learned[key] = {**self._learned.get(key, {}), **_valid(self._facts.get(key, LEARNED) or {})}
            learned = self._learned[key]
        return _with_learned(spec, learned, self._configured(spec)) if learned else spec

    def learn(self, spec: ModelSpec, facts: Json) -> None:
        """Keep what a refusal named."""
        key, new = _key(spec), _valid(facts)
        if not new:
            return
        with self._lock:
            before = self._learned.get(key) or _valid(self._facts.get(key, LEARNED) or {})
            self._learned[key] = {**before, **new}
            self._facts.put(key, LEARNED, self._learned[key], LEARNED_SECONDS)
        self._log("info", f"{spec.endpoint.name}, {spec.id}: learned {codec.dumps(new).decode()}")

    def may_count(self, spec: ModelSpec) -> bool:
        """False if its endpoint did not count tokens when it was asked lately."""
        return spec.endpoint.base_url not in self._mute and self._facts.get(_place(spec), MUTE) is None

    def count(self, request: Request, credential: Credential, cancel: Cancel) -> int | None:
        """The provider's count of a request; None if it did not answer: then it is not asked again for a day."""
        from yume_shim.providers.discovery.token_count import count_tokens

        counted = count_tokens(request, credential, self._settings, cancel, self._log)
        if counted is None and not cancel.is_set():
            self._mute.add(request.model.endpoint.base_url)
            self._facts.put(_place(request.model), MUTE, {}, KEPT_SECONDS)
        return counted

    def _configured(self, spec: ModelSpec) -> Collection[str]:
        """The names that the config file sets for the model (`[models."name"]`): these override the endpoint."""
        models = self._settings.model.overrides
        return models.get(f"{spec.endpoint.name}/{spec.id}") or models.get(spec.id) or ()

    def _ask(self, key: str, spec: ModelSpec, credential: Credential, cancel: Cancel) -> Json | None:
        transport = load_asker(spec, credential, self._settings, self._log)
        began = self._now()
        try:
            limits = ask_limits(spec, transport, cancel, self._log)
        finally:
            transport.close()
        if limits:
            self._log("debug", f"{spec.endpoint.name} reports about {spec.id}: {codec.dumps(limits).decode()}")
        if limits or (self._now() - began > SLOW_SECONDS and not cancel.is_set()):
            self._facts.put(key, ASKED, limits or {}, KEPT_SECONDS if limits else SILENCE_SECONDS)
        return limits

    def _from_disk(self, key: str) -> Json | None:
        """The reported limits; {} = the endpoint did not answer lately; None = not known."""
        limits = self._facts.get(key, ASKED)
        return limits if not limits else valid_limits(limits) or None


def _place(spec: ModelSpec) -> str:
    return shown_address(spec.endpoint.base_url)


def _key(spec: ModelSpec) -> str:
    return f"{shown_address(spec.endpoint.base_url)} {spec.id}"


def _valid(facts: Json) -> Json:
    """The entries with valid values: the facts may come from a file that anyone can write."""
    good = {name: item for name, item in valid_limits(facts).items() if name in ("window", "max_output")}
    if good.get("max_output", MIN_LEARNED_OUTPUT) < MIN_LEARNED_OUTPUT:
        del good["max_output"]
    keywords = facts.get("schema_drop")
    if isinstance(keywords, list | tuple) and all(isinstance(name, str) for name in keywords):
        good["schema_drop"] = list(keywords)[:MAX_KEYWORDS]
    tools = facts.get("max_tools")
    if type(tools) is int and MIN_LEARNED_TOOLS <= tools <= MAX_LEARNED_TOOLS:
        good["max_tools"] = tools
    if is_version(facts.get("api_version")):
        good["api_version"] = facts["api_version"]
    return good


def _with_learned(spec: ModelSpec, learned: Json, configured: Collection[str]) -> ModelSpec:
    changes: dict[str, Any] = {}
    quirks: dict[str, Any] = {}
    if "window" in learned and "window" not in configured and learned["window"] != spec.window:
        spec = spec.with_window(learned["window"])
    if "max_output" in learned and "max_output" not in configured:
        changes["max_output"] = min(spec.max_output, learned["max_output"])
    dropped = spec.endpoint.quirks.schema_drop
    new = tuple(name for name in learned.get("schema_drop", ()) if name not in dropped)
    if new:
        quirks["schema_drop"] = (*dropped, *new)
    most = spec.endpoint.quirks.max_tools
    if "max_tools" in learned and (not most or learned["max_tools"] < most):
        quirks["max_tools"] = learned["max_tools"]
    if "api_version" in learned and not spec.endpoint.quirks.api_version:
        quirks["api_version"] = learned["api_version"]
    if quirks:
        changes["endpoint"] = replace(spec.endpoint, quirks=replace(spec.endpoint.quirks, **quirks))
    return replace(spec, **changes) if changes else spec
