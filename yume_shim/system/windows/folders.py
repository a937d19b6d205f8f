"""Windows: exactly the file that a resolved path names. Folders cannot be opened: paths are resolved again instead."""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FLAGS: int = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)


def open_exact(real: str, flags: int, mode: int = 0o666) -> int:
    """Open the file at a resolved path. Raises OSError, also if a name in the path is a link."""
    _check(real)
    handle = os.open(real, flags | _FLAGS, mode)
    try:
        _check(real)
        if not os.path.samestat(os.fstat(handle), os.lstat(real)):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    except BaseException:
        os.close(handle)
        raise
    return handle


def stat_exact(real: str) -> os.stat_result | None:
    """What is at a resolved path; None if there is nothing. Raises OSError."""
    try:
        return os.lstat(real)
    except FileNotFoundError:
        return None


def list_exact(real: str) -> Iterator[os.DirEntry[str]]:
    """What is in the folder at a resolved path. Raises OSError, also if a name in the path is a link."""
    _check(real)
    with os.scandir(real) as found:
        yield from found


class Folder:
    """A folder that was reached without links, and the operations inside it."""

    may_write_in_place = False
    """A file that cannot be replaced is being read: it must not change under its reader."""

    def __init__(self, path: str, *, make: bool = True) -> None:
        """Raises OSError."""
        if make:
            os.makedirs(path, exist_ok=True)
        _check(path)
        self._path = path

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """Open a file."""
        return os.open(os.path.join(self._path, name), flags | _FLAGS, mode)

    def create_locked(self, name: str, mode: int) -> int | None:
        """Create a file; while it is open nobody can remove it. Raises FileExistsError."""
        return self.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)

    def remove_abandoned(self, name: str) -> bool:
        """True if the file is gone: one that a running writer has open cannot be removed."""
        try:
            self.remove(name)
        except FileNotFoundError:
            return True
        except PermissionError:
            return False
        return True

    def keep_owner_and_mode(self, handle: int, facts: os.stat_result) -> None:
        """Nothing: a new file has the rights of its folder."""

    def rename_open(self, handle: int, old: str, new: str) -> None:
        """Close a file, which could not be renamed otherwise, and rename it over another one. If that fails it is
        removed."""
        from yume_shim.system.windows import move_over

        os.close(handle)
        try:
            move_over(os.path.join(self._path, old), os.path.join(self._path, new))
        except BaseException:
            self.remove(old)
            raise

    def discard(self, handle: int, name: str) -> None:
        """Close a file, and remove it."""
        os.close(handle)
        self.remove(name)

    def remove(self, name: str) -> None:
        """Remove a file. Raises OSError."""
        os.unlink(os.path.join(self._path, name))

    def sync(self) -> None:
        """Nothing: folders cannot be synced."""

    def close(self) -> None:
        """Nothing is open."""


def _check(real: str) -> None:
    from yume_shim.system.windows.paths import final_path

    found, _, wrong = final_path(real)
    if wrong or found != real:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
