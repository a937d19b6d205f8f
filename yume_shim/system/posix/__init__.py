"""Linux and macOS: waiting at pipes, locks, limits, and facts about the system."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable

DELIVERY = 1.0
"""Seconds that a signal to ourselves may take."""

FIONREAD = 0x541B
"""Linux: how many bytes wait in a pipe. `termios` has the number too, but costs an import."""
SOCKET_ROOM = 16_384
"""Linux: bytes that a local socket with the smallest buffers takes when it is writable."""

# ---------------------------------------------------------------- sockets, pipes


def end_waits(sock: socket) -> None:
    """End whatever another thread waits for on a socket. (Not `SSLSocket.shutdown`: it removes the TLS layer under the
    reader.) Raises OSError."""
    import _socket

    _socket.socket.shutdown(sock, _socket.SHUT_RDWR)


def settled_sockets(trying: list[socket], seconds: float) -> list[socket]:
    """Those whose connect has ended, well or not. (`selectors` would be loaded for nothing else.)"""
    import select

    poll = select.poll()
    for sock in trying:
        poll.register(sock, select.POLLOUT)
    ended = {number for number, _ in poll.poll(seconds * 1_000)}
    return [sock for sock in trying if sock.fileno() in ended]


def watch_reader(fd: int, on_gone: Callable[[], None]) -> None:
    """Call `on_gone` once, on a thread of its own, when the other end of `fd` is closed, also while nothing is written.
    Files and terminals never report it.

    A write would show it, but a model that is silent or a command that runs gives no occasion for one: after the host's
    death the process would go on until its next line. The parent's pid says nothing (`nohup yume-shim … &` must go on).
    """
    import select
    import threading

    poll = select.poll()
    poll.register(fd, 0)  # errors and hang-ups are reported without being asked for

    def wait() -> None:
        poll.poll()
        on_gone()

    threading.Thread(target=wait, name="stdout-reader", daemon=True).start()


def room_check(fd: int) -> Callable[[float], bool]:
    """A function that says whether `fd` takes bytes within so many seconds. For one thread."""
    import select

    poll = select.poll()
    poll.register(fd, select.POLLOUT)

    def has_room(seconds: float) -> bool:
        return bool(poll.poll(seconds * 1000))

    return has_room


def room_meter(fd: int) -> Callable[[], int]:
    """A function that says how many bytes `fd` takes without waiting, or fewer. For one thread.

    POSIX promises PIPE_BUF bytes where poll() says that there is room. On Linux an empty pipe takes its whole size, and
    a local socket that poll() calls writable has three quarters of its buffer free (`unix_writable`)."""
    import fcntl
    import select
    import stat

    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return lambda: sys.maxsize
    has_room = room_check(fd)
    size = getattr(fcntl, "F_GETPIPE_SZ", None)
    if size is not None and stat.S_ISFIFO(mode):
        whole = fcntl.fcntl(fd, size)
        nothing = bytes(4)

        def room_of_pipe() -> int:
            if fcntl.ioctl(fd, FIONREAD, nothing) == nothing:
                return whole
            return select.PIPE_BUF if has_room(0) else 0

        return room_of_pipe
    least = SOCKET_ROOM if size is not None and stat.S_ISSOCK(mode) else select.PIPE_BUF
    return lambda: least if has_room(0) else 0


def await_room(fd: int, seconds: float) -> None:
    """Wait until `fd` takes bytes, at most so long."""
    import select

    select.select([], [fd], [], seconds)


def await_input(fd: int, seconds: float | None = None) -> bool:
    """Wait until `fd` has something to read, or its end; False if the time is up."""
    import select

    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


def set_polled(fd: int) -> bool:
    """From now on a read of an empty pipe does not wait: `await_input` does."""
    os.set_blocking(fd, False)
    return True


def write_if_room(fd: int, data: bytes) -> bool:
    """Write at most 4,000 bytes if that succeeds without waiting; False if nothing was written.

    A pipe that `select` calls writable takes at least 4,096 bytes (PIPE_BUF) at once.
    """
    import select

    try:
        if not select.select([], [fd], [], 0)[1]:
            return False
        os.write(fd, data)
    except (OSError, ValueError):
        return False
    return True


# ---------------------------------------------------------------- files


def try_lock(fd: int, place: int = 0) -> bool:
    """Lock an open file; False if another process holds the lock. The system releases it when the process ends, however
    it ends. `place` is for Windows. Raises OSError if the file system has no locks."""
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


move_over = os.replace
"""Rename a file over another one. Raises OSError."""


def set_mode(fd: int, mode: int) -> None:
    """Set the permission bits of an open file. Raises OSError."""
    os.fchmod(fd, mode)


# ---------------------------------------------------------------- this process and its system


def limit_memory(memory: int, processor_seconds: int = 0) -> None:
    """Limits for this process: bytes of address space, seconds of processor time, and no core dump, which would hold
    what it has read."""
    import resource

    limits = [(resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0)]
    limits += [(resource.RLIMIT_CPU, processor_seconds)] if processor_seconds else []
    for limit, most in limits:
        try:
            _, hard = resource.getrlimit(limit)
            resource.setrlimit(limit, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
        except (OSError, ValueError):  # macOS refuses some
            pass


def is_root() -> bool:
    """May this process do everything?"""
    return os.geteuid() == 0


def os_version() -> str:
    """The name and version of the system."""
    system = os.uname()
    return f"{system.sysname} {system.release}"


# ---------------------------------------------------------------- signals


def end_by_signal(number: int) -> None:
    """End this process by the signal, as if nothing handled it; on any thread. Returns only if that fails."""
    import ctypes
    import time

    try:
        # Python sets handlers on the main thread only, which may be stuck
        ctypes.CDLL(None).signal(int(number), 0)
    except (OSError, AttributeError):
        return
    os.kill(os.getpid(), number)
    time.sleep(DELIVERY)  # another thread may get it, a moment later
