"""CLAUDE_ENV_FILE: hooks of the session's start write `export NAME=value` into it, later commands get the variables.

The file is read once, by a shell, right after the hooks: what is written into it later has no effect.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAME = "CLAUDE_ENV_FILE"
READ_SECONDS = 10.0
MAX_FILE = 256 * 1024
MAX_VARIABLES = 1_000
_OWN = frozenset(("PWD", "OLDPWD", "SHLVL", "_", NAME))
"""Variables that a shell sets by itself."""
_SCRIPT = '. "$1" >/dev/null 2>&1 </dev/null; exec env -0'


class EnvFile:
    """One file for the hooks of one event."""

    def __init__(self, env: Mapping[str, str], cwd: str) -> None:
        import tempfile

        self._env, self._cwd = env, cwd
        handle, self.path = tempfile.mkstemp(prefix="hook-env-", suffix=".sh", dir=env.get("TMPDIR") or None)
        os.close(handle)

    def take(self, log: Callable[[str, str], None]) -> dict[str, str]:
        """The variables that the file sets or changes; the file is removed."""
        try:
            if not 0 < os.path.getsize(self.path) <= MAX_FILE:
                return {}
            return self._read(log)
        except OSError as error:
            log("warning", f"{NAME} cannot be read: {error}")
            return {}
        finally:
            try:
                os.unlink(self.path)
            except OSError:
                pass  # a hook removed it

    def _read(self, log: Callable[[str, str], None]) -> dict[str, str]:
        import subprocess

        from yume_shim.system.processes import end_group, start

        argv = ["/bin/sh", "-c", _SCRIPT, "sh", self.path]
        process = start(
            argv,
            env=dict(self._env),
            cwd=self._cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            printed, _ = process.communicate(timeout=READ_SECONDS)
        except subprocess.TimeoutExpired:
            log("warning", f"{NAME} is ignored: reading it takes too long")
            return {}
        finally:
            end_group(process.pid)
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        found = [entry.partition("=") for entry in printed.decode("utf-8", "surrogateescape").split("\0") if entry]
        new = {name: value for name, _, value in found if name not in _OWN and self._env.get(name) != value}
        return dict(list(new.items())[:MAX_VARIABLES])
