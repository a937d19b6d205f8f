"""No orphans: a watcher outside our process that ends our process groups when we are gone, however we went.

Nothing in a process runs when it is killed with SIGKILL. So a small shell waits at a pipe whose write end only we hold
(and a command for its first instant, to enter its own name): when the pipe ends, so have we, and every group still in
the list is ended. It costs one process per session and a few bytes per command, holds no other pipe, and is no child of
any command. POSIX only: Windows has neither groups nor this need of them.
"""

from __future__ import annotations

import os
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.tools.dispatch.session_state import Log

SYSTEM_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
LEAVE_S = 1.0
LEAVE_STEP_S = 0.002
"""How long a watcher that was told to leave is waited for."""
GREETING = 'echo "+ $$" >&0 2>/dev/null; exec </dev/null; '
"""What a shell of ours does first: its stdin is the watcher's pipe, into which it writes its group. Doing this itself
leaves no moment in which it runs unlisted: until it has closed the pipe, the watcher does not see its end."""
GREET_AND_RUN = GREETING + 'exec "$@"'
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
[ "$groups" = " " ] && exit 0
for group in $groups; do kill -s TERM -- "-$group"; done
sleep 0.3
for group in $groups; do kill -s KILL -- "-$group"; done
"""


class Keeper:
    """The list of our process groups, kept where it survives us. Safe from any thread."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._pid = 0
        self._reader = self._writer = -1
        self._told = False

    def pipe(self) -> int:
        """The write end for a command's stdin; -1 if there is no watcher. Starts the watcher on first use, and again
        should somebody have ended it."""
        with self._lock:
            if not hasattr(os, "posix_spawn"):
                return -1
            if not self._pid or self._has_left():
                self._start()
            return self._writer

    def note(self, group: int) -> None:
        """This group is ours."""
        with self._lock:
            self._groups.add(group)
            self._tell(b"+ %d\n" % group)

    def forget(self, group: int) -> None:
        """This group is gone. Its number may soon be somebody else's."""
        with self._lock:
            if group in self._groups:
                self._groups.discard(group)
                self._tell(b"- %d\n" % group)

    def close(self) -> None:
        """Every group was ended: the watcher goes home."""
        with self._lock:
            self._tell(b"q\n")
            self._drop_pipe()
            deadline = time.monotonic() + LEAVE_S
            while self._pid and not self._has_left():
                if time.monotonic() > deadline:
                    os.kill(self._pid, 9)
                time.sleep(LEAVE_STEP_S)

    def __del__(self) -> None:
        """Left behind without `close`: the watcher hears the end of its pipe and does its work."""
        self._drop_pipe()

    def _start(self) -> None:
        self._drop_pipe()
        self._reader, self._writer = os.pipe()
        # We hold the read end too, and never wait for room: a watcher that somebody ended must neither break a command
        # that writes to it (SIGPIPE) nor hold one up.
        os.set_blocking(self._writer, False)
        try:
            self._pid = os.posix_spawn(
                "/bin/sh",
                ["/bin/sh", "-c", _WATCHER, "yume-watcher"],
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
            if not self._told:
                self._told = True
                self._log("warning", f"no watcher: commands may outlive this program if it is killed ({error})")
            return
        for group in self._groups:
            self._tell(b"+ %d\n" % group)

    def _has_left(self) -> bool:
        """Is the watcher gone? Reaps it."""
        try:
            gone = os.waitpid(self._pid, os.WNOHANG)[0] != 0
        except ChildProcessError:
            gone = True
        if gone:
            self._pid = 0
        return gone

    def _tell(self, line: bytes) -> None:
        if self._writer < 0:
            return
        try:
            os.write(self._writer, line)
        except OSError:  # full: the watcher is gone, the next command starts another one
            pass

    def _drop_pipe(self) -> None:
        for end in (self._reader, self._writer):
            if end >= 0:
                os.close(end)
        self._reader = self._writer = -1
