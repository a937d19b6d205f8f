"""Changes a JSON file that other programs write too: under a lock, in one step, with everything else left as it is.

The lock is a folder next to the file, `FILE.lock`, as the Claude CLI makes it for its own file: so the two programs
exclude each other. A folder older than `STALE_S` was left by a process that was killed, and is removed.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager, suppress

from yume_shim.disk.bounded import is_absent, read_whole
from yume_shim.system import move_over, set_mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

MAX_BYTES = 64 << 20
STALE_S = 10.0
LOCK_S = 15.0
"""How long a change waits for other writers."""
LOCK_STEP_S = 0.02
_decoder = json.JSONDecoder()  # not the codec: it turns long integers into floats, and here everything is written back
_encoder = json.JSONEncoder(indent=2, ensure_ascii=False)


class NotAnObject(ValueError):
    """The file is there, but is not one JSON object; it is not touched."""


def edit_json(path: str, change: Callable[[dict[str, Any]], None], *, mode: int, final_newline: bool = False) -> None:
    """Read the object, let `change` alter it, and replace the file. A new file gets `mode`; an existing one keeps its
    own. Links are followed. Raises OSError (TimeoutError if other writers keep the lock), NotAnObject, and what
    `change` raises; the file is unchanged then."""
    path = os.path.realpath(path)
    with folder_lock(path):
        data, now = read_object(path), file_mode(path)
        change(data)
        replace_file(path, _encoded(data) + (b"\n" if final_newline else b""), mode if now is None else now)


def read_object(path: str) -> dict[str, Any]:
    """The JSON object of a file; {} if there is none. Raises OSError, NotAnObject."""
    try:
        raw = read_whole(path, MAX_BYTES)
    except OSError as error:
        if is_absent(error):
            return {}
        raise
    if not raw.strip():
        return {}
    try:
        data = _decoder.decode(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise NotAnObject(str(error)) from None
    if not isinstance(data, dict):
        raise NotAnObject("not an object")
    return data


def file_mode(path: str) -> int | None:
    """The permission bits; None if there is no such file."""
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        return None


def replace_file(path: str, data: bytes | Iterable[bytes], mode: int) -> None:
    """Write a new file and put it into the place of the old one. Raises OSError."""
    part = f"{path}.{os.getpid()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    with suppress(FileNotFoundError):
        os.remove(part)  # left by a process that was killed and had our number
    try:
        with open(os.open(part, flags, 0o600), "wb") as file:
            set_mode(file.fileno(), mode)
            file.writelines((data,) if isinstance(data, bytes) else data)
            file.flush()
            os.fsync(file.fileno())
        move_over(part, path)
    except BaseException:
        with suppress(OSError):
            os.remove(part)
        raise


@contextmanager
def folder_lock(path: str) -> Iterator[None]:
    """Hold `path`.lock. Raises OSError; a TimeoutError if others keep it."""
    lock = f"{path}.lock"
    deadline = time.monotonic() + LOCK_S
    while True:
        try:
            os.mkdir(lock)
            break
        except FileExistsError:
            if _is_stale(lock):
                with suppress(OSError):
                    os.rmdir(lock)
                continue
        if time.monotonic() >= deadline:
            raise TimeoutError(f"another program keeps {lock}")
        time.sleep(LOCK_STEP_S)
    try:
        yield
    finally:
        with suppress(OSError):
            os.rmdir(lock)


def _is_stale(lock: str) -> bool:
    """Only a folder can be: anything else is not ours to remove."""
    try:
        return os.path.isdir(lock) and time.time() - os.stat(lock).st_mtime > STALE_S
    except OSError:
        return False  # just removed


def _encoded(data: dict[str, Any]) -> bytes:
    text = _encoder.encode(data)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair: only an escape can write it
        return json.JSONEncoder(indent=2).encode(data).encode("ascii")
