"""Pauses of keys, shared by all processes of a user: when a provider has refused a key for its rate and said for how
long, no other process sends a request with it before that time is over.

The pause is a fact (`facts/fact_file.py`) about address, model and key; the key is in it as a salted hash only. A
process that finds one gets the failure that its own request would have got, without sending it, so it changes keys or
waits as after its own refusal. Where nobody was refused lately there is no file, and a request costs one `stat`.
"""

from __future__ import annotations

import os
import threading
import time

from yume_shim.disk.bounded import read_start
from yume_shim.types.errors import Failure
from yume_shim.types.events import ResponseFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.providers.facts.fact_file import FactFile
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.models import Credential, ModelSpec, Request
    from yume_shim.types.ports import Cancel, Provider

    Log = Callable[[str, str], None]

FILE, SALT_FILE = "pauses.json", "pauses.salt"
PAUSE = "pause"
"""The kind of the fact."""
MAX_PAUSE_S = 600.0
"""The longest pause that is shared: who was told to wait for longer is asked again by others after this time."""
GRACE_S = 0.05
"""A rest of a pause that is not worth a wait: times of two processes are not that exact."""
SALT_BYTES = 32
TOO_MANY_REQUESTS = 429


class Pauses:
    """Reads and writes the pauses of one folder. Safe from any thread. Nothing raises: a pause is no need."""

    def __init__(self, folder: str, log: Log, now: Callable[[], float] = time.time) -> None:
        """`now`: wall-clock time, which all processes share."""
        self._folder, self._log, self._now = folder, log, now
        self._path = os.path.join(folder, FILE)
        self._own = os.urandom(8).hex()
        """Marks our pauses: our own requests wait by our own rules."""
        self._lock = threading.Lock()
        self._salt = b""
        self._stamp: tuple[int, int, int] | None = None
        self._read: dict[str, tuple[float, float]] = {}
        """What was read of the file with this stamp: about → (begun, over)."""

    def left(self, spec: ModelSpec, key: str) -> float:
        """Seconds for which another process has found this key at its limit; 0 = it may be used."""
        try:
            found = os.stat(self._path)
        except OSError:
            return 0.0
        if self._now() - found.st_mtime > MAX_PAUSE_S:
            return 0.0  # every pause in it is over
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        with self._lock:
            if stamp != self._stamp:
                self._stamp, self._read = stamp, {}
            about = self._about(spec, key, make=False)
            if about not in self._read:
                self._read[about] = self._from_disk(about)
            begun, over = self._read[about]
        now = self._now()
        if now < begun:  # the clock was set back: nothing says how long the pause still is
            return 0.0
        rest = min(over - now, MAX_PAUSE_S)
        return rest if rest > GRACE_S else 0.0

    def begin(self, spec: ModelSpec, key: str, seconds: float) -> None:
        """A provider has refused this key for so long."""
        seconds = min(seconds, MAX_PAUSE_S)
        with self._lock:
            about, now = self._about(spec, key, make=True), self._now()
            if about:
                value = {"begun": now, "over": now + seconds, "by": self._own}
                self._facts().put(about, PAUSE, value, int(seconds) + 2)

    def _from_disk(self, about: str) -> tuple[float, float]:
        value = self._facts().get(about, PAUSE) if about else None
        if value is None or value.get("by") == self._own:
            return 0.0, 0.0
        begun, over = value.get("begun"), value.get("over")
        if type(begun) is not float or type(over) is not float or not begun <= over <= begun + MAX_PAUSE_S:
            return 0.0, 0.0
        return begun, over

    def _facts(self) -> FactFile:
        from yume_shim.providers.facts.fact_file import FactFile

        return FactFile(self._path, self._now, self._log)

    def _about(self, spec: ModelSpec, key: str, *, make: bool) -> str:
        """What the fact is about; "" if there is no salt. The lock is held."""
        import hashlib

        from yume_shim.text.redact import shown_address

        if not self._salt:
            self._salt = self._load_salt(make=make)
        if not self._salt:
            return ""
        hashed = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), key=self._salt, digest_size=20).hexdigest()
        return f"{shown_address(spec.endpoint.base_url)} {spec.id} {hashed}"

    def _load_salt(self, *, make: bool) -> bytes:
        path = os.path.join(self._folder, SALT_FILE)
        for _ in range(2):
            try:
                salt = read_start(path, SALT_BYTES)
                if len(salt) == SALT_BYTES:
                    return salt
                os.remove(path)
            except OSError:
                pass
            if not make:
                return b""
            try:
                self._make_salt(path)
            except OSError as error:
                self._log("debug", f"pauses of keys are not shared: {error}")
                return b""
        return b""

    def _make_salt(self, path: str) -> None:
        """Complete or not at all: another process may read it at once."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        part = f"{path}.{self._own}"
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(handle, "wb") as file:
                file.write(os.urandom(SALT_BYTES))
            if not os.path.exists(path):
                os.rename(part, path)
        finally:
            if os.path.exists(part):
                os.remove(part)


class PausedProvider:
    """Implements `types.ports.Provider` for one key, around the provider of that key."""

    def __init__(self, provider: Provider, pauses: Pauses, spec: ModelSpec, credential: Credential) -> None:
        self._provider, self._pauses, self._spec, self._credential = provider, pauses, spec, credential

    def stream(self, request: Request, cancel: Cancel) -> Iterator[ModelEvent]:
        """The events of one response, unless another process was refused a moment ago."""
        left = self._pauses.left(self._spec, self._credential.key)
        if left:
            yield ResponseFailed(self._paused(left))
            return
        for event in self._provider.stream(request, cancel):
            if isinstance(event, ResponseFailed):
                self._note(event.failure)
            yield event

    def close(self) -> None:
        """Close the connections."""
        self._provider.close()

    def _note(self, failure: Failure) -> None:
        wait = failure.retry_after_ms
        if failure.kind == "rate_limit" and failure.status == TOO_MANY_REQUESTS and wait:
            self._pauses.begin(self._spec, self._credential.key, wait / 1000)

    def _paused(self, seconds: float) -> Failure:
        from yume_shim.providers.wire.failures import failure_paused

        return failure_paused(self._spec.endpoint.name, self._credential.source, seconds)
