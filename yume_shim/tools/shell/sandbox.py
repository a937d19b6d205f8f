"""Runs commands in the sandbox that the settings ask for (bubblewrap, Linux only): files outside the workspace can be
read but not changed.

A command is never run without the sandbox that it must run in: where it is not available, nothing runs. Protected names
of the workspace stay as they are. A protected folder that does not exist is made, empty, while the command runs, so
that it can be covered; a protected file that does not exist is moved away if it was made.
"""

from __future__ import annotations

import os
import sys
import threading

from yume_shim.system import is_root
from yume_shim.system.linux.bubblewrap import View, bwrap_argv
from yume_shim.types.errors import ToolFailed
from yume_shim.types.protected_names import PROTECTED, sandbox_names
from yume_shim.types.settings import SANDBOXES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from subprocess import Popen

    from yume_shim.tools.shell.filter_proxy import FilterProxy
    from yume_shim.tools.shell.launches import NamespaceEnd
    from yume_shim.types.confinement import Confinement
    from yume_shim.types.settings import SandboxSettings

GUARDED = sandbox_names()
"""Inside the workspace, yet read-only: other programs run what is written there, outside the sandbox."""
_FOLDERS_INSIDE = (".git/hooks", ".git/info", ".yarn/releases", ".yarn/plugins", ".yarn/sdks")
FOLDERS = frozenset((*(row.plain for row in PROTECTED if row.name.endswith("/")), *_FOLDERS_INSIDE))
"""Protected names that are folders."""
REPOSITORY = ".git"
"""Where there is no repository, none can be made."""
TMP = "/tmp"
SYSTEM_PLACES = "/usr/bin:/bin:/usr/local/bin"
"""Where bubblewrap is looked for before PATH, which a project may have changed."""
PLANTED_NOTE = "(Removed because it may not be made in the sandbox, and kept in {place}: {names})"


class Placeholders:
    """Empty folders that stand in for protected ones while commands run. Commands side by side share them; the last one
    removes them. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, int] = {}

    def hold(self, roots: tuple[str, ...]) -> list[str]:
        """Make what is missing; returns what `release` must be called with."""
        made: list[str] = []
        with self._lock:
            for root in roots:
                for path in self._missing(root):
                    try:
                        os.mkdir(path)
                    except FileExistsError:
                        if path not in self._held:
                            continue
                    except OSError:
                        continue  # a folder that we cannot write, the command cannot write
                    self._held[path] = self._held.get(path, 0) + 1
                    made.append(path)
        return made

    def _missing(self, root: str) -> list[str]:
        """What must be made, parents first."""
        wanted: dict[str, None] = {}
        for name in GUARDED:
            if name not in FOLDERS:
                continue
            if name.startswith(f"{REPOSITORY}/") and not os.path.lexists(os.path.join(root, REPOSITORY)):
                name = REPOSITORY
            path = root
            for step in name.split("/"):
                path = os.path.join(path, step)
                if path in self._held or not os.path.lexists(path):
                    wanted[path] = None
        return list(wanted)

    def release(self, made: list[str]) -> None:
        with self._lock:
            for path in reversed(made):
                self._held[path] -= 1
                if not self._held[path]:
                    del self._held[path]
                    try:
                        os.rmdir(path)
                    except OSError:
                        pass  # someone else has put something there


class Sandbox:
    """The sandbox of a session: what its settings say, and what its commands share. `tmp`: a folder for temporary files
    that is shared with the rest of the machine; "" = commands have their own."""

    def __init__(
        self, program: str, roots: tuple[str, ...], tmp: str, settings: SandboxSettings, *, network: bool = False
    ) -> None:
        """`network`: commands use the machine's network as it is."""
        self.program, self.roots, self.tmp, self.settings, self.network = program, roots, tmp, settings, network
        self.placeholders = Placeholders()
        self._lock = threading.Lock()
        self._proxy: FilterProxy | None = None

    @property
    def proxy(self) -> FilterProxy | None:
        """The way to the hosts that the settings allow; None if they allow none."""
        given = self.settings
        if not given.domains and not given.proxy_port:
            return None
        with self._lock:
            if self._proxy is None:
                from yume_shim.tools.shell.filter_proxy import FilterProxy

                self._proxy = FilterProxy(given.domains, given.denied_domains, given.proxy_port)
            return self._proxy

    def launch(self, confinement: Confinement | None, cwd_file: str, env: Mapping[str, str], own: str) -> SandboxLaunch:
        return SandboxLaunch(self, confinement.hidden if confinement is not None else (), cwd_file, env, own)

    def close(self) -> None:
        with self._lock:
            if self._proxy is not None:
                self._proxy.close()


