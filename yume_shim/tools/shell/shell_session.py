"""The shells of a session: starts commands in the shell folder, in the foreground or the background, and ends what they
left running when the session closes."""

from __future__ import annotations

import os
import threading

from yume_shim.system.orphan_watcher import REGISTER_AND_RUN, REGISTER_GROUP
from yume_shim.system.programs import NO_CURRENT_FOLDER, trusted_path
from yume_shim.tools.shell.processes import (
    CANCEL_GRACE_S,
    REAP_S,
    WINDOWS,
    ProcessGroup,
    await_groups,
    find_program,
)
from yume_shim.tools.shell.sink import Sink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from yume_shim.system.orphan_watcher import OrphanWatcher
    from yume_shim.system.shell_choice import ShellChoice
    from yume_shim.tools.dispatch.session_state import Log, Scratch
    from yume_shim.tools.shell.launches import Launch
    from yume_shim.tools.shell.processes import OutputSink
    from yume_shim.tools.shell.sandbox import Sandbox, SandboxLaunch
    from yume_shim.tools.shell.wall import Wall
    from yume_shim.types.confinement import Confinement

MAX_BACKGROUND = 64
"""Background commands that may run at once, and ended ones that are remembered."""
MAX_ARGUMENT = 100_000
"""Bytes of a command that is passed as an argument (Linux takes 128 KiB in one); a longer one goes into a file."""
MAX_LEFT = 256
"""Groups of earlier commands that are remembered because something in them still ran."""
NO_FILE = "/dev/null"
"""As `cwd_file`: the working directory is not recorded."""
DEFAULT_ENV = {"GIT_EDITOR": "true", "GIT_TERMINAL_PROMPT": "0"}
"""There is no terminal: git must neither open an editor nor ask for a password."""
REMOVED_ENV = frozenset(("CDPATH",))
"""With a search path, `cd src` may lead to another project: neither the gate nor the model expects that."""


class BackgroundCommand:
    """A background command, and how much of its output was shown. BashOutput changes `shown_bytes`; the thread that
    stops the command (the reader's, or that of a KillShell call) sets `killed`."""

    def __init__(self, id: str, command: str, running: ProcessGroup) -> None:
        self.id = id
        self.command = command
        self.running = running
        self.shown_bytes = 0
        """Bytes of the output file."""
        self.killed = False
        self.begun = b""
        """What it had printed when it was moved into the background."""

    def status(self) -> str:
        """running, completed or killed."""
        if self.killed:
            return "killed"
        return "completed" if self.running.ended.is_set() else "running"


