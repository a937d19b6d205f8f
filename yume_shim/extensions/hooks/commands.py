"""Runs a hook's command: JSON on its stdin, its output kept within limits, its process group ended as a whole."""

from __future__ import annotations

import os
import threading
from itertools import count

from yume_shim.extensions.hooks.answers import HookRun, async_seconds, is_async
from yume_shim.system.processes import end_group, end_marked, group_alive, marked, start
from yume_shim.system.programs import NO_CURRENT_FOLDER, absolute_argv, find_program
from yume_shim.types.blocks import NOTHING
from yume_shim.types.errors import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from subprocess import Popen
    from typing import IO, Protocol

    from yume_shim.extensions.hooks.env_file import EnvFile
    from yume_shim.extensions.hooks.specs import Hook
    from yume_shim.system.shell_choice import ShellChoice
    from yume_shim.types.ports import Cancel

    class GroupWatcher(Protocol):
        """Ends process groups that outlive this program."""

        def pipe(self) -> int: ...

        def marked(self, env: Mapping[str, str]) -> dict[str, str]: ...

        def starting(self) -> AbstractContextManager[None]: ...

        def add(self, group: int) -> None: ...

        def remove(self, group: int) -> None: ...


MARK = "YUME_HOOK"
"""The variable in the environment of a hook's processes: one that starts a session of its own is found by it."""
OWN_VARIABLES = ("CLAUDE_PROJECT_DIR",)
"""Variables of all hooks that this program sets itself."""
MAX_OUTPUT = 1 << 20
"""Bytes of each stream that are kept; the rest is read and dropped."""
READ_BYTES = 64 * 1024
DRAIN_S = 0.3
"""How long output is still read after the command ended, for children that keep the pipe open."""
REAP_S = 2.0
_numbers = count(1)
"""Counts the runs of this process: each has a mark of its own."""


