"""CLAUDE_ENV_FILE: hooks of the session's start write `export NAME=value` into it, later commands get the variables.

The file is read once, by a shell, right after the hooks: what is written into it later has no effect.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from yume_shim.system.shell_choice import ShellChoice

NAME = "CLAUDE_ENV_FILE"
PREFIX, SUFFIX = "hook-env-", ".sh"
READ_SECONDS = 10.0
MAX_FILE = 256 * 1024
MAX_VARIABLES = 1_000
_OWN = frozenset(("PWD", "OLDPWD", "SHLVL", "_", NAME))
"""Variables that a shell sets by itself."""
_SCRIPT = '. "$1" >/dev/null 2>&1 </dev/null; exec env -0'
_SCRIPT_ON_WINDOWS = f"env -0; printf '\\0'; . \"${NAME}\" >/dev/null 2>&1 </dev/null; exec env -0"
"""A bash of Windows changes variables when it starts: what it has before and after the file is compared."""


class EnvFile:
    """One file for the hooks of one event."""

    def __init__(
        self, env: Mapping[str, str], cwd: str, windows_shell: Callable[[], ShellChoice] | None = None
    ) -> None:
        """`windows_shell`: as in `HookCommands`."""
        self._env, self._cwd, self._windows_shell = env, cwd, windows_shell
        self.path = _new_file(env.get("TMPDIR", ""))

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

        argv, more, why = self._argv()
        if why:
            log("warning", f"{NAME} is ignored: {why}")
            return {}
        process = start(
            argv,
            env={**self._env, **more},
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
        if self._windows_shell is None:
            return _changed(self._env, _variables(printed))
        before, _, after = printed.partition(b"\0\0")
        changed = _changed(_variables(before), _variables(after))
        if changed.pop("PATH", None) is not None:  # in the shell's form, which no other program reads
            log("warning", f"PATH in {NAME} is ignored on Windows")
        return changed

    def _argv(self) -> tuple[list[str] | str, Mapping[str, str], str]:
        """(how to start the shell, variables for it, why there is none)."""
        if self._windows_shell is None:
            return ["/bin/sh", "-c", _SCRIPT, "sh", self.path], {}, ""
        from yume_shim.system.hook_shell import NO_BASH, hook_start

        choice = self._windows_shell()
        if choice.kind != "git-bash":
            return [], {}, "variables of WSL do not reach Windows" if choice.kind else NO_BASH
        begun = hook_start(_SCRIPT_ON_WINDOWS, "bash", choice, {NAME: self.path})
        return begun.argv, {NAME: self.path, **begun.env}, begun.problem


def _new_file(folder: str) -> str:
    """An empty file for this user only. `tempfile` loads archive formats and random numbers: a twelfth of a start."""
    path = os.path.join(folder or "/tmp", f"{PREFIX}{os.urandom(8).hex()}{SUFFIX}")
    try:
        if os.name != "posix":
            raise FileNotFoundError
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:  # no such folder, not ours, or another system's
        import tempfile

        handle, path = tempfile.mkstemp(prefix=PREFIX, suffix=SUFFIX, dir=folder or None)
    os.close(handle)
    return path


def _variables(printed: bytes) -> dict[str, str]:
    entries = printed.decode("utf-8", "surrogateescape").split("\0")
    return {name: text for name, equals, text in (entry.partition("=") for entry in entries) if equals}


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    new = {name: text for name, text in after.items() if name not in _OWN and before.get(name) != text}
    return dict(list(new.items())[:MAX_VARIABLES])
