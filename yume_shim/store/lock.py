"""Ensures one writer per session with a lock file next to the transcript, locked through the operating system.

The system releases the lock when the process ends, however it ends. A lock file that a killed process left is simply
locked again. The content of the file only names the owner.
"""

from __future__ import annotations

import os
import time

from yume_shim.store.layout import FILE_MODE
from yume_shim.system import try_lock
from yume_shim.text.codec import dumps, loads
from yume_shim.types.errors import StoreFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.blocks import Json

GRACE = 2.0
"""Seconds to wait for another writer: a host that starts one process per turn may start the next one while the last is
still exiting."""
STEP = 0.05
MAX_OWNER_BYTES = 4096
TRIES = 20
"""How often the lock file may be removed between our open and our lock before we continue without a lock."""


class InUse(StoreFailed):
    """Another process writes this session; `owner` is what its lock file says."""

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
        """Unlock, and remove the lock file."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        if os.name == "nt":  # Windows cannot remove an open file
            os.close(fd)
            _remove(self.path)
        else:
            _remove(self.path)
            os.close(fd)


def hold(transcript: str, *, wait: float = GRACE, now: Callable[[], str]) -> SessionLock | None:
    """Lock a session. Raises InUse if another process keeps the lock for longer than `wait` seconds. Returns None where
    locking is impossible: a folder that cannot be written, a file system without locks."""
    path = transcript.removesuffix(".jsonl") + ".lock"
    deadline = time.monotonic() + wait
    tries = 0
    while tries < TRIES:
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), FILE_MODE)
        except OSError:
            return None
        try:
            held = try_lock(fd, MAX_OWNER_BYTES)
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
        os.close(fd)  # the last owner removed the file between our open and our lock
        tries += 1
    return None


def _still_there(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except OSError:
        return False


def _sign(fd: int, since: str) -> None:
    import _socket  # `socket` is a layer of enums over it, for which every start would pay

    owner = {"pid": os.getpid(), "host": _socket.gethostname(), "since": since}
    try:
        os.ftruncate(fd, 0)
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, dumps(owner) + b"\n")
    except OSError:
        pass  # a full disk: the lock is held, but does not name its owner


def _owner(fd: int) -> Json:
    try:
        os.lseek(fd, 0, os.SEEK_SET)
        found = loads(os.read(fd, MAX_OWNER_BYTES) or b"{}")
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
