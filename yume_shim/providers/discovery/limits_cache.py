"""Caches what endpoints report about their models: for the process, and on disk for a day, so that a host which starts
one process per turn does not pay for the question in every turn. Timeouts are cached too, for a shorter time."""

from __future__ import annotations

import os
from contextlib import suppress

from yume_shim.providers.discovery.limits import ask_limits, load_asker, valid_limits, with_limits
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
"""How long an endpoint that timed out is not asked again."""
SLOW_SECONDS = 1.0
"""A missing answer is cached only if the request took longer: a quick failure may be gone a moment later."""
MAX_KEPT = 200
"""Models that are cached on disk."""
MAX_FILE_BYTES = 1_048_576


class LimitsCache:
    """One per process. `refine` never raises."""

    def __init__(self, path: str, settings: Settings, now: Callable[[], float], log: Log) -> None:
        self._path, self._settings, self._now, self._log = path, settings, now, log
        self._limits: dict[str, Json | None] = {}

    def refine(self, spec: ModelSpec, credential: Credential, cancel: Cancel) -> ModelSpec:
        """The model with the limits that its endpoint reports."""
        key = f"{shown_address(spec.endpoint.base_url)} {spec.id}"
        limits = self._limits.get(key)
        if key not in self._limits:
            limits = self._from_disk(key)
            if limits is None:
                limits = self._ask(key, spec, credential, cancel)
            if limits or not cancel.is_set():  # a cancelled question is asked again
                self._limits[key] = limits
        if not limits:
            return spec
        return with_limits(spec, {name: item for name, item in limits.items() if name not in self._configured(spec)})

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
            self._to_disk(key, limits or {})
        return limits

    def _from_disk(self, key: str) -> Json | None:
        """The cached limits; {} = the endpoint did not answer lately; None = not cached."""
        entry = self._read().get(key)
        if entry is None or not entry["limits"]:
            return None if entry is None else {}
        return valid_limits(entry["limits"]) or None

    def _read(self) -> dict[str, Json]:
        """The entries that are still valid: {key: {"at": seconds, "limits": {…}}}."""
        try:
            with open(self._path, "rb") as file:
                loaded = codec.loads(file.read(MAX_FILE_BYTES))
        except (OSError, ValueError):
            return {}
        now = self._now()
        entries = loaded.items() if isinstance(loaded, dict) else ()
        return {key: entry for key, entry in entries if _is_good(entry, now)}

    def _to_disk(self, key: str, limits: Json) -> None:
        kept = self._read()
        kept[key] = {"at": int(self._now()), "limits": limits}
        newest = sorted(kept.items(), key=lambda item: item[1]["at"])[-MAX_KEPT:]
        part = f"{self._path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            with open(part, "wb") as file:
                file.write(codec.dumps(dict(newest)))
            os.replace(part, self._path)
        except OSError as error:
            self._log("debug", f"limits are not cached: {error}")
            with suppress(OSError):
                os.remove(part)


def _is_good(entry: object, now: float) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("limits"), dict):
        return False
    at = entry.get("at")
    return isinstance(at, int) and 0 <= now - at < (KEPT_SECONDS if entry["limits"] else SILENCE_SECONDS)
