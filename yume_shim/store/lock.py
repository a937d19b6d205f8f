"""One writer per session: a lock file beside the transcript, held by the operating system for as long as we live.

The system's own file lock goes away with its process, however that ends, so a file left behind by a killed run is
simply taken over. What is written in the file only says who holds it.
"""

from __future__ import annotations

import os
import time

from yume_shim.text.codec import dumps, loads
from yume_shim.types.errors import StoreFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.blocks import Json

GRACE = 2.0
"""Seconds to wait for another writer: a host that starts a process per turn may start the next while one still ends."""
STEP = 0.05
FILE_MODE = 0o600
LONGEST_OWNER = 4096
TRIES = 20
"""How often a lock file may vanish under us before we do without."""


class InUse(StoreFailed):
    """Another process writes this session; `owner` says which, as far as known."""

    def __init__(self, owner: Json) -> None:
        self.owner = owner
        who = f"process {owner['pid']}" if "pid" in owner else "another process"
        if owner.get("host"):
            who += f" on {owner['host']}"
        if owner.get("since"):
            who += f" since {owner['since']}"
        super().__init__(who)


class SessionLock:
    """A held lock."""

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self._fd = fd

    def release(self) -> None:
        """Let the next writer in."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        if os.name == "nt":  # an open file cannot be removed there
            os.close(fd)
            _remove(self.path)
        else:
            _remove(self.path)
            os.close(fd)


def hold(transcript: str, *, wait: float = GRACE, now: Callable[[], str]) -> SessionLock | None:
    """Take the lock of a session; raises InUse if somebody else keeps it for longer than `wait` seconds. None where
    there can be none (a folder that takes no files, a file system without locks): then nobody can write either, or
    nothing better is to be had."""
    path = transcript.removesuffix(".jsonl") + ".lock"
    deadline = time.monotonic() + wait
    tries = 0
    while tries < TRIES:
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), FILE_MODE)
        except OSError:
            return None
        try:
            held = _try_lock(fd)
        except OSError:
            os.close(fd)
            return None
        if not held:
            owner = _owner(fd)
            os.close(fd)
            if time.monotonic() >= deadline:
                raise InUse(owner)
            time.sleep(STEP)
            continue
        if _still_there(fd, path):
            _sign(fd, now())
            return SessionLock(path, fd)
        os.close(fd)  # its last owner removed it between our open and our lock
        tries += 1
    return None


def _try_lock(fd: int) -> bool:
    """Raises OSError where the file system has no locks."""
    import errno

    try:
        if os.name == "nt":
            import msvcrt

            os.lseek(fd, LONGEST_OWNER, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            return False
        raise
    return True


def _still_there(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except OSError:
        return False


def _sign(fd: int, since: str) -> None:
    import socket

    owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
    try:
        os.ftruncate(fd, 0)
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, dumps(owner) + b"\n")
    except OSError:
        pass  # a full disk: the lock holds, it only does not say whose it is


def _owner(fd: int) -> Json:
    try:
        os.lseek(fd, 0, os.SEEK_SET)
        found = loads(os.read(fd, LONGEST_OWNER) or b"{}")
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
