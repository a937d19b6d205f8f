"""Runs processes: each has its own process group and is ended as a whole, and its output never fills memory.

A command's stdout and stderr share one pipe. A thread empties it, so a command never blocks on output, and a child that
keeps the pipe open after its shell ended is still read, without effect. Another thread waits for the process, so that
the caller can wait for whatever comes first: the end, the time limit, or the cancel.
"""

from __future__ import annotations

import os
import threading
import time

from yume_shim.system import await_input, processes, set_polled
from yume_shim.system.programs import find_program as find_program
from yume_shim.tools.shell.sink import PIPE_READ
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from subprocess import Popen
    from typing import Protocol

    from yume_shim.system.orphan_watcher import OrphanWatcher
    from yume_shim.tools.shell.launches import Launch
    from yume_shim.tools.shell.sandbox import SandboxLaunch
    from yume_shim.types.ports import Cancel

    class OutputSink(Protocol):
        """Receives what a process prints, on the thread that reads it."""

        path: str
        lost: str
        total: int

        @property
        def capped(self) -> bool: ...

        def newest(self, since: int = 0) -> tuple[bytes, int]: ...

        def feed(self, data: bytes) -> None: ...

        def finish(self) -> bytes: ...


DRAIN_S = 0.2
"""How long the pipe is still read after the shell ended, for children that keep it open."""
CANCEL_GRACE_S = 0.05
TIMEOUT_GRACE_S = 0.5
"""Between asking a group to end and killing it."""
REAP_S = 2.0
WINDOWS = os.name == "nt"


# ---------------------------------------------------------------- one process


class Ended(Value):
    """How a command ended. For long output, `output` is its beginning, `tail` its end, and `path` names the file with
    all of it; `lost` says why there is no such file, `capped` that the file has only the beginning."""

    code: int
    output: bytes
    total: int
    path: str = ""
    timed_out: bool = False
    tail: bytes = b""
    lost: str = ""
    capped: bool = False


class ProcessGroup:
    """A started process with its group, its pipe and the two threads that watch it.

    With `registers` the command registers itself with the watcher (see `orphan_watcher.REGISTER_GROUP`)."""

    def __init__(
        self,
        argv: list[str] | str,
        cwd: str,
        env: Mapping[str, str],
        sink: OutputSink,
        watcher: OrphanWatcher,
        registers: bool = False,
        launch: Launch | SandboxLaunch | None = None,
        script: str = "",
    ) -> None:
        """`argv` as a text is a command line of Windows. `launch` confines the process. `script`: the file with the
        command, which is removed when the process has ended. Raises OSError if it cannot be started, or not be
        confined."""
        import subprocess

        watcher_pipe = watcher.pipe()
        reader, writer = os.pipe()

        def start() -> Popen[bytes]:
            return processes.start(
                argv,
                cwd=cwd,
                env=watcher.marked(env),
                stdin=watcher_pipe if registers and watcher_pipe >= 0 else subprocess.DEVNULL,
                stdout=writer,
                stderr=subprocess.STDOUT,
                handles=launch.handles if launch is not None else (),
            )

        try:
            with watcher.starting():
                self.process: Popen[bytes] = start() if launch is None else launch.spawn(start)
                watcher.add(self.process.pid)
        except BaseException:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        self._watcher = watcher
        self._launch = launch
        self._script = script
        self.note = ""
        """What the confinement reports when the process has ended."""
        self.sink = sink
        self.ended = threading.Event()
        """The process itself is gone (others of its group may still run)."""
        self.silent = threading.Event()
        """The pipe is closed: no process holds it any more."""
        self._wake = threading.Event()
        self._reader = reader
        self._taking = threading.Lock()
        """Held from a read of the pipe until the sink has what was read."""
        self._polls = set_polled(reader)
        """Can the pipe be looked at without waiting?"""
        threading.Thread(target=self._pump, daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()

    def _pump(self) -> None:
        try:
            while await_input(self._reader) and self._take():
                pass
        except OSError:
            pass
        finally:
            with self._taking:
                os.close(self._reader)
                self._reader = -1
            self.sink.finish()
            self.silent.set()

    def _take(self) -> bool:
        """Give the sink what is in the pipe; False at the pipe's end."""
        if not self._polls:  # the read waits: nobody may wait for it
            data = os.read(self._reader, PIPE_READ)
            self.sink.feed(data)
            return bool(data)
        with self._taking:
            try:
                data = os.read(self._reader, PIPE_READ)
            except BlockingIOError:  # `drain` was faster
                return True
            if data:
                self.sink.feed(data)
            return bool(data)

    def drain(self, seconds: float) -> None:
        """The process has ended: wait until its pipe is closed, at most `seconds` (children may keep it open), and see
        to it that the sink has all that was printed until now. On a busy machine the thread that reads may not have run
        yet: then what is in the pipe is read here."""
        if self.silent.wait(seconds) or not self._polls or not self._taking.acquire(timeout=REAP_S):
            return
        try:
            if self._reader >= 0:
                self.sink.feed(os.read(self._reader, PIPE_READ))
        except BlockingIOError:  # there is nothing left
            pass
        finally:
            self._taking.release()

    def _watch(self) -> None:
        self.process.wait()
        if self._launch is not None:
            self.note = self._launch.finish()
        if self._script:
            try:
                os.unlink(self._script)
            except OSError:
                pass  # a child of the command still reads it
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
        processes.signal_group(self.process.pid, name)

    def group_alive(self) -> bool:
        """Is any process of the group still there?"""
        return processes.group_alive(self.process.pid)


def await_groups(groups: list[ProcessGroup], seconds: float) -> None:
    """Wait until all are gone or silent. (An unreaped dead child still counts as alive, but its pipe is closed.)"""
    deadline = time.monotonic() + seconds
    for running in groups:
        running.ended.wait(max(0.0, deadline - time.monotonic()))
        running.silent.wait(max(0.0, deadline - time.monotonic()))


def run_to_end(running: ProcessGroup, seconds: float, cancel: Cancel) -> Ended:
    """Wait for a command. Ends its whole group at the time limit, or when cancelled (raises Cancelled; the sink has the
    output until then)."""
    timed_out = not running.wait(seconds, cancel)
    if cancel.is_set():
        running.stop(CANCEL_GRACE_S)
        running.drain(CANCEL_GRACE_S)
        running.sink.finish()
        cancel.check()
    if timed_out:
        running.stop(TIMEOUT_GRACE_S)
    running.drain(DRAIN_S)
    return ended_so_far(running, timed_out=timed_out)


def ended_so_far(running: ProcessGroup, *, timed_out: bool = False) -> Ended:
    """The state of a command that has ended or was stopped, with its output until then."""
    sink = running.sink
    output = sink.finish()
    tail = sink.newest()[0]
    return Ended(exit_code(running), output, sink.total, sink.path, timed_out, tail, sink.lost, sink.capped)


def exit_code(running: ProcessGroup) -> int:
    """As a shell reports it: 128 plus the signal's number for a process that a signal ended."""
    code = running.process.returncode if running.process.returncode is not None else -9
    return 128 - code if code < 0 else code
