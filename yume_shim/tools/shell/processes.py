"""Processes: each command has its own process group, its output never fills memory, it is ended as a whole.

A command's stdout and stderr share one pipe. A thread empties it, so a command never blocks on output, and a child that
keeps the pipe open after its shell ended writes into nothing. Another thread waits for the process, so that the caller
can wait for whatever comes first: the end, the time limit, or the cancel.
"""

from __future__ import annotations

import os
import threading
import time

from yume_shim.text.clean import clean_output
from yume_shim.tools.shell.orphan_watcher import REGISTER_AND_RUN, REGISTER_GROUP
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from subprocess import Popen
    from typing import Protocol

    from yume_shim.tools.dispatch.session_state import Log, Scratch
    from yume_shim.tools.shell.orphan_watcher import OrphanWatcher
    from yume_shim.types.ports import Cancel

    class OutputSink(Protocol):
        """Receives what a process prints, on the thread that reads it."""

        path: str
        total: int

        def feed(self, data: bytes) -> None: ...

        def finish(self) -> bytes: ...


IN_MEMORY = 128 * 1024
"""Bytes of output kept in memory; from there on everything goes to a file as well."""
MAX_SAVED = 64 << 20
"""Bytes of output saved to a file; the rest is counted and dropped."""
MAX_HELD_LINE = 64 * 1024
PIPE_READ = 64 * 1024
DRAIN_S = 0.2
"""How long the pipe is still read after the shell ended, for children that keep it open."""
CANCEL_GRACE_S = 0.05
TIMEOUT_GRACE_S = 0.5
"""Between asking a group to end and killing it."""
REAP_S = 2.0
MAX_BACKGROUND = 64
"""Background commands that may run at once, and ended ones that are remembered."""
MAX_ARGUMENT = 100_000
"""Bytes of a command that is passed as an argument (Linux takes 128 KiB in one); a longer one goes into a file."""
MAX_LEFT = 256
"""Groups of earlier commands that are remembered because something in them still ran."""
WINDOWS = os.name == "nt"
NOWHERE = "/dev/null"
DEFAULT_ENV = {"GIT_EDITOR": "true", "GIT_TERMINAL_PROMPT": "0"}
"""There is no terminal: git must neither open an editor nor ask for a password."""

# ---------------------------------------------------------------- output


class Sink:
    """Takes output of any length: the first `keep` bytes in memory, all of it (to a limit) in a file once there are
    more than that (with -1: from the start)."""

    def __init__(self, open_file: Callable[[], tuple[int, str]], keep: int = IN_MEMORY) -> None:
        self._open_file = open_file
        self._keep = keep
        self._lock = threading.Lock()
        self._head = bytearray()
        self._held = b""
        self._handle = -1
        self._closed = False
        self.path = ""
        self.total = 0
        self.saved = 0

    def feed(self, data: bytes) -> None:
        """Take more output; after `finish` it is dropped."""
        with self._lock:
            if self._closed:
                return
            self.total += len(data)
            if self._handle < 0:
                self._head += data
                if len(self._head) <= self._keep:
                    return
                data = bytes(self._head)
                del self._head[max(0, self._keep) :]
                try:
                    self._handle, self.path = self._open_file()
                except OSError:  # nowhere to save: the beginning must do, the command goes on
                    self._closed = True
                    return
            self._save(data)

    def finish(self) -> bytes:
        """No more output counts. Gives the first part; `path` names the file if there is one."""
        with self._lock:
            self._closed = True
            if self._handle >= 0:
                self._save(b"", last=True)
                os.close(self._handle)
                self._handle = -1
            return bytes(self._head)

    def _save(self, data: bytes, last: bool = False) -> None:
        """Write whole lines, cleaned: an escape sequence cut in two would not be recognised."""
        data = self._held + data
        cut = len(data) if last or len(data) > MAX_HELD_LINE + PIPE_READ else data.rfind(b"\n") + 1
        data, self._held = data[:cut], data[cut:]
        if not data or self.saved >= MAX_SAVED:
            return
        clean = clean_output(data).encode("utf-8")[: MAX_SAVED - self.saved]
        try:
            os.write(self._handle, clean)
        except OSError:  # a full disk must not end the command
            self.saved = MAX_SAVED
        self.saved += len(clean)


# ---------------------------------------------------------------- one process


@value
class Ended:
    """How a command ended. `output` is its beginning if it was long; then `path` names the file with all of it."""

    code: int
    output: bytes
    total: int
    path: str = ""
    timed_out: bool = False


