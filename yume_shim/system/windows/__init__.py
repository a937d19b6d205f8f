"""Windows: pipes, locks, limits, and facts about the system. Every module of this room can be imported anywhere, and
works only here."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable
    from queue import SimpleQueue

STEP_S = 0.01
"""Between two looks at a pipe: there is no call that waits for one, except a read."""
WRITE_S = 0.2
"""How long a caller waits for a write to a pipe that may be full."""
REPLACE_S = 2.0
"""How long a file may be in the way of its replacement: virus scanners and indexers read it for a moment."""
_LOCKED = (0, 11, 13, 36)
"""What a lock that another process holds answers: EAGAIN, EACCES, EDEADLK; Wine gives no number at all."""


# ---------------------------------------------------------------- sockets, pipes


def end_waits(sock: socket) -> None:
    """End whatever another thread waits for on a socket. Only its end does so: a shut socket is waited for. Raises
    OSError."""
    import _socket

    try:
        _socket.socket.shutdown(sock, _socket.SHUT_RDWR)
    finally:
        _socket.socket.close(sock)


def settled_sockets(trying: list[socket], seconds: float) -> list[socket]:
    """Those whose connect has ended, well or not: a failed one is reported as an exception here."""
    import select

    _, writable, failed = select.select([], trying, trying, seconds)
    return list({*writable, *failed})


def watch_reader(_fd: int, _on_gone: Callable[[], None]) -> None:
    """Nothing: only a write shows that the reader of a pipe has gone. The death of the host shows as the end of
    stdin."""


def room_check(_fd: int) -> Callable[[float], bool]:
    """A function that says yes: the room in a pipe cannot be found out."""
    return lambda _seconds: True


def room_meter(_fd: int) -> Callable[[], int]:
    """A function that says how many bytes a pipe takes without waiting: any number, it cannot be found out."""
    return lambda: sys.maxsize


def await_room(_fd: int, seconds: float) -> None:
    """Wait a moment for a pipe that another process has set to non-blocking."""
    import time

    time.sleep(min(seconds, STEP_S))


def await_input(fd: int, seconds: float | None = None) -> bool:
    """Wait until a pipe has something to read, or its end; False if the time is up. Without a time, and for anything
    but a pipe: at once True, and the read waits."""
    if seconds is None:
        return True
    if sys.platform != "win32":
        raise NotImplementedError
    import _winapi
    import msvcrt
    import time

    deadline = time.monotonic() + seconds
    while True:
        try:
            if _winapi.PeekNamedPipe(msvcrt.get_osfhandle(fd), 0)[0]:
                return True
        except OSError:  # its end, or no pipe
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(STEP_S)


def set_polled(_fd: int) -> bool:
    """False: a read of an empty pipe waits."""
    return False


def write_if_room(fd: int, data: bytes) -> bool:
    """Write without waiting long, on a thread. While an earlier write still waits for room, nothing is written."""
    writer = _writers.get(fd)
    if writer is None:
        writer = _writers.setdefault(fd, _ThreadWriter(fd))
    return writer.write(data)


class _ThreadWriter:
    """Writes on a thread, which a full pipe stops instead of the caller. Safe from any thread."""

    def __init__(self, fd: int) -> None:
        import threading
        from queue import SimpleQueue

        self._fd = fd
        self._jobs: SimpleQueue[bytes] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = threading.Event()
        self._idle.set()
        threading.Thread(target=self._run, name="stderr", daemon=True).start()

    def write(self, data: bytes) -> bool:
        with self._lock:
            if not self._idle.is_set():
                return False
            self._idle.clear()
            self._jobs.put(data)
            return self._idle.wait(WRITE_S)

    def _run(self) -> None:
        import os

        while True:
            try:
                os.write(self._fd, self._jobs.get())
            except OSError:
                pass  # nobody reads it any more
            self._idle.set()


_writers: dict[int, _ThreadWriter] = {}
"""One for each descriptor that was written to (stderr)."""


# ---------------------------------------------------------------- files


def try_lock(fd: int, place: int = 0) -> bool:
    """Lock the byte at `place` of an open file, which then cannot be read by others; False if another process holds the
    lock. Raises OSError if the file system has no locks."""
    if sys.platform != "win32":
        raise NotImplementedError
    import msvcrt
    import os

    os.lseek(fd, place, os.SEEK_SET)
    try:
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
    except OSError as error:
        if error.errno in _LOCKED:
            return False
        raise
    return True


def move_over(old: str, new: str) -> None:
    """Rename a file over another one. While somebody reads that one, Windows refuses: then it is tried again for a
    while. Raises OSError."""
    import os
    import time

    deadline = time.monotonic() + REPLACE_S
    while True:
        try:
            os.replace(old, new)
        except PermissionError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(STEP_S)
        else:
            return


def set_mode(_fd: int, _mode: int) -> None:
    """Nothing: a file has the rights of its folder."""


# ---------------------------------------------------------------- this process and its system


def limit_memory(memory: int, processor_seconds: int = 0) -> None:
    """Limits for this process: bytes of memory, seconds of processor time."""
    from yume_shim.system.windows.jobs import limit_this_process

    try:
        limit_this_process(memory, processor_seconds)
    except OSError:
        pass  # the time limit of the parent remains


def is_root() -> bool:
    """False: administrators of Windows are asked like everybody."""
    return False


def os_version() -> str:
    """The name and version of the system."""
    if sys.platform != "win32":
        raise NotImplementedError
    version = sys.getwindowsversion()
    return f"Windows {version.major}.{version.minor}.{version.build}"


def end_by_signal(number: int) -> None:
    """Windows ends no process by a signal: the caller exits with a code."""