class HookCommands:
    """Starts commands for one session. Groups that still run when a turn ends are ended by `end_turn`."""

    def __init__(
        self,
        cwd: str,
        env: Mapping[str, str],
        watcher: GroupWatcher | None,
        windows_shell: Callable[[], ShellChoice] | None = None,
    ) -> None:
        """`windows_shell`: the session's shell on Windows; None elsewhere, where the system's shell runs commands."""
        self._cwd, self._env, self._watcher = cwd, env, watcher
        self._windows_shell = windows_shell
        self._lock = threading.Lock()
        self._groups: dict[int, str] = {}
        """The groups of this turn, and the mark in the environment of all their processes."""
        self._detached: dict[int, str] = {}
        self._marks: set[str] = set()
        """The marks of this turn, also of groups that are gone: a process may have left its group."""

    def env_file(self) -> EnvFile:
        """A new file for CLAUDE_ENV_FILE; raises OSError."""
        from yume_shim.extensions.hooks.env_file import EnvFile

        return EnvFile(self._env, self._cwd, self._windows_shell)

    def run(self, hook: Hook, given: bytes, cancel: Cancel, env: Mapping[str, str]) -> HookRun:
        """Run it to its end, its time limit, or the cancel (raises Cancelled)."""
        import subprocess
        from contextlib import nullcontext

        if self._watcher is not None:
            self._watcher.pipe()
        mark = f"{os.getpid()}-{next(_numbers)}"
        argv, more, why = self._argv(hook, env)
        if why:
            return HookRun(hook, failed=why)
        try:
            with self._watcher.starting() if self._watcher is not None else nullcontext():
                process = start(
                    argv,
                    shell=hook.args is None and isinstance(argv, str) and self._windows_shell is None,
                    cwd=self._cwd,
                    env=self._marked({**self._env, **env, **more, **NO_CURRENT_FOLDER}, mark),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
                self._register(process.pid, mark)
        except (OSError, ValueError) as error:
            return HookRun(hook, failed=f"it cannot be started: {error}")
        return self._watch(process, hook, given, cancel)

    def _argv(self, hook: Hook, env: Mapping[str, str]) -> tuple[str | list[str], Mapping[str, str], str]:
        """(a command for the system's shell, or a program with its arguments; variables for it; why it cannot be
        started)."""
        if hook.args is not None:
            try:
                return absolute_argv([hook.command, *hook.args], self._env), NOTHING, ""
            except (FileNotFoundError, ValueError) as error:
                return [], NOTHING, f"it cannot be started: {error}"
        if hook.shell == "powershell":
            path = self._env.get("PATH", "")
            found = next((full for name in ("pwsh", "powershell") if (full := find_program(name, path))), "")
            why = "" if found else "no PowerShell is installed for it"
            return [found, "-NoProfile", "-Command", hook.command], NOTHING, why
        if self._windows_shell is None:
            return hook.command, NOTHING, ""
        from yume_shim.system.hook_shell import hook_start
        from yume_shim.system.windows.shell import system_root, variable

        given = {**{name: self._env[name] for name in OWN_VARIABLES if name in self._env}, **env}
        wslenv = variable(self._env, "WSLENV")
        begun = hook_start(
            hook.command, hook.shell, self._windows_shell(), given, system_root=system_root(), wslenv=wslenv
        )
        return begun.argv, begun.env, begun.problem

    def _watch(self, process: Popen[bytes], hook: Hook, given: bytes, cancel: Cancel) -> HookRun:
        woken, detached = threading.Event(), threading.Event()
        seconds = [hook.seconds]
        if hook.background:
            detached.set()
            woken.set()

        def on_first_line(line: bytes) -> None:
            if is_async(line):
                seconds[0] = async_seconds(line) or hook.seconds
                detached.set()
                woken.set()

        out, err = _Stream(process.stdout, on_first_line), _Stream(process.stderr)
        threading.Thread(target=_feed, args=(process.stdin, given), name="hook-stdin", daemon=True).start()

        def reap() -> None:
            process.wait()
            woken.set()

        threading.Thread(target=reap, name="hook-wait", daemon=True).start()
        with cancel.guard(woken.set):
            woken.wait(hook.seconds)
        ended = process.returncode is not None
        if not ended and detached.is_set() and not cancel.is_set():
            self._detach(process, seconds[0])
            return HookRun(hook, 0, out.text(), err.text())
        if not ended:
            self._kill(process)
            cancelled = cancel.is_set()
            out.join(DRAIN_S)
            err.join(DRAIN_S)
            if cancelled:
                raise Cancelled
            return HookRun(hook, None, out.text(), err.text(), timed_out=True, failed="it timed out", cut=out.cut)
        out.join(DRAIN_S)
        err.join(DRAIN_S)
        if not group_alive(process.pid):
            self._forget(process.pid)
        return HookRun(hook, process.returncode, out.text(), err.text(), cut=out.cut)

    def _detach(self, process: Popen[bytes], seconds: float) -> None:
        """Nobody waits for the hook's answer: it may work on after the turn, within its time limit."""
        with self._lock:
            mark = self._groups.pop(process.pid, "")
            self._marks.discard(mark)
            self._detached[process.pid] = mark

        def limit() -> None:
            from subprocess import TimeoutExpired

            try:
                process.wait(seconds)
            except TimeoutExpired:
                self._kill(process)
            finally:
                self._forget(process.pid)

        threading.Thread(target=limit, name="hook-async", daemon=True).start()

    def end_turn(self) -> None:
        """End what hooks have left running, except those that work on by their own word."""
        with self._lock:
            groups, self._groups = self._groups, {}
            marks, self._marks = self._marks, set()
        self._end(groups, marks)

    def end_session(self) -> None:
        """End everything that hooks have left running."""
        self.end_turn()
        with self._lock:
            groups, self._detached = self._detached, {}
        self._end(groups, set(groups.values()))

    def _end(self, groups: Mapping[int, str], marks: set[str]) -> None:
        for group in groups:
            end_group(group)
            if self._watcher is not None:
                self._watcher.remove(group)
        if marks:
            end_marked(MARK, marks)

    def _marked(self, env: dict[str, str], mark: str) -> dict[str, str]:
        """Its processes are found by `mark` when the turn ends, and by the session's own when the program has ended."""
        env = marked(env, MARK, mark)
        return env if self._watcher is None else self._watcher.marked(env)

    def _register(self, group: int, mark: str) -> None:
        with self._lock:
            self._groups[group] = mark
            self._marks.add(mark)
        if self._watcher is not None:
            self._watcher.add(group)

    def _forget(self, group: int) -> None:
        with self._lock:
            self._groups.pop(group, None)
            self._detached.pop(group, None)
        if self._watcher is not None:
            self._watcher.remove(group)

    def _kill(self, process: Popen[bytes]) -> None:
        end_group(process.pid)
        from subprocess import TimeoutExpired

        try:
            process.wait(REAP_S)
        except TimeoutExpired:  # it cannot be killed (a dead file system): it is left to the watcher
            return
        self._forget(process.pid)


class _Stream:
    """Reads one stream to its end on a thread; keeps its beginning."""

    def __init__(self, pipe: IO[bytes] | None, on_first_line: Callable[[bytes], None] | None = None) -> None:
        assert pipe is not None
        self._pipe, self._kept = pipe, bytearray()
        self.cut = False
        self._on_first_line = on_first_line
        self._thread = threading.Thread(target=self._read, name="hook-output", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._pipe:
            try:
                while data := os.read(self._pipe.fileno(), READ_BYTES):
                    self.cut = self.cut or len(self._kept) + len(data) > MAX_OUTPUT
                    self._kept += data[: MAX_OUTPUT - len(self._kept)]
                    if self._on_first_line is not None and b"\n" in self._kept:
                        tell, self._on_first_line = self._on_first_line, None
                        tell(bytes(self._kept).partition(b"\n")[0])
            except OSError:
                pass

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def text(self) -> str:
        return bytes(self._kept).decode("utf-8", "replace")


def _feed(stdin: IO[bytes] | None, given: bytes) -> None:
    assert stdin is not None
    try:
        stdin.write(given)
    except OSError:
        pass  # it does not read its input
    finally:
        try:
            stdin.close()
        except OSError:
            pass
