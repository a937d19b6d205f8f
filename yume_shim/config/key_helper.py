"""Gets keys from commands: `apiKeyHelper` of the settings files, `key_command` of a profile.

The command's output is a secret, and its stderr may quote one: neither is ever shown.
"""

from __future__ import annotations

import os
import threading
import time

from yume_shim.config.key_places import clean_key
from yume_shim.types.errors import BadInvocation
from yume_shim.types.models import Credential

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from subprocess import Popen

    from yume_shim.config.key_places import Learn
    from yume_shim.types.ports import Cancel

COMMAND_SECONDS = 30.0
"""Time limit of the command; some commands open a vault over the network."""
OUTPUT_BYTES = 65_536
LEFTOVER_SECONDS = 0.2
"""Time to wait for the rest of the output after the command has ended."""
DEFAULT_TTL_MS = 300_000
"""The Claude CLI's default: the command runs again after five minutes, or when its key was refused."""
TTL_VARIABLE = "CLAUDE_CODE_API_KEY_HELPER_TTL_MS"


class CommandKey:
    """A key from a command, which runs when the key is first needed, has expired, or was refused. Every thread that
    sends requests may use it: the session's and those of child loops. One runs the command, the others wait."""

    fixed = False

    def __init__(
        self,
        command: str,
        label: Credential,
        ttl: float,
        env: Mapping[str, str],
        cwd: str,
        learn: Learn,
        now: Callable[[], float] = time.monotonic,
        limit: float = COMMAND_SECONDS,
    ) -> None:
        self._command, self._credential, self._ttl = command, label, ttl
        self._env, self._cwd, self._learn, self._now, self._limit = env, cwd, learn, now, limit
        self._ran_at: float | None = None
        self._lock = threading.Lock()

    def known(self) -> Credential:
        return self._credential

    def get(self, cancel: Cancel) -> Credential:
        with self._lock:
            if self._ran_at is None or self._now() - self._ran_at >= self._ttl:
                self._run_command(cancel)
            return self._credential

    def renew(self, refused: Credential, cancel: Cancel) -> bool:
        with self._lock:
            if self._credential.key == refused.key:
                self._run_command(cancel)
            return self._credential.key != refused.key

    def _run_command(self, cancel: Cancel) -> None:
        from yume_shim.types.value import replace

        place = self._credential.source
        cancel.check()
        output = _run(self._command, place, self._env, self._cwd, self._limit, cancel)
        try:
            key = clean_key(output.decode("utf-8"))
        except ValueError:
            raise _failed(place, "printed something that is not a key") from None
        if not key:
            raise _failed(place, "printed nothing")
        self._learn(key)
        self._credential = replace(self._credential, key=key)
        self._ran_at = self._now()


def ttl_seconds(env: Mapping[str, str]) -> float:
    """How long a helper's key is used; the default if the variable is not a number."""
    raw = env.get(TTL_VARIABLE, "")
    return (int(raw) if raw.isascii() and raw.isdigit() else DEFAULT_TTL_MS) / 1000


def _run(command: str, place: str, env: Mapping[str, str], cwd: str, limit: float, cancel: Cancel) -> bytes:
    from yume_shim.system.short_commands import running

    timed_out = threading.Event()
    try:
        with running(command, cwd or None, env) as process:
            code, output = _result(process, limit, timed_out, cancel)
    except OSError as error:
        raise _failed(place, f"could not be started ({error.strerror})") from None
    cancel.check()
    if timed_out.is_set():
        raise _failed(place, f"did not end within {limit:g} seconds")
    if len(output) > OUTPUT_BYTES:
        raise _failed(place, "printed far more than a key")
    if code != 0:
        raise _failed(place, f"ended with exit code {code}")
    return output


def _result(process: Popen[bytes], limit: float, timed_out: threading.Event, cancel: Cancel) -> tuple[int, bytes]:
    """(its exit code, what it printed); it is ended if it takes too long, or when cancelled."""

    def stop() -> None:
        timed_out.set()
        _end(process)

    timer = threading.Timer(limit, stop)
    timer.daemon = True
    timer.start()
    reader = _Reader(process)
    reader.start()
    try:
        with cancel.guard(lambda: _end(process)):
            code = process.wait()
    finally:
        timer.cancel()
        if process.returncode is None:  # an exception interrupted the wait
            _end(process)
        output = reader.take(0.0 if cancel.is_set() else LEFTOVER_SECONDS)
    return code, output


class _Reader(threading.Thread):
    """Reads a command's output. It does not wait for the pipe to close: processes that the command left running (an
    agent, a daemon in its own session) may keep it open for days. Only this thread adds
    to `_output`; the thread that waits for the command reads it and sets `_stopped`."""

    def __init__(self, process: Popen[bytes]) -> None:
        super().__init__(name="key-command", daemon=True)
        self._process = process
        self._output = bytearray()
        self._stopped = False

    def run(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        from yume_shim.system import await_input

        with pipe:
            while not self._stopped and len(self._output) <= OUTPUT_BYTES:
                if await_input(pipe.fileno(), LEFTOVER_SECONDS):
                    piece = os.read(pipe.fileno(), OUTPUT_BYTES)
                    if not piece:
                        return
                    self._output += piece
        if len(self._output) > OUTPUT_BYTES:
            _end(self._process)

    def take(self, seconds: float) -> bytes:
        """The output so far; to be called after the command has ended."""
        self.join(seconds)
        self._stopped = True
        return bytes(self._output)


def _end(process: Popen[bytes]) -> None:
    """Kill the command and its process group. Not after it was waited for: its id may belong to another process."""
    from yume_shim.system.processes import end_group

    if process.returncode is None:
        end_group(process.pid)


def _failed(place: str, what: str) -> BadInvocation:
    return BadInvocation(f"no key: the command of {place} {what} (what it printed is not shown)", kind="auth")
