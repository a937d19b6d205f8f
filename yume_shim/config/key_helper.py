"""Keys that a command prints: `apiKeyHelper` of the settings files, `key_command` of a profile.

What the command prints is a secret and what it says on stderr may quote one: neither is ever shown.
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
"""How long such a command may take: some of them open a vault over the network."""
OUTPUT_BYTES = 65_536
LEFTOVER_SECONDS = 0.2
"""How long the rest of the output is waited for when the command itself has ended."""
DEFAULT_TTL_MS = 300_000
"""As the Claude CLI has it: asked again after five minutes, or when the key was refused."""
TTL_VARIABLE = "CLAUDE_CODE_API_KEY_HELPER_TTL_MS"


class CommandKey:
    """A key from a command: asked when it is first needed, when it has grown old, and when it was refused."""

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
        self._asked_at: float | None = None
        self._lock = threading.Lock()

    def known(self) -> Credential:
        return self._credential

    def get(self, cancel: Cancel) -> Credential:
        with self._lock:
            if self._asked_at is None or self._now() - self._asked_at >= self._ttl:
                self._ask(cancel)
            return self._credential

    def renew(self, refused: Credential, cancel: Cancel) -> bool:
        with self._lock:
            if self._credential.key == refused.key:
                self._ask(cancel)
            return self._credential.key != refused.key

    def _ask(self, cancel: Cancel) -> None:
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
        self._asked_at = self._now()


def ttl_seconds(env: Mapping[str, str]) -> float:
    """How long a helper's key is used; what is not a number is the default."""
    raw = env.get(TTL_VARIABLE, "")
    return (int(raw) if raw.isascii() and raw.isdigit() else DEFAULT_TTL_MS) / 1000


def _run(command: str, place: str, env: Mapping[str, str], cwd: str, limit: float, cancel: Cancel) -> bytes:
    import subprocess

    try:
        process = subprocess.Popen(
            command,
            shell=True,  # as the Claude CLI runs it: the setting is a command line
            cwd=cwd or None,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise _failed(place, f"could not be started ({error.strerror})") from None
    late = threading.Event()

    def stop() -> None:
        late.set()
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
        if process.returncode is None:  # the waiting itself was broken off
            _end(process)
        output = reader.take(0.0 if cancel.is_set() else LEFTOVER_SECONDS)
    cancel.check()
    if late.is_set():
        raise _failed(place, f"did not end within {limit:g} seconds")
    if len(output) > OUTPUT_BYTES:
        raise _failed(place, "printed far more than a key")
    if code != 0:
        raise _failed(place, f"ended with exit code {code}")
    return output


class _Reader(threading.Thread):
    """Reads what a command prints. Its own end does not wait for that of the pipe: what the command has left running
    (an agent, a daemon with a session of its own) may hold that for days."""

    def __init__(self, process: Popen[bytes]) -> None:
        super().__init__(name="key-command", daemon=True)
        self._process = process
        self._output = bytearray()
        self._enough = False

    def run(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        with pipe:
            while not self._enough and len(self._output) <= OUTPUT_BYTES:
                if _has_something(pipe.fileno()):
                    piece = os.read(pipe.fileno(), OUTPUT_BYTES)
                    if not piece:
                        return
                    self._output += piece
        if len(self._output) > OUTPUT_BYTES:
            _end(self._process)

    def take(self, seconds: float) -> bytes:
        """What was printed, once the command itself has ended."""
        self.join(seconds)
        self._enough = True
        return bytes(self._output)


def _has_something(fd: int) -> bool:
    """Would a read return at once? Windows cannot tell for pipes: there it is waited for."""
    if os.name != "posix":
        return True
    import select

    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(LEFTOVER_SECONDS * 1000))


def _end(process: Popen[bytes]) -> None:
    """The command and whatever it started; not once it was waited for, when its number may be another's."""
    import signal

    if process.returncode is not None:
        return
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except OSError:
        pass  # it has ended


def _failed(place: str, what: str) -> BadInvocation:
    return BadInvocation(f"no key: the command of {place} {what} (what it printed is not shown)", kind="auth")