class SandboxLaunch:
    """One command's start in the sandbox; the same methods as `launches.Launch`."""

    def __init__(
        self, sandbox: Sandbox, hidden: tuple[str, ...], cwd_file: str, env: Mapping[str, str], own: str
    ) -> None:
        self._sandbox, self._hidden, self._cwd_file, self._own = sandbox, hidden, cwd_file, own
        self.env = dict(env) if sandbox.tmp else {**env, "TMPDIR": own, "TMP": own, "TEMP": own}
        self.handles: tuple[int, ...] = ()
        self._end: NamespaceEnd | None = None
        self._made: list[str] = []
        self._absent: list[str] = []
        self._listener_from = None if sandbox.proxy is None else sandbox.proxy.channel()

    def wrapped(self, argv: list[str], cwd: str) -> list[str]:
        from yume_shim.system.linux.kernel import machine
        from yume_shim.tools.shell.launches import NamespaceEnd, sandbox_filter

        sandbox, given = self._sandbox, self._sandbox.settings
        filter_handle = -1
        if not sandbox.network and (machine() is not None or not sandbox.tmp):
            filter_handle = sandbox_filter(unix=given.unix_sockets)
        self._end = NamespaceEnd()
        self.handles = (self._end.writer, *((filter_handle,) if filter_handle >= 0 else ()))
        self._made = sandbox.placeholders.hold(sandbox.roots)
        guarded = [os.path.join(root, name) for root in sandbox.roots for name in (REPOSITORY, *GUARDED)]
        held = set(self._made)
        covered = [path for path in guarded if os.path.lexists(path) and (not path.endswith("/.git") or path in held)]
        self._absent = [path for path in (*guarded, *given.deny_write) if not os.path.lexists(path)]
        hidden = [os.path.realpath(path) for path in (*self._hidden, *given.deny_read) if os.path.exists(path)]
        view = View(
            (*filter(None, (sandbox.tmp, self._own)), *sandbox.roots, *map(os.path.realpath, given.write)),
            (*covered, *map(os.path.realpath, given.deny_write)),
            tuple(path for path in hidden if os.path.isdir(path)),
            tuple(path for path in hidden if not os.path.isdir(path)),
            self._cwd_file,
            network=sandbox.network,
            filter_handle=filter_handle,
            info_handle=self._end.writer,
            root=is_root(),
        )
        if self._listener_from is not None:
            argv = self._listener_from.argv(argv)
            self.handles = (*self.handles, self._listener_from.inherited)
            self.env.update(self._listener_from.env)
        return bwrap_argv(sandbox.program, argv, cwd, view)

    def spawn(self, start: Callable[[], Popen[bytes]]) -> Popen[bytes]:
        try:
            started = start()
        except BaseException:
            self._sandbox.placeholders.release(self._made)
            if self._end is not None:
                self._end.close()
            raise
        finally:
            for handle in self.handles:
                os.close(handle)
        if self._listener_from is not None:
            self._listener_from.serve()
        return started

    def finish(self) -> str:
        """Remove placeholders, and move away protected files that were made."""
        if self._end is not None:
            self._end.wait()
        self._sandbox.placeholders.release(self._made)
        planted = [path for path in self._absent if os.path.lexists(path)]
        if self._listener_from is not None:
            self._listener_from.close()
        if not planted:
            return ""
        from yume_shim.tools.shell.launches import move_away

        return PLANTED_NOTE.format(place=move_away(planted, self._own), names=", ".join(planted))


def open_sandbox(
    mode: str, roots: tuple[str, ...], env: Mapping[str, str], settings: SandboxSettings, places: str = SYSTEM_PLACES
) -> Sandbox:
    """The sandbox of the setting `sandbox` (`mode`) or, without one, of the Claude CLI's `sandbox` table. Raises
    ToolFailed if it is not available."""
    from yume_shim.tools.shell.processes import find_program

    if mode and mode not in SANDBOXES:
        raise ToolFailed(f"Nothing was run: unknown sandbox '{mode}' (one of {', '.join(SANDBOXES)}).")
    if not sys.platform.startswith("linux"):
        raise ToolFailed("Nothing was run: the sandbox that the settings ask for exists on Linux only.")
    program = find_program("bwrap", os.pathsep.join((places, env.get("PATH", os.defpath))), owned=roots)
    if not program:
        raise ToolFailed(
            "Nothing was run: the settings ask for a sandbox, and its program `bwrap` is not installed. "
            "Install the package `bubblewrap`, or set `sandbox` to an empty text."
        )
    tmp = os.path.realpath(env.get("TMPDIR") or TMP) if mode else ""
    return Sandbox(program, roots, tmp, settings, network=bool(mode) and SANDBOXES[mode])
