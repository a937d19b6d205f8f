"""Locks an open file through the operating system, which releases the lock when the process ends, however it ends."""

from __future__ import annotations

import os


def try_lock(fd: int, place: int = 0) -> bool:
    """True if locked, False if another process holds the lock. Windows locks the byte at `place`, which then cannot be
    read by others. Raises OSError if the file system has no locks."""
    import errno

    try:
        if os.name == "nt":
            import msvcrt

            os.lseek(fd, place, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            return False
        raise
    return True