class ProcessGroup:
    """A started process with its group, its pipe and the two threads that watch it.

    With `registers` the command registers itself with the watcher (see `orphan_watcher.REGISTER_GROUP`)."""

    def __init__(
        self,
        argv: list[str],
        cwd: str,
        env: Mapping[str, str],
        sink: OutputSink,
        watcher: OrphanWatcher,
        registers: bool = False,
    ) -> None:
        import subprocess

        watcher_pipe = watcher.pipe()
        reader, writer = os.pipe()
        try:
            self.process: Popen[bytes] = subprocess.Popen(
                argv,
                cwd=cwd,
                env=dict(env),
                stdin=watcher_pipe if registers and watcher_pipe >= 0 else subprocess.DEVNULL,
                stdout=writer,
                stderr=subprocess.STDOUT,
                start_new_session=not WINDOWS,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except BaseException:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        self._watcher = watcher
        watcher.add(self.process.pid)
        self.sink = sink
        self.ended = threading.Event()
        """The process itself is gone (others of its group may live on)."""
        self.silent = threading.Event()
        """The pipe is closed: no process holds it any more."""
        self._wake = threading.Event()
        threading.Thread(target=self._pump, args=(reader,), daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()

    def _pump(self, reader: int) -> None:
        try:
            while data := os.read(reader, PIPE_READ):
                self.sink.feed(data)
        except OSError:
            pass
        finally:
            os.close(reader)
            self.sink.finish()
            self.silent.set()

    def _watch(self) -> None:
        self.process.wait()
        self.remove_if_gone()
        self.ended.set()
        self._wake.set()

    def remove_if_gone(self) -> bool:
        """Whether the whole group is gone; if so, the watcher need not end it any more."""
        gone = not self.group_alive()
        if gone:
            self._watcher.remove(self.process.pid)
        return gone

    def wait(self, seconds: float, cancel: Cancel) -> bool:
        """Wait until it ended (True), the time is over or the cancel is set (False)."""
        with cancel.guard(self._wake.set):
            self._wake.wait(seconds)
        return self.ended.is_set()

    def stop(self, grace: float) -> None:
        """End the whole group: ask, wait a little, kill."""
        self.signal_group("SIGTERM")
        _await_groups([self], grace)
        self.signal_group("SIGKILL")
        self.ended.wait(REAP_S)

    def signal_group(self, name: str) -> None:
        """Send a signal to every process of the group that is still there."""
        if WINDOWS:
            _kill_tree_on_windows(self.process.pid)
            return
        import signal

        try:
            os.killpg(self.process.pid, getattr(signal, name))
        except (ProcessLookupError, PermissionError):
            pass

    def group_alive(self) -> bool:
        """Is any process of the group still there?"""
        if WINDOWS:
            return not self.ended.is_set()
        try:
            os.killpg(self.process.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True


def _await_groups(group: list[ProcessGroup], seconds: float) -> None:
    """Wait until all are gone or silent. (An unreaped dead child still counts as alive, but its pipe is closed.)"""
    deadline = time.monotonic() + seconds
    for running in group:
        running.ended.wait(max(0.0, deadline - time.monotonic()))
        running.silent.wait(max(0.0, deadline - time.monotonic()))


def _kill_tree_on_windows(pid: int) -> None:
    import subprocess

    subprocess.run(["taskkill", "/T", "/F", "/PID", str(pid)], capture_output=True, check=False)


def run_to_end(running: ProcessGroup, seconds: float, cancel: Cancel) -> Ended:
    """Wait for a command; at the time limit, or when cancelled (raises Cancelled), its whole group is ended."""
    timed_out = not running.wait(seconds, cancel)
    if cancel.is_set():
        running.stop(CANCEL_GRACE_S)
        running.sink.finish()
        cancel.check()
    if timed_out:
        running.stop(TIMEOUT_GRACE_S)
    running.silent.wait(DRAIN_S)
    output = running.sink.finish()
    return Ended(exit_code(running), output, running.sink.total, running.sink.path, timed_out)


def exit_code(running: ProcessGroup) -> int:
    """As a shell reports it: 128 plus the signal's number for a process that a signal ended."""
    code = running.process.returncode if running.process.returncode is not None else -9
    return 128 - code if code < 0 else code


# ---------------------------------------------------------------- which shell


def find_program(name: str, path: str, ending: str = "") -> str:
    """The program on a PATH, "" if it is not there. (`shutil.which`, without what importing it costs.)"""
    for folder in path.split(os.pathsep):
        full = os.path.join(folder, name + ending)
        if folder and os.path.isfile(full) and os.access(full, os.X_OK):
            return full
    return ""


def quoted(path: str) -> str:
    """A path as one word of a POSIX shell."""
    return "'" + path.replace("\\", "/").replace("'", "'\\''") + "'"


def shell_argv(command: str, cwd_file: str, shell: str, windows: bool, registers: bool = True) -> list[str]:
    """The argv for a command. On exit a POSIX shell writes its working directory to `cwd_file`. The command is an
    argument (which it does not see), so that messages quote it and count its lines as they are."""
    if not shell and windows:
        return ["cmd", "/c", command]
    program = 'trap -- "$1" EXIT; eval "shift 2; $2"'
    if registers and not windows:
        program = REGISTER_GROUP + program
    return [shell or "/bin/sh", "-c", program, "bash", f"pwd >{quoted(cwd_file)} 2>/dev/null", command]


# ---------------------------------------------------------------- the shells of a session


class BackgroundCommand:
    """A command that runs in the background, and how much of its output was shown."""

    def __init__(self, id: str, command: str, running: ProcessGroup) -> None:
        self.id = id
        self.command = command
        self.running = running
        self.shown_bytes = 0
        """Bytes of the output file."""
        self.killed = False

    def status(self) -> str:
        """running, completed or killed."""
        if self.killed:
            return "killed"
        return "completed" if self.running.ended.is_set() else "running"


class ShellSession:
    """The shells of a session: their cwd, the background commands, and whatever earlier commands left running."""

    def __init__(
        self,
        cwd: str,
        env: Mapping[str, str],
        scratch: Scratch,
        log: Log,
        watcher: OrphanWatcher,
        wrap: Callable[[list[str], str, str], list[str]] | None = None,
    ) -> None:
        """`wrap` puts a sandbox around (argv, cwd, file that must stay writable)."""
        self.cwd = cwd
        self._watcher = watcher
        self._wrap = wrap
        self.background: dict[str, BackgroundCommand] = {}
        self._env = {**DEFAULT_ENV, **env}
        self._scratch = scratch
        self._log = log
        self._lock = threading.Lock()
        self._left: list[ProcessGroup] = []
        self._count = 0
        path = self._env.get("PATH", os.defpath)
        self.shell = find_program("bash", path, ".exe" if WINDOWS else "") or find_program("sh", path)

    def start(self, command: str, sink: OutputSink, cwd_file: str) -> ProcessGroup:
        """Start a command in the shell cwd. Raises OSError if it cannot be started."""
        if len(command) * 4 > MAX_ARGUMENT and len(command.encode("utf-8")) > MAX_ARGUMENT and self.shell:
            handle, path = self._scratch.new_file("command", ".sh")
            with open(handle, "wb") as file:
                file.write(command.encode("utf-8") + b"\n")
            command = f". {quoted(path)}"
        argv = shell_argv(command, cwd_file, self.shell, WINDOWS, registers=self._wrap is None)
        if self._wrap is not None:
            argv = ["/bin/sh", "-c", REGISTER_AND_RUN, "sh", *self._wrap(argv, self.cwd, cwd_file)]
        running = ProcessGroup(argv, self.cwd, {**self._env, "PWD": self.cwd}, sink, self._watcher, registers=True)
        with self._lock:
            self._left.append(running)
        return running

    def start_background(self, command: str) -> BackgroundCommand:
        """Start a command that outlives the call; its output goes to a file from the first byte."""
        over = [name for name, shell in self.background.items() if shell.running.ended.is_set()]
        for name in over[:-MAX_BACKGROUND]:
            del self.background[name]
        if len(self.background) - len(over) >= MAX_BACKGROUND:
            raise BlockingIOError(0, f"{MAX_BACKGROUND} background commands are running already")
        self._count += 1
        name = f"bash_{self._count}"
        sink = Sink(lambda: self._scratch.new_file(name, ".output"), keep=-1)
        sink.feed(b"")
        made = BackgroundCommand(name, command, self.start(command, sink, NOWHERE))
        self.background[name] = made
        return made

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
        _await_groups(alive, CANCEL_GRACE_S)
        for running in alive:
            running.signal_group("SIGKILL")
        for running in alive:
            running.ended.wait(REAP_S)
            running.sink.finish()
