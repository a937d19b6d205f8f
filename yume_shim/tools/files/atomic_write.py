"""Writes a file in one step: readers see the old content or the new, never half of it, even if we are killed.

The new content is written to a temporary file next to the old one. Its name is derived from the old name. Its writer
holds a lock on it: if a writer is killed, the next one finds the file unlocked and removes it. Then the file is synced
and renamed over the old one. All of this happens inside an open folder that was reached without following a link from
the path that the gate judged: swapping a folder for a link meanwhile has no effect.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from yume_shim.disk.exact import NO_WAIT, stat_exact
from yume_shim.disk.resolve import resolve
from yume_shim.system.folders import Folder
from yume_shim.tools.files.text_files import moved, os_failure, real_path
from yume_shim.types.errors import ToolFailed
from yume_shim.types.value import Value

ENDING = ".yume-tmp"
MAX_NAME = 200
"""Bytes of the file's name that are kept in the name of the temporary file; file systems allow 255."""
CLAIM_S = 2.0
CLAIM_STEP_S = 0.01
"""How long to wait for another writer of the same file."""


class Target(Value):
    """The target of a write: the real path and, if a file exists there, its `stat` result."""

    path: str
    facts: os.stat_result | None


def write_target(path: str, shown: str, may_enter: bool, judged: str = "") -> Target:
    """Check the path. A symlink is written through only if it leads to a file in the workspace (`may_enter`)."""
    found = real_path(path, shown, judged)
    try:
        facts = stat_exact(found.real)
    except OSError as error:
        if resolve(found.real).real != found.real:
            raise moved(shown) from None
        raise os_failure(error, "open", shown) from None
    if found.is_link:
        if facts is None:
            raise ToolFailed(f"Refusing to write through a symbolic link that leads nowhere: {shown}")
        if not may_enter:
            raise ToolFailed(f"Refusing to write through a symbolic link that leaves the workspace: {shown}")
    if facts is not None and stat.S_ISDIR(facts.st_mode):
        raise os_failure(IsADirectoryError(errno.EISDIR, ""), "open", shown)
    if facts is not None and not stat.S_ISREG(facts.st_mode):
        raise ToolFailed(f"Not a regular file: {shown}")
    return Target(found.real, facts)


def write_file(target: Target, data: bytes, shown: str) -> os.stat_result:
    """Replace the file, keeping its mode and owner; missing folders are made. Other hard links of the file keep the old
    content: whoever made them may have put a file of another folder there. Returns the facts of the new file."""
    path, name = os.path.split(target.path)
    try:
        folder = Folder(path)
    except OSError as error:
        if resolve(path).real != path:
            raise moved(shown) from None
        raise os_failure(error, "open", shown) from None
    try:
        try:
            return _replace(folder, name, data, target.facts)
        except PermissionError:
            if target.facts is None or target.facts.st_nlink > 1 or not folder.may_write_in_place:
                raise
            return _write_in_place(folder, name, data)  # the folder is read-only, the file perhaps not
    except OSError as error:
        raise os_failure(error, "open", shown) from None
    finally:
        folder.close()


def remove_file(real: str) -> None:
    """Remove the file at a resolved path, if it is there. Raises OSError, also if a folder on the way is a link."""
    path, name = os.path.split(real)
    folder = Folder(path, make=False)
    try:
        folder.remove(name)
    finally:
        folder.close()


def temporary_name(name: str) -> str:
    """The name of the temporary file."""
    kept = os.fsencode(name)
    if len(kept) > MAX_NAME:
        from zlib import crc32

        kept = kept[:MAX_NAME] + b"-%08x" % crc32(kept)
    return f".{os.fsdecode(kept)}{ENDING}"


def _replace(folder: Folder, name: str, data: bytes, facts: os.stat_result | None) -> os.stat_result:
    temporary = temporary_name(name)
    # Until it has its final mode no other user may read it: it may hold a secret.
    handle = _claim(folder, temporary, 0o666 if facts is None else 0o600)
    try:
        _write_all(handle, data)
        if facts is not None:
            folder.keep_owner_and_mode(handle, facts)
        os.fsync(handle)
        written = os.fstat(handle)
    except BaseException:
        folder.discard(handle, temporary)
        raise
    folder.rename_open(handle, temporary, name)
    folder.sync()
    return written


def _claim(folder: Folder, temporary: str, mode: int) -> int:
    """Create the temporary file and lock it. Removes an abandoned one; waits for a running writer."""
    deadline = time.monotonic() + CLAIM_S
    while True:
        try:
            handle = folder.create_locked(temporary, mode)
        except FileExistsError:
            if not folder.remove_abandoned(temporary):
                if time.monotonic() > deadline:
                    raise OSError(errno.EBUSY, "another program is writing this file") from None
                time.sleep(CLAIM_STEP_S)
            continue
        if handle is not None:  # else another writer took it for abandoned before it was locked
            return handle


def _write_in_place(folder: Folder, name: str, data: bytes) -> os.stat_result:
    handle = folder.open(name, os.O_WRONLY | NO_WAIT)
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        os.ftruncate(handle, 0)
        _write_all(handle, data)
        os.fsync(handle)
        return os.fstat(handle)
    finally:
        os.close(handle)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
