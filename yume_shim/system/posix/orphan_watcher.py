"""The orphan watcher: a process that ends our process groups when our own process is gone, however it ended.

A process killed with SIGKILL cannot clean up. So a small shell reads from a pipe whose write end only this process
holds (and each command for an instant, to register its own group). When the pipe closes, this process has ended, and
the watcher ends every group that is still registered, and on Linux every process that carries the mark of this session
in its environment: a daemon has left its group, and what was started in our last moment is not registered yet. It costs
one process per session and a few bytes per command, holds no other pipe, and is not a child of any command.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager

from yume_shim.system.posix.processes import end_group, end_marked, marked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Log = Callable[[str, str], None]

SYSTEM_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
EXIT_WAIT_S = 1.0
EXIT_POLL_S = 0.002
"""How long `close` waits for the watcher to exit."""
START_WAIT_S = 1.0
"""How long `close` waits for processes that are just being started; on a busy machine a start may take longer."""
REGISTER_GROUP = 'echo "+ $$" >&0 2>/dev/null; exec </dev/null; '
"""What our shells do first: stdin is the watcher's pipe, into which the shell writes its group. Because it registers
itself, it never runs unregistered: until it has closed the pipe, the watcher does not see the pipe's end."""
REGISTER_AND_RUN = REGISTER_GROUP + 'exec "$@"'
_WATCHER = """
trap "" HUP INT TERM
cd /
groups=" "
while read -r mark group; do
  case $mark in
    +) case $groups in *" $group "*) ;; *) groups="$groups$group " ;; esac ;;
    -) case $groups in *" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;; esac ;;
    q) exit 0 ;;
  esac
done
for group in $groups; do kill -s TERM -- "-$group"; done
[ "$groups" = " " ] || sleep 0.3
for group in $groups; do kill -s KILL -- "-$group"; done
for round in 1 2; do
  for file in $(grep -ls "$1" /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    kill -s KILL "${pid%/environ}"
  done
  [ "$round" = 2 ] || sleep 0.1
done
"""
"""The second round finds what a process that was ended in the first one had just started, and one that the pipe's end
has overtaken: the system closes a process's pipes a moment before it shows the environment."""
MARK = "YUME_SESSION_PROCESS"
"""The variable in the environment of all commands of a session."""


class OrphanWatcher:
    """Our side of the watcher: starts it, registers and removes process groups. Safe from any thread."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._started = threading.Condition(self._lock)
        self._starting = 0
        """Processes that are being started and are not registered yet."""
        self._closed = False
        self._groups: set[int] = set()
        self._pid = 0
        self._reader = self._writer = -1
        self._warned = False
        self._used = False
        """Has any process the mark?"""
        self._mark = f"{os.getpid()}-{os.urandom(8).hex()}"

    def marked(self, env: Mapping[str, str]) -> dict[str, str]:
        """The environment for a command, with the mark by which its processes are found."""
        self._used = True
        return marked(dict(env), MARK, self._mark)

    def pipe(self) -> int:
        """The write end for a command's stdin; -1 if there is no watcher. Starts the watcher on first use, and again if
        it was killed."""
        with self._lock:
            if not self._pid or self._has_exited():
                self._start()
            return self._writer

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Around the start of a process and its registration. Raises OSError once the session has ended: work that
        goes on beside the end would leave behind what it starts."""
        with self._lock:
            if self._closed:
                raise OSError("the session has ended")
            self._starting += 1
        try:
            yield
        finally:
            with self._lock:
                self._starting -= 1
                self._started.notify_all()

    def add(self, group: int) -> None:
        """Register a process group. One whose start took longer than `close` waited for it is ended."""
        with self._lock:
            self._groups.add(group)
            self._send(b"+ %d\n" % group)
            if self._closed:
                end_group(group)

    def remove(self, group: int) -> None:
        """A group is gone. The system may soon give its number to another one."""
        with self._lock:
            if group in self._groups:
                self._groups.discard(group)
                self._send(b"- %d\n" % group)

    def close(self) -> None:
        """End the groups that are left and what has left its group, stop the watcher. Nothing is started any more. If
        a start takes too long, the watcher stays until our own end: what comes of it may be ours to the last moment."""
        with self._lock:
            self._closed = True
            started = self._started.wait_for(lambda: not self._starting, START_WAIT_S)
            for group in self._groups:
                end_group(group)
            if self._used:
                end_marked(MARK, {self._mark})
            if not started:
                return
            self._send(b"q\n")
            self._drop_pipe()
            deadline = time.monotonic() + EXIT_WAIT_S
            while self._pid and not self._has_exited():
                if time.monotonic() > deadline:
                    os.kill(self._pid, 9)
                time.sleep(EXIT_POLL_S)

    def __del__(self) -> None:
        """Dropped without `close`: the pipe closes, and the watcher ends what is registered."""
        self._drop_pipe()

    def _start(self) -> None:
        self._drop_pipe()
        self._reader, self._writer = os.pipe()
        # We keep the read end open too, and never wait for room: a watcher that was killed must neither break a command
        # that writes to the pipe (SIGPIPE) nor block it.
        os.set_blocking(self._writer, False)
        try:
            self._pid = os.posix_spawn(
                "/bin/sh",
                ["/bin/sh", "-c", _WATCHER, "yume-watcher", f"{MARK}={self._mark}"],
                {"PATH": SYSTEM_PATH},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, self._reader, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
                setpgroup=0,  # a host that kills our group must not take the watcher with it
            )
        except OSError as error:
            self._pid = 0
            self._drop_pipe()
            if not self._warned:
                self._warned = True
                self._log("warning", f"no watcher: commands may outlive this program if it is killed ({error})")
            return
        for group in self._groups:
            self._send(b"+ %d\n" % group)

    def _has_exited(self) -> bool:
        """Whether the watcher is gone; reaps it."""
        try:
            gone = os.waitpid(self._pid, os.WNOHANG)[0] != 0
        except ChildProcessError:
            gone = True
        if gone:
            self._pid = 0
        return gone

    def _send(self, line: bytes) -> None:
        if self._writer < 0:
            return
        try:
            os.write(self._writer, line)
        except OSError:  # the pipe is full: the watcher is gone, the next command starts another one
            pass

    def _drop_pipe(self) -> None:
        for end in (self._reader, self._writer):
            if end >= 0:
                os.close(end)
        self._reader = self._writer = -1