class ShellSession:
    """The shells of a session: their cwd, background commands, and the processes that earlier commands left running.
    Calls on the session's thread and in child loops start commands; the reader's thread looks up background commands.
    The lock covers the lists. `cwd` has none: the last command that changed its folder wins."""

    def __init__(
        self,
        cwd: str,
        env: Mapping[str, str],
        scratch: Scratch,
        log: Log,
        watcher: OrphanWatcher,
        wall: Wall,
        sandbox: Callable[[], Sandbox] | None = None,
        *,
        always: bool = False,
        owned: tuple[str, ...] = (),
        choice: ShellChoice | None = None,
        home: str = "",
    ) -> None:
        """`wall` confines commands that must be. `sandbox` returns the sandbox of the settings (raises ToolFailed);
        `always`: every command runs in it. `owned`: the folders of the session; no program that we start comes from
        there. `choice`: the shell of Windows, whose commands see `home` as the user's home."""
        self.cwd = cwd
        self._watcher = watcher
        self._sandbox, self._always = sandbox, always
        self.wall = wall
        self.background: dict[str, BackgroundCommand] = {}
        self._env = {name: value for name, value in {**DEFAULT_ENV, **env}.items() if name not in REMOVED_ENV}
        self._scratch = scratch
        self._log = log
        self._lock = threading.RLock()
        self._left: list[ProcessGroup] = []
        self._count = 0
        path = self._env.get("PATH", os.defpath)
        self._owned, self._choice = owned, choice
        if WINDOWS:
            self.shell = choice.program if choice is not None else ""
            self._env = windows_environment(self._env, home, choice)
        else:
            self.shell = find_program("bash", path, owned=owned) or find_program("sh", path, owned=owned)

    def add_variables(self, variables: Mapping[str, str]) -> None:
        """Commands that start from now on get these too."""
        self._env = {**self._env, **{name: text for name, text in variables.items() if name not in REMOVED_ENV}}

    def start(
        self, command: str, sink: OutputSink, cwd_file: str, confinement: Confinement | None = None
    ) -> ProcessGroup:
        """Start a command in the shell cwd. Raises OSError if it cannot be started or confined."""
        if (
            not WINDOWS
            and len(command) * 4 > MAX_ARGUMENT
            and len(command.encode("utf-8")) > MAX_ARGUMENT
            and self.shell
        ):
            handle, path = self._scratch.new_file("command", ".sh")
            with open(handle, "wb") as file:
                file.write(command.encode("utf-8") + b"\n")
            command = f". {quoted(path)}"
        env = self._env if WINDOWS else {**self._env, "PWD": self.cwd}
        if confinement is not None:
            env = {**env, "PATH": trusted_path(env.get("PATH", os.defpath), self._owned)}
        launch: Launch | SandboxLaunch | None = None
        stricter = confinement is not None and confinement.kind != "sandbox" and self.wall.confines(confinement)
        if self._sandbox is not None and not stricter and (self._always or confinement is not None):
            launch = self._sandbox().launch(confinement, cwd_file, env, self.wall.own_folder())
        elif confinement is not None:
            launch = self.wall.launch(confinement, cwd_file, env)
        wrapped = None
        if launch is not None:
            if not WINDOWS:
                wrapped = launch.wrapped(shell_argv(command, cwd_file, self.shell, registers=False), self.cwd)
            env = dict(launch.env)
        argv: list[str] | str
        script = ""
        if WINDOWS:
            argv, script = self._windows_command_line(command, cwd_file)
        elif wrapped is None:
            argv = shell_argv(command, cwd_file, self.shell)
        else:
            argv = ["/bin/sh", "-c", REGISTER_AND_RUN, "sh", *wrapped]
        running = ProcessGroup(argv, self.cwd, env, sink, self._watcher, registers=True, launch=launch, script=script)
        with self._lock:
            self._left.append(running)
        return running

    def _windows_command_line(self, command: str, cwd_file: str) -> tuple[str, str]:
        """(the command line, the script that it runs). The command is in the script: each program of Windows reads a
        command line in its own way."""
        from yume_shim.system.windows.shell import command_line, script_text

        if self._choice is None or not self._choice.kind:
            raise FileNotFoundError(2, "no bash was found")
        handle, path = self._scratch.new_file("command", ".sh")
        with open(handle, "wb") as file:
            file.write(script_text(command, "" if cwd_file == NO_FILE else cwd_file, self._choice.kind).encode("utf-8"))
        return command_line(self._choice, path, self.cwd), path

    def folder_noted(self, noted: str) -> str:
        """The folder that the shell wrote down, in the form of this system; "" if it has no such folder."""
        if not WINDOWS:
            return noted
        from yume_shim.text.windows_paths import shell_path

        path, wrong = shell_path(noted, self._choice.kind if self._choice is not None else "")
        return "" if wrong else path.replace("/", "\\")

    def start_background(self, command: str, confinement: Confinement | None = None) -> BackgroundCommand:
        """Start a command that outlives the call; its output goes to a file from the first byte."""
        with self._lock:
            over = [name for name, shell in self.background.items() if shell.running.ended.is_set()]
            for name in over[:-MAX_BACKGROUND]:
                del self.background[name]
            if len(self.background) - len(over) >= MAX_BACKGROUND:
                raise BlockingIOError(0, f"{MAX_BACKGROUND} background commands are running already")
            name = self.new_id()
            sink = Sink(lambda: self._scratch.new_file(name, ".output"), -1, self._scratch.redact)
            sink.feed(b"")
            made = BackgroundCommand(name, command, self.start(command, sink, NO_FILE, confinement))
            self.background[name] = made
            return made

    def adopt(self, name: str, command: str, running: ProcessGroup) -> BackgroundCommand | None:
        """Let a command that was started in the foreground go on in the background, under `name` or a new one; None if
        too many do."""
        with self._lock:
            if sum(not shell.running.ended.is_set() for shell in self.background.values()) >= MAX_BACKGROUND:
                return None
            made = BackgroundCommand(name or self.new_id(), command, running)
            self.background[made.id] = made
            return made

    def new_id(self) -> str:
        """A name for a command that is reported as a task."""
        with self._lock:
            self._count += 1
            return f"bash_{self._count}"

    def leave(self, running: ProcessGroup) -> None:
        """A command is over; what it left running in its group is remembered for `close`."""
        with self._lock:
            self._left = [other for other in self._left if not other.remove_if_gone()][-MAX_LEFT:]
        if running.group_alive():
            self._log("debug", f"a command left processes in group {running.process.pid}")

    def close(self) -> None:
        """End every process that is still there."""
        with self._lock:
            alive, self._left, self.background = self._left, [], {}
        for running in alive:
            running.signal_group("SIGTERM")
        await_groups(alive, CANCEL_GRACE_S)
        for running in alive:
            running.signal_group("SIGKILL")
        for running in alive:
            running.ended.wait(REAP_S)
            running.drain(0.0)
            running.sink.finish()


def quoted(path: str) -> str:
    """A path as one word of a POSIX shell."""
    return "'" + path.replace("\\", "/").replace("'", "'\\''") + "'"


def windows_environment(env: Mapping[str, str], home: str, choice: ShellChoice | None) -> dict[str, str]:
    """The environment of commands on Windows: `~` is what the gate takes for it, no program is taken from the current
    folder, and those beside the bash come first: System32 has another `find`, `sort` and `expand`."""
    made = {name: text for name, text in env.items() if name.upper() not in ("PATH", "HOME")}
    path = trusted_path(next((text for name, text in env.items() if name.upper() == "PATH"), ""), ())
    if choice is not None and choice.kind == "git-bash":
        path = ";".join(filter(None, (choice.program.rpartition("\\")[0], path)))
    return {**made, **NO_CURRENT_FOLDER, "PATH": path, "HOME": home}


def shell_argv(command: str, cwd_file: str, shell: str, registers: bool = True) -> list[str]:
    """The argv for a command. On exit a POSIX shell writes its working directory to `cwd_file`. The command is an
    argument (which it does not see), so that error messages of the shell quote it and count its lines unchanged."""
    program = 'trap -- "$1" EXIT; eval "shift 2; $2"'
    if registers:
        program = REGISTER_GROUP + program
    return [shell or "/bin/sh", "-c", program, "bash", f"pwd 2>/dev/null >{quoted(cwd_file)}", command]
