"""Opens exactly the file or folder that a resolved path names: no link on the way is followed.

A path is resolved (`resolve.py`), then judged, then perhaps a person is asked, and only then it is opened. If a folder
on the way was replaced by a link meanwhile, opening fails: each name is opened inside the folder before it, without
links (`system/posix/folders.py`). Windows has no such calls; there the path is resolved again after opening,
and the opened file must be the one that has this name.
"""

from __future__ import annotations

import errno
import os

from yume_shim.disk.bounded import open_regular, read_handle

NO_WAIT: int = getattr(os, "O_NONBLOCK", 0)


def open_exact(real: str, flags: int, mode: int = 0o666) -> int:
    """Open the file at a resolved path. Raises OSError, also if a name in the path is a link."""
    from yume_shim.system import folders  # loaded when the first file is opened

    return folders.open_exact(real, flags, mode)


def stat_exact(real: str) -> os.stat_result | None:
    """What is at a resolved path; None if there is nothing. Raises OSError, also if a folder on the way is a link."""
    from yume_shim.system import folders

    return folders.stat_exact(real)


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
