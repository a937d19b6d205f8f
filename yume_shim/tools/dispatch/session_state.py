"""The state that the tools of one session share: folders, environment, read ledger, scratch folder, shells."""

from __future__ import annotations

import os
import sys
import threading

from yume_shim.disk.resolve import absolute, resolve
from yume_shim.system import os_version
from yume_shim.types.blocks import NOTHING
from yume_shim.types.errors import ToolFailed
from yume_shim.types.folders import home_folder
from yume_shim.types.settings import SandboxSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from yume_shim.system.orphan_watcher import OrphanWatcher
    from yume_shim.system.shell_choice import ShellChoice
    from yume_shim.tools.files.checkpoints import Checkpoints
    from yume_shim.tools.files.read_ledger import ReadLedger
    from yume_shim.tools.shell.sandbox import Sandbox
    from yume_shim.tools.shell.shell_session import ShellSession
    from yume_shim.tools.shell.wall import Wall
    from yume_shim.tools.web.pages import PageCache
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import BackgroundTasks, Cancel, HostFiles

    Log = Callable[[str, str], None]
    Search = Callable[[Json, Cancel], str]
    """WebSearch's input -> the text the model reads. Raises ToolFailed or Cancelled."""

MAX_NAME = 64
NO_SANDBOX = SandboxSettings()
MAX_TRIES = 10_000


