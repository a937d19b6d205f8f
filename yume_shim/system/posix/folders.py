"""Linux and macOS: exactly the file or folder that a resolved path names; each name is opened inside the folder before
it, without links."""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_STEP: int = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
"""For the folders on the way. O_PATH: a folder that may be entered but not listed is enough."""


def open_exact(real: str, flags: int, mode: int = 0o666) -> int:
    """Open the file at a resolved path. Raises OSError, also if a name in the path is a link."""
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC
    folder, name = os.path.split(real)
    if not name:
        return os.open(real, flags, mode)
    inside = open_way(folder)
    try:
        return os.open(name, flags, mode, dir_fd=inside)
    finally:
        os.close(inside)


def stat_exact(real: str) -> os.stat_result | None:
    """What is at a resolved path; None if there is nothing. Raises OSError, also if a folder on the way is a link."""
    folder, name = os.path.split(real)
    try:
        inside = open_way(folder)
    except FileNotFoundError:
        return None
    try:
        return os.stat(name or ".", dir_fd=inside, follow_symlinks=False)
    except FileNotFoundError:
        return None
    finally:
        os.close(inside)


def list_exact(real: str) -> Iterator[os.DirEntry[str]]:
    """What is in the folder at a resolved path. Raises OSError, also if a name in the path is a link."""
    handle = open_folder(real)
    try:
        with os.scandir(handle) as found:
            yield from found
    finally:
        os.close(handle)


def open_folder(real: str, *, make: bool = False) -> int:
    """Open the folder at a resolved path for listing. `make`: create what is missing."""
    way = open_way(real, make=make)
    try:
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=way)
    finally:
        os.close(way)


def open_way(real: str, *, make: bool = False) -> int:
    """A handle of the folder at a resolved path, for calls that take `dir_fd`."""
    here = os.open("/", _STEP | os.O_CLOEXEC)
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
        return os.open(name, _STEP | os.O_CLOEXEC, dir_fd=here)
    except FileNotFoundError:
        if not make:
            raise
    try:
        os.mkdir(name, dir_fd=here)
    except FileExistsError:
        pass  # another program was faster
    return os.open(name, _STEP | os.O_CLOEXEC, dir_fd=here)


class Folder:
    """An open folder that was reached without links, and the operations inside it."""

    may_write_in_place = True
    """A folder that cannot be written may hold a file that can."""

    def __init__(self, path: str, *, make: bool = True) -> None:
        """Raises OSError."""
        self._handle = open_folder(path, make=make)

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """Open a file; never a link."""
        return os.open(name, flags | os.O_NOFOLLOW, mode, dir_fd=self._handle)

    def create_locked(self, name: str, mode: int) -> int | None:
        """Create a file and lock it; None if another program took it before it was locked. Raises FileExistsError."""
        handle = self.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        if _lock(handle) and self._has(name, handle):
            return handle
        os.close(handle)
        return None

    def remove_abandoned(self, name: str) -> bool:
        """True if the file is gone. A locked file belongs to a running writer. Anything but a regular file is not ours,
        and is removed."""
        try:
            handle = self.open(name, os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO):
                self.remove(name)
                return True
            raise
        try:
            if not _lock(handle):
                return False
            if self._has(name, handle):
                self.remove(name)
            return True
        finally:
            os.close(handle)

    def keep_owner_and_mode(self, handle: int, facts: os.stat_result) -> None:
        """Give an open file the owner and mode of the one that it will replace."""
        now = os.fstat(handle)
        if (now.st_uid, now.st_gid) != (facts.st_uid, facts.st_gid):
            try:
                os.fchown(handle, facts.st_uid, facts.st_gid)
            except PermissionError:
                pass  # only root may give files away; the content matters more
        os.fchmod(handle, facts.st_mode & 0o7777)

    def rename_open(self, handle: int, old: str, new: str) -> None:
        """Rename an open file over another one, then close it: until then it is locked. If that fails it is removed."""
        try:
            os.replace(old, new, src_dir_fd=self._handle, dst_dir_fd=self._handle)
        except BaseException:
            self.discard(handle, old)
            raise
        os.close(handle)

    def discard(self, handle: int, name: str) -> None:
        """Remove an open file, then close it."""
        try:
            self.remove(name)
        finally:
            os.close(handle)

    def remove(self, name: str) -> None:
        """Remove a file. Raises OSError."""
        os.unlink(name, dir_fd=self._handle)

    def sync(self) -> None:
        """Make a rename durable."""
        try:
            os.fsync(self._handle)
        except OSError:
            pass  # some file systems cannot sync folders

    def close(self) -> None:
        """Close the folder."""
        os.close(self._handle)

    def _has(self, name: str, handle: int) -> bool:
        """Is this open file still the one with that name?"""
        try:
            return os.path.samestat(os.stat(name, dir_fd=self._handle, follow_symlinks=False), os.fstat(handle))
        except FileNotFoundError:
            return False


def _lock(handle: int) -> bool:
    """Try to lock the file; True on success. The system releases the lock when the process ends, however it ends."""
    from yume_shim.system.posix import try_lock

    try:
        return try_lock(handle)
    except OSError:  # a file system without locks
        return True
