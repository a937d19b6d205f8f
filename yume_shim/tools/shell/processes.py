"""Runs processes: each has its own process group and is ended as a whole, and its output never fills memory.

A command's stdout and stderr share one pipe. A thread empties it, so a command never blocks on output, and a child that
keeps the pipe open after its shell ended is still read, without effect. Another thread waits for the process, so that
the caller can wait for whatever comes first: the end, the time limit, or the cancel.
"""

from __future__ import annotations

import os
import threading
import time

from yume_shim.text.clean import clean_output
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from subprocess import Popen
    from typing import Protocol

    from yume_shim.tools.shell.launches import Launch
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
MAX_KEY_LINE = 80
"""Bytes of the line that begins a private key."""
_KEY_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~+/=:")
DRAIN_S = 0.2
"""How long the pipe is still read after the shell ended, for children that keep it open."""
CANCEL_GRACE_S = 0.05
TIMEOUT_GRACE_S = 0.5
"""Between asking a group to end and killing it."""
REAP_S = 2.0
WINDOWS = os.name == "nt"


# ---------------------------------------------------------------- output


class Sink:
    """Takes output of any length: the first `keep` bytes in memory, all of it (up to a limit) in a file once there are
    more than that (with -1: from the start). The thread that reads the pipe feeds it, the caller's finishes it."""

    def __init__(
        self,
        open_file: Callable[[], tuple[int, str]],
        keep: int = IN_MEMORY,
        redact: Callable[[str], str] | None = None,
    ) -> None:
        """`redact` removes keys from what is saved."""
        self._open_file = open_file
        self._redact = redact
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
                except OSError:  # the output cannot be saved: only its beginning is kept, the command continues
                    self._closed = True
                    return
            self._save(data)

    def finish(self) -> bytes:
        """Ignore further output. Returns the first part; `path` names the file if there is one."""
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
        cut = len(data) if last else _cut_at(data, self._redact is not None)
        data, self._held = data[:cut], data[cut:]
        if not data or self.saved >= MAX_SAVED:
            return
        text = clean_output(data)
        if self._redact is not None:
            text = self._redact(text)
        clean = text.encode("utf-8")[: MAX_SAVED - self.saved]
        try:
            os.write(self._handle, clean)
        except OSError:  # a full disk must not end the command
            self.saved = MAX_SAVED
        self.saved += len(clean)


def _cut_at(data: bytes, whole_keys: bool) -> int:
    """Where to cut what was read so far: after a line, and before a private key whose end has not come yet. What has no
    line ends for too long is cut as well, with `whole_keys` between words, so that no key is cut in two."""
    full = len(data) > MAX_HELD_LINE + PIPE_READ
    cut = data.rfind(b"\n") + 1
    if whole_keys and not full:
        begun = data.rfind(b"-----BEGIN ", 0, cut)
        if (
            begun >= 0
            and b"PRIVATE KEY-----" in data[begun : begun + MAX_KEY_LINE]
            and b"-----END " not in data[begun:cut]
        ):
            return begun
    if cut or not full:
        return cut
    if whole_keys:
        for place in range(len(data) - 1, len(data) - MAX_HELD_LINE, -1):
            if data[place] not in _KEY_BYTES:
                return place + 1
    return len(data)


# ---------------------------------------------------------------- one process


@value
class Ended:
    """How a command ended. For long output, `output` is its beginning and `path` names the file with all of it."""

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
        launch: Launch | None = None,
    ) -> None:
        """`launch` confines the process. Raises OSError if it cannot be started, or not be confined."""
        import subprocess

        watcher_pipe = watcher.pipe()
        reader, writer = os.pipe()

        def start() -> Popen[bytes]:
            return subprocess.Popen(
                argv,
                cwd=cwd,
                env=dict(env),
                stdin=watcher_pipe if registers and watcher_pipe >= 0 else subprocess.DEVNULL,
                stdout=writer,
                stderr=subprocess.STDOUT,
                start_new_session=not WINDOWS,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
                pass_fds=launch.handles if launch is not None else (),
            )

        try:
            self.process: Popen[bytes] = start() if launch is None else launch.spawn(start)
        except BaseException:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        self._watcher = watcher
        self._launch = launch
        self.note = ""
        """What the confinement reports when the process has ended."""
        watcher.add(self.process.pid)
        self.sink = sink
        self.ended = threading.Event()
        """The process itself is gone (others of its group may still run)."""
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
        if self._launch is not None:
            self.note = self._launch.finish()
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
        """Wait until the process has ended (True), or the time is up or the cancel is set (False)."""
        with cancel.guard(self._wake.set):
            self._wake.wait(seconds)
        return self.ended.is_set()

    def stop(self, grace: float) -> None:
        """End the whole group: ask, wait a little, kill."""
        self.signal_group("SIGTERM")
        await_groups([self], grace)
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


def await_groups(groups: list[ProcessGroup], seconds: float) -> None:
    """Wait until all are gone or silent. (An unreaped dead child still counts as alive, but its pipe is closed.)"""
    deadline = time.monotonic() + seconds
    for running in groups:
        running.ended.wait(max(0.0, deadline - time.monotonic()))
        running.silent.wait(max(0.0, deadline - time.monotonic()))


def _kill_tree_on_windows(pid: int) -> None:
    import subprocess

    subprocess.run(["taskkill", "/T", "/F", "/PID", str(pid)], capture_output=True, check=False)


def run_to_end(running: ProcessGroup, seconds: float, cancel: Cancel) -> Ended:
    """Wait for a command. Ends its whole group at the time limit, or when cancelled (raises Cancelled)."""
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


# ---------------------------------------------------------------- programs


def find_program(name: str, path: str, ending: str = "") -> str:
    """The program on a PATH, "" if it is not there. (`shutil.which` without the cost of its import.)"""
    for folder in path.split(os.pathsep):
        full = os.path.join(folder, name + ending)
        if folder and os.path.isfile(full) and os.access(full, os.X_OK):
            return full
    return ""
