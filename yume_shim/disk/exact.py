"""Opens exactly the file or folder that a resolved path names: no link on the way is followed.

A path is resolved (`resolve.py`), then judged, then perhaps a person is asked, and only then it is opened. If a folder
on the way was replaced by a link meanwhile, opening fails: each name is opened inside the folder before it, without
links. Windows has no such calls; there the path is resolved again after opening, and the opened file must be the one
that has this name.
"""

from __future__ import annotations

import errno
import os

from yume_shim.disk.bounded import open_regular, read_handle

WINDOWS = os.name == "nt"
NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
BINARY: int = getattr(os, "O_BINARY", 0)
NO_WAIT: int = getattr(os, "O_NONBLOCK", 0)
_CLOSE: int = getattr(os, "O_CLOEXEC", 0)
_STEP: int = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | NO_FOLLOW | _CLOSE
"""For the folders on the way. O_PATH: a folder that may be entered but not listed is enough."""


def open_exact(real: str, flags: int, mode: int = 0o666) -> int:
    """Open the file at a resolved path. Raises OSError, also if a name in the path is a link."""
    flags |= NO_FOLLOW | BINARY | _CLOSE
    if WINDOWS:
        return _open_on_windows(real, flags, mode)
    folder, name = os.path.split(real)
    if not name:
        return os.open(real, flags, mode)
    inside = open_way(folder)
    try:
        return os.open(name, flags, mode, dir_fd=inside)
    finally:
        os.close(inside)


def _open_on_windows(real: str, flags: int, mode: int) -> int:
    check_unmoved(real)
    handle = os.open(real, flags, mode)
    try:
        check_unmoved(real)
        if not os.path.samestat(os.fstat(handle), os.lstat(real)):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    except BaseException:
        os.close(handle)
        raise
    return handle


def check_unmoved(real: str) -> None:
    """Windows: raises OSError if a resolved path does not lead to itself any more."""
    from yume_shim.disk.resolve import resolve

    found = resolve(real)
    if found.flaw or found.real != real:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def read_exact(real: str, limit: int) -> bytes:
    """A regular file of at most `limit` bytes at a resolved path: checked first, then opened without following a link.
    Raises OSError."""
    os.close(open_regular(real))
    handle = open_exact(real, os.O_RDONLY | NO_WAIT)
    try:
        data = read_handle(handle, limit + 1)
    finally:
        os.close(handle)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"longer than {limit:,} bytes")
    return data


def open_folder(real: str, *, make: bool = False) -> int:
    """Open the folder at a resolved path for listing. `make`: create what is missing. Not on Windows."""
    way = open_way(real, make=make)
    try:
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | _CLOSE, dir_fd=way)
    finally:
        os.close(way)


def open_way(real: str, *, make: bool = False) -> int:
    """A handle of the folder at a resolved path, for calls that take `dir_fd`. Not on Windows."""
    here = os.open("/", _STEP)
    try:
        for name in real.split("/"):
            if not name:
                continue
            following = _enter(here, name, make)
            os.close(here)
            here = following
    except BaseException:
        os.close(here)
        raise
    return here


def _enter(here: int, name: str, make: bool) -> int:
    try:
        return os.open(name, _STEP, dir_fd=here)
    except FileNotFoundError:
        if not make:
            raise
    try:
        os.mkdir(name, dir_fd=here)
    except FileExistsError:
        pass  # another program was faster
    return os.open(name, _STEP, dir_fd=here)


def stat_exact(real: str) -> os.stat_result | None:
    """What is at a resolved path; None if there is nothing. Raises OSError, also if a folder on the way is a link."""
    try:
        if WINDOWS:
            return os.lstat(real)
        folder, name = os.path.split(real)
        inside = open_way(folder)
    except FileNotFoundError:
        return None
    try:
        return os.stat(name or ".", dir_fd=inside, follow_symlinks=False)
    except FileNotFoundError:
        return None
    finally:
        os.close(inside)