class Scratch:
    """The folder for outputs that are too long to show. Created with mode 0700 when the first file is written."""

    def __init__(self, folder: str, secrets: Sequence[str] | None = None) -> None:
        """`secrets`: the keys in use, a list that may grow. None: keys are not removed."""
        self.folder = folder
        self._secrets = secrets

    def redact(self, text: str) -> str:
        """The text without keys, as it may be saved."""
        if self._secrets is None:
            return text
        from yume_shim.text.redact import redact

        return redact(text, self._secrets)

    def new_file(self, name: str, ending: str) -> tuple[int, str]:
        """Open a fresh file (0600) for writing; `name` is made safe and, if taken, numbered."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        safe = "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in name)
        safe = safe[:MAX_NAME] or "output"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        for count in range(MAX_TRIES):
            path = os.path.join(self.folder, f"{safe}-{count}{ending}" if count else f"{safe}{ending}")
            try:
                return os.open(path, flags, 0o600), path
            except FileExistsError:
                continue
        raise FileExistsError(f"no free name for {safe}{ending}")


class ToolState:
    """One per session. The session's thread, side-by-side calls and child loops run tools with it; the reader's thread
    stops background commands and rewinds files. What is made on first use has a lock; `todos` is replaced as a whole;
    the other parts have their own locks or never change."""

    def __init__(
        self,
        cwd: str,
        add_dirs: tuple[str, ...],
        scratch_dir: str,
        env: Mapping[str, str],
        log: Log,
        session_env: Mapping[str, str] = NOTHING,
        web_allow_private: tuple[str, ...] = (),
        sandbox: str = "",
        search: Search | None = None,
        unasked_env: tuple[str, ...] = (),
        claude_sandbox: SandboxSettings = NO_SANDBOX,
        secrets: Sequence[str] | None = None,
    ) -> None:
        self.cwd = os.path.abspath(cwd)
        self._home = home_folder(session_env or env)
        self._system = self._distro = self._mount_root = self._computer = ""
        self._shares: tuple[str, ...] = ()
        self._find_system(session_env or env, add_dirs)
        self.roots = tuple(resolve(self.resolve(folder)).real for folder in (self.cwd, *add_dirs))
        self.env = env
        self.session_env = session_env
        """The session's own environment, where limits such as BASH_DEFAULT_TIMEOUT_MS are looked up first."""
        self.log = log
        self._ledger: ReadLedger | None = None
        self.scratch = Scratch(scratch_dir, secrets)
        self.todos: list[Json] = []
        self._web_allow_private = web_allow_private
        self.sandbox = sandbox
        self.search = search
        self.claude_sandbox = claude_sandbox
        self.unasked_env = unasked_env
        """Variables that hold secrets and that commands that run unasked may see nevertheless."""
        self._lock = threading.RLock()
        self._shells: ShellSession | None = None
        self._watcher: OrphanWatcher | None = None
        self._pages: PageCache | None = None
        self._wall: Wall | None = None
        self._sandbox: Sandbox | None = None
        self.shell_choice: ShellChoice | None = None
        """The shell of Windows; elsewhere the first bash on PATH is taken."""
        self.closed = False
        self.tasks: Callable[[], BackgroundTasks] | None = None
        """The registry that background commands are reported to; None = they are not reported."""
        self.closing = False
        """The session ends: commands get little time to end by themselves."""
        self.checkpoints: Checkpoints | None = None
        """Set if the host wants to rewind files."""
        self.host_files: HostFiles | None = None
        """Set if text files are read and written through the host."""

    def _find_system(self, env: Mapping[str, str], add_dirs: tuple[str, ...]) -> None:
        """Note what `foreign_paths.local_path` needs to know. Nothing on Linux and macOS."""
        if sys.platform == "linux":
            release = os_version()
            if "WSL_DISTRO_NAME" in env or "microsoft" in release.lower():
                from yume_shim.disk.wsl import this_wsl

                wsl = this_wsl(env, release)
                if wsl is not None:
                    self._system, self._distro, self._mount_root = "wsl", wsl.distro, wsl.mount_root
        elif sys.platform == "win32":
            from yume_shim.text.windows_paths import share_of

            folders = (self.cwd, *(folder.replace("/", "\\") for folder in add_dirs))
            self._shares = tuple(share for folder in folders if (share := share_of(folder)))
            self._system, self._computer = "windows", env.get("COMPUTERNAME", "")

    def resolve(self, path: str) -> str:
        """The absolute path, as written otherwise: `..` after a link means what it means to the kernel. Relative paths
        start at the session's working directory, `~` is the home folder."""
        return absolute(self.local(path), self.cwd, self._home)

    def local(self, path: str, *, pattern: bool = False) -> str:
        """The path in this system's plain form. Raises ToolFailed(before_run=True) if it cannot be opened here, or if
        Windows would read it as another file than its text says."""
        if not self._system:
            return path
        from yume_shim.disk.foreign_paths import ForeignPath, local_path

        try:
            return local_path(
                path,
                self._system,
                self._distro,
                self._mount_root,
                shares=self._shares,
                computer=self._computer,
                pattern=pattern,
            )
        except ForeignPath as error:
            raise ToolFailed(f"{path} cannot be used: {error}.", before_run=True) from None

    def name_of(self, path: str, real: str) -> str:
        """The path to show for a resolved one: as it was asked for, without `..`, if that is the same place."""
        tidy = os.path.normpath(path)
        return tidy if resolve(tidy).real == real else real

    def relative(self, path: str) -> str:
        """A path as results show it: below the working directory without that prefix, with forward slashes."""
        base = self.cwd.rstrip(os.sep) + os.sep
        shown = path[len(base) :] if path.startswith(base) else path
        return shown.replace(os.sep, "/") if os.sep != "/" else shown

    def inside(self, path: str) -> bool:
        """Is the path, with links resolved, inside the working directory or an added one? Compares whole components."""
        real = resolve(path).real
        return any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in self.roots)

    @property
    def ledger(self) -> ReadLedger:
        """What the model has seen of which file, created on first use."""
        with self._lock:
            if self._ledger is None:
                from yume_shim.tools.files.read_ledger import ReadLedger

                self._ledger = ReadLedger()
            return self._ledger

    def forget(self) -> None:
        """A new conversation begins: its shell is in the working folder, it has read no file and has no todos."""
        with self._lock:
            self._ledger, self.todos = None, []
            if self._shells is not None:
                self._shells.cwd = self.cwd

    def env_setting(self, name: str) -> str:
        """A setting from the environment; "" if there is none."""
        return self.session_env.get(name) or self.env.get(name) or ""

    def add_variables(self, variables: Mapping[str, str]) -> None:
        """Give the commands of the shell these variables from now on."""
        with self._lock:
            self.env = {**self.env, **variables}
            if self._shells is not None:
                self._shells.add_variables(variables)

    @property
    def orphan_watcher(self) -> OrphanWatcher:
        """Ends our commands if this program is killed; made on first use."""
        with self._lock:
            if self._watcher is None:
                from yume_shim.system.orphan_watcher import OrphanWatcher

                self._watcher = OrphanWatcher(self.log)
            return self._watcher

    @property
    def shells(self) -> ShellSession:
        """The session's shells, created on first use. Raises ToolFailed if the requested sandbox is not available."""
        with self._lock:
            if self._shells is None:
                from yume_shim.tools.shell.shell_session import ShellSession

                self._hide_process()
                if self.sandbox:
                    self._the_sandbox()
                sandbox = self._the_sandbox if self.sandbox or self.claude_sandbox.enabled else None
                self._shells = ShellSession(
                    self.cwd,
                    self.env,
                    self.scratch,
                    self.log,
                    self.orphan_watcher,
                    self.wall,
                    sandbox,
                    always=bool(self.sandbox),
                    owned=self.roots,
                    choice=self.shell_choice,
                    home=self._home,
                )
            return self._shells

    def _the_sandbox(self) -> Sandbox:
        """The sandbox of the settings, made on first use. Raises ToolFailed if it is not available."""
        with self._lock:
            if self._sandbox is None:
                from yume_shim.tools.shell.sandbox import open_sandbox

                self._sandbox = open_sandbox(self.sandbox, self.roots, self.env, self.claude_sandbox)
            return self._sandbox

    @property
    def wall(self) -> Wall:
        """Confines commands; made on first use."""
        with self._lock:
            if self._wall is None:
                from yume_shim.tools.shell.wall import Wall

                self._wall = Wall(self.log, self.unasked_env)
            return self._wall

    def _hide_process(self) -> None:
        """Commands of the same user must not read our environment, where keys are."""
        from yume_shim.system.processes import hide_this_process

        try:
            hide_this_process()
        except OSError as error:
            self.log("warning", f"commands can read the environment of this program: {error}")

    def keep_checkpoints(self, folder: str) -> None:
        """From now on, what the file tools change can be restored."""
        from yume_shim.tools.files.atomic_write import write_file, write_target
        from yume_shim.tools.files.checkpoints import Checkpoints

        def put(path: str, data: bytes) -> None:
            write_file(write_target(path, path, may_enter=False, judged=path), data, path)

        self.checkpoints = Checkpoints(folder, put, self.log)

    def stop_background(self, task_id: str) -> bool:
        """End a background command; False if it is not running."""
        shells = self._shells
        shell = shells.background.get(task_id) if shells is not None else None
        if shell is None or shell.status() != "running":
            return False
        from yume_shim.tools.shell.processes import TIMEOUT_GRACE_S

        shell.killed = True
        shell.running.stop(TIMEOUT_GRACE_S)
        return True

    def shell_folder(self) -> str:
        """Where the next command starts."""
        shells = self._shells
        return self.cwd if shells is None else shells.cwd

    @property
    def web_allow_private(self) -> frozenset[str]:
        """The hosts whose private addresses may be fetched, in the form of `text/web_host.py`."""
        from yume_shim.text.web_host import written_host

        return frozenset(written_host(host) for host in self._web_allow_private) - {""}

    @property
    def pages(self) -> PageCache:
        """Recently fetched web pages."""
        with self._lock:
            if self._pages is None:
                from yume_shim.tools.web.pages import PageCache

                self._pages = PageCache()
            return self._pages

    def close(self) -> None:
        """End what the shells left running."""
        self.closed = True
        with self._lock:
            shells, self._shells = self._shells, None
            watcher, self._watcher = self._watcher, None
            wall, self._wall = self._wall, None
            sandbox, self._sandbox = self._sandbox, None
        if shells is not None:
            shells.close()
        if watcher is not None:
            watcher.close()
        if sandbox is not None:
            sandbox.close()
        if wall is not None:
            wall.close()
