"""Models as their endpoints describe them, each asked once: the answer is kept for the process, and on disk for a day,
so that a host which starts one process per turn does not pay for the question in every turn. That an endpoint let us
wait for nothing is kept too, for a shorter time."""

from __future__ import annotations

import os
from contextlib import suppress

from yume_shim.providers.discovery.limits import ask_limits, load_asker, sane, with_limits
from yume_shim.text import codec
from yume_shim.text.redact import shown_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from yume_shim.types.blocks import Json
    from yume_shim.types.models import Credential, ModelSpec
    from yume_shim.types.ports import Cancel
    from yume_shim.types.settings import Settings

    Log = Callable[[str, str], None]

KEPT_SECONDS = 86_400
SILENCE_SECONDS = 600
"""How long an endpoint that let us wait and told nothing is not asked again."""
PATIENCE = 1.0
"""Seconds after which no answer is worth remembering; a quick one may be another in the next moment."""
MAX_KEPT = 200
"""Models that are remembered on disk."""
MAX_FILE_BYTES = 1_048_576


class LimitsCache:
    """One per process. `refine` never raises; what could not be learned stays as it was."""

    def __init__(self, path: str, settings: Settings, now: Callable[[], float], log: Log) -> None:
        self._path, self._settings, self._now, self._log = path, settings, now, log
        self._told: dict[str, Json | None] = {}

    def refine(self, spec: ModelSpec, credential: Credential, cancel: Cancel) -> ModelSpec:
        """The model with what its endpoint tells about it."""
        key = f"{shown_address(spec.endpoint.base_url)} {spec.id}"
        told = self._told.get(key)
        if key not in self._told:
            told = self._from_disk(key)
            if told is None:
                told = self._ask(key, spec, credential, cancel)
            if told or not cancel.is_set():  # a question that was stopped may be asked again
                self._told[key] = told
        if not told:
            return spec
        return with_limits(spec, {name: item for name, item in told.items() if name not in self._wished(spec)})

    def _wished(self, spec: ModelSpec) -> Collection[str]:
        """What the config file says about the model (`[models."name"]`): that is not asked of anybody."""
        models = self._settings.model.overrides
        return models.get(f"{spec.endpoint.name}/{spec.id}") or models.get(spec.id) or ()

    def _ask(self, key: str, spec: ModelSpec, credential: Credential, cancel: Cancel) -> Json | None:
        transport = load_asker(spec, credential, self._settings, self._log)
        began = self._now()
        try:
            told = ask_limits(spec, transport, cancel, self._log)
        finally:
            transport.close()
        if told:
            self._log("debug", f"{spec.endpoint.name} tells about {spec.id}: {codec.dumps(told).decode()}")
        if told or (self._now() - began > PATIENCE and not cancel.is_set()):
            self._to_disk(key, told or {})
        return told

    def _from_disk(self, key: str) -> Json | None:
        """What was told; {} = nothing, not long ago; None = not known."""
        entry = self._read().get(key)
        if entry is None or not entry["told"]:
            return None if entry is None else {}
        return sane(entry["told"]) or None

    def _read(self) -> dict[str, Json]:
        """The entries that are still good: {key: {"at": seconds, "told": {…}}}."""
        try:
            with open(self._path, "rb") as file:
                loaded = codec.loads(file.read(MAX_FILE_BYTES))
        except (OSError, ValueError):
            return {}
        now = self._now()
        entries = loaded.items() if isinstance(loaded, dict) else ()
        return {key: entry for key, entry in entries if _is_good(entry, now)}

    def _to_disk(self, key: str, told: Json) -> None:
        kept = self._read()
        kept[key] = {"at": int(self._now()), "told": told}
        newest = sorted(kept.items(), key=lambda item: item[1]["at"])[-MAX_KEPT:]
        part = f"{self._path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            with open(part, "wb") as file:
                file.write(codec.dumps(dict(newest)))
            os.replace(part, self._path)
        except OSError as error:
            self._log("debug", f"limits are not kept: {error}")
            with suppress(OSError):
                os.remove(part)


def _is_good(entry: object, now: float) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("told"), dict):
        return False
    at = entry.get("at")
    return isinstance(at, int) and 0 <= now - at < (KEPT_SECONDS if entry["told"] else SILENCE_SECONDS)
