"""Reads files that a hostile workspace may have prepared: regular files only, without waiting, up to a limit.

A named pipe would block the start for ever, and a link to `/dev/zero` would fill the memory.
"""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK = 1 << 20
PIPES = ("/dev/fd/", "/proc/self/fd/")
"""What `<(command)` in a shell becomes. A person wrote it, so it may be read although it is a pipe."""
_S_IFMT, _S_IFREG = 0o170000, 0o100000  # `stat` would be one more module at every start


def open_regular(path: str, *, pipes: bool = False) -> int:
    """Open a regular file for reading; links are followed. Raises OSError for anything else. `pipes`: the path comes
    from the command line, where a shell may have put a pipe."""
    if pipes and path.startswith(PIPES):
        return os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    _check(os.stat(path))  # before opening: that alone may start something at a device
    extra = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    handle = os.open(path, os.O_RDONLY | extra)
    try:
        _check(os.fstat(handle))
    except OSError:
        os.close(handle)
        raise
    return handle


def _check(facts: os.stat_result) -> None:
    if facts.st_mode & _S_IFMT != _S_IFREG:
        raise OSError(errno.EINVAL, "not a regular file")


def read_start(path: str, limit: int, *, pipes: bool = False) -> bytes:
    """The first `limit` bytes of a file. Raises OSError."""
    handle = open_regular(path, pipes=pipes)
    try:
        return read_handle(handle, limit)
    finally:
        os.close(handle)


def read_whole(path: str, limit: int, *, pipes: bool = False) -> bytes:
    """A file of at most `limit` bytes. Raises OSError for a longer one."""
    data = read_start(path, limit + 1, pipes=pipes)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"longer than {limit:,} bytes")
    return data


def read_text(path: str, limit: int, *, pipes: bool = False) -> bytes:
    """As `read_whole`, in UTF-8 without a byte order mark: editors on Windows put one before UTF-8, and `>` of
    PowerShell 5 writes UTF-16. Raises OSError."""
    data = read_whole(path, limit, pipes=pipes)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data.removeprefix(b"\xef\xbb\xbf")


def read_handle(handle: int, limit: int, check: Callable[[], None] | None = None) -> bytes:
    """Up to `limit` bytes from an open file. `check` is called between reads and may raise."""
    parts: list[bytes] = []
    while limit > 0:
        if check is not None:
            check()
        part = os.read(handle, min(CHUNK, limit))
        if not part:
            break
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def is_absent(error: OSError) -> bool:
    """The file is just not there: nothing to warn about."""
    return error.errno in (errno.ENOENT, errno.ENOTDIR)
