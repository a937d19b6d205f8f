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
    try:
        assert process.stdout is not None
        with process.stdout as pipe, cancel.guard(lambda: _end(process)):
            output = pipe.read(OUTPUT_BYTES + 1)
            if len(output) > OUTPUT_BYTES:
                _end(process)
            code = process.wait()
    finally:
        timer.cancel()
        if process.returncode is None:
            _end(process)
            process.wait()
    cancel.check()
    if late.is_set():
        raise _failed(place, f"did not end within {limit:g} seconds")
    if len(output) > OUTPUT_BYTES:
        raise _failed(place, "printed far more than a key")
    if code != 0:
        raise _failed(place, f"ended with exit code {code}")
    return output


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
