"""Keeps short records of failed requests for `yume-shim doctor --last-errors`: the newest few, without contents."""

from __future__ import annotations

import os

from yume_shim.store.layout import FILE_MODE, FOLDER_MODE
from yume_shim.text import codec
from yume_shim.types.folders import yume_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.types.blocks import Json

MAX_RECORDS = 50
MAX_RECORD_BYTES = 8_000
MAX_FILE_BYTES = 4 * MAX_RECORDS * MAX_RECORD_BYTES
"""More than this is not ours: another program wrote it, and it is replaced."""


def errors_path(env: Mapping[str, str]) -> str:
    """The file with the records."""
    return os.path.join(yume_folder(env), "errors.jsonl")


def add_error(path: str, record: Json) -> None:
    """Append a record; the oldest ones are dropped. A record that is too long loses its `shape`. Raises OSError.

    Two processes that trim at the same time may lose a record of each other, never a part of one."""
    data = codec.dumps(record)
    if len(data) > MAX_RECORD_BYTES:
        data = codec.dumps({name: fact for name, fact in record.items() if name != "shape"})
    if len(data) > MAX_RECORD_BYTES:
        return
    os.makedirs(os.path.dirname(path), FOLDER_MODE, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | os.O_APPEND, FILE_MODE)
    try:
        size = os.lseek(handle, 0, os.SEEK_END)
        if size:  # a killed process, or a full disk, may have left half a line
            os.lseek(handle, size - 1, os.SEEK_SET)
            data = data if os.read(handle, 1) == b"\n" else b"\n" + data
        os.write(handle, data + b"\n")
    finally:
        os.close(handle)
    lines = _lines(path)
    if len(lines) > MAX_RECORDS:
        _replace(path, b"".join(lines[-MAX_RECORDS:]))


def read_errors(path: str) -> list[Json]:
    """The records, oldest first; unreadable ones are left out."""
    try:
        lines = _lines(path)
    except OSError:
        return []
    return [record for line in lines if (record := codec.loads_object(line)) is not None]


def _lines(path: str) -> list[bytes]:
    with open(path, "rb") as file:
        return file.read(MAX_FILE_BYTES).splitlines(keepends=True)


def _replace(path: str, data: bytes) -> None:
    fresh = f"{path}.{os.getpid()}.tmp"
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | os.O_TRUNC, FILE_MODE)
    try:
        os.write(handle, data)
    finally:
        os.close(handle)
    from yume_shim.system import move_over

    move_over(fresh, path)
