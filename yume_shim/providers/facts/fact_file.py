"""One small file of facts that outlive a process. Each is about something (an endpoint, a model there, a key), has a
kind (`asked`, `learned`) and an age after which it is forgotten.

A host starts one process per turn, and several at once: a change is read, made and written under a lock, and the file
is replaced in one step. Nothing in the file is trusted: its size and its ages are checked here, the values by those who
use them.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress

from yume_shim.disk.bounded import read_start
from yume_shim.system import move_over, try_lock
from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.types.blocks import Json

    Log = Callable[[str, str], None]
    Facts = dict[str, dict[str, Json]]
    """{what it is about: {kind: {"at": seconds, "until": seconds, "value": {…}}}}."""

MAX_SUBJECTS = 200
"""Endpoints and models in the file; the ones with the oldest facts are dropped first."""
MAX_KINDS = 16
MAX_FACT_BYTES = 8_192
MAX_FILE_BYTES = 1_048_576
MAX_AGE_SECONDS = 30 * 86_400
"""No fact is kept longer, whatever the file says."""
LOCK_SECONDS = 1.0
"""How long a change waits for other processes; then it is given up: facts are a help, not a need."""
LOCK_STEP = 0.01


class FactFile:
    """Reads and changes the file. `get`, `put` and `drop` never raise."""

    def __init__(self, path: str, now: Callable[[], float], log: Log, *, max_bytes: int = MAX_FACT_BYTES) -> None:
        """`max_bytes`: the longest fact."""
        self._path, self._now, self._log, self._max_bytes = path, now, log, max_bytes

    def stamp(self) -> tuple[int, int, int]:
        """Changes whenever a process has written the file."""
        try:
            found = os.stat(self._path)
        except OSError:
            return 0, 0, 0
        return found.st_mtime_ns, found.st_size, found.st_ino

    def get(self, about: str, kind: str) -> Json | None:
        """The fact, if there is one and it is not too old."""
        found = self._read().get(about, {}).get(kind)
        return None if found is None else found["value"]

    def put(self, about: str, kind: str, value: Json, seconds: int) -> None:
        """Keep a fact for so many seconds."""
        now = int(self._now())
        fact = {"at": now, "until": now + min(seconds, MAX_AGE_SECONDS), "value": value}
        if len(codec.dumps(fact)) > self._max_bytes:
            self._log("debug", f"a fact about {about} is too long to be kept")
            return
        self._change(lambda facts: facts.setdefault(about, {}).update({kind: fact}))

    def drop(self, about: str, kind: str) -> None:
        """Forget a fact."""
        self._change(lambda facts: facts.get(about, {}).pop(kind, None))

    # ------------------------------------------------------------ the file

    def _change(self, change: Callable[[Facts], object]) -> None:
        part = f"{self._path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            with self._locked():
                facts = self._read()
                change(facts)
                with open(part, "wb") as file:
                    file.write(codec.dumps(_bounded(facts)))
                move_over(part, self._path)
        except OSError as error:
            self._log("debug", f"facts are not kept: {error}")
            with suppress(OSError):
                os.remove(part)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Raises OSError (a TimeoutError if other processes keep the lock)."""
        fd = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            deadline = time.monotonic() + LOCK_SECONDS
            while not try_lock(fd):
                if time.monotonic() >= deadline:
                    raise TimeoutError("other processes keep the file locked")
                time.sleep(LOCK_STEP)
            yield
        finally:
            os.close(fd)

    def _read(self) -> Facts:
        """All facts that are well-formed and not too old."""
        try:
            loaded = codec.loads(read_start(self._path, MAX_FILE_BYTES))
        except (OSError, ValueError):
            return {}
        now = self._now()
        facts: Facts = {}
        for about, kinds in loaded.items() if isinstance(loaded, dict) else ():
            good = (
                {kind: fact for kind, fact in kinds.items() if _is_good(fact, now)} if isinstance(kinds, dict) else {}
            )
            if good:
                facts[about] = good
        return facts


def _is_good(fact: object, now: float) -> bool:
    if not isinstance(fact, dict) or not isinstance(fact.get("value"), dict):
        return False
    at, until = fact.get("at"), fact.get("until")
    return type(at) is int and type(until) is int and at <= now < until <= at + MAX_AGE_SECONDS


def _bounded(facts: Facts) -> Facts:
    """The newest facts."""
    kept = {about: dict(list(kinds.items())[-MAX_KINDS:]) for about, kinds in facts.items() if kinds}
    newest = sorted(kept.items(), key=lambda item: max(fact["at"] for fact in item[1].values()))
    return dict(newest[-MAX_SUBJECTS:])
