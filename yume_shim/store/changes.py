"""Changes of stored sessions that no process has open: a title, a copy, deletion."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager

from yume_shim.store.fork import Fork
from yume_shim.store.jsonl import make_folders
from yume_shim.store.layout import FILE_MODE
from yume_shim.store.lock import InUse, hold
from yume_shim.store.titles import title_lines
from yume_shim.text.codec import dumps
from yume_shim.types.errors import StoreFailed
from yume_shim.types.shapes import timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.types.stored_session import StoredSession


def set_title(path: str, title: str) -> None:
    """Give a stored session a title. Raises StoreFailed."""
    session_id = os.path.basename(path).removesuffix(".jsonl")
    with _locked(path):
        try:
            with open(path, "r+b") as file:
                end = file.seek(0, os.SEEK_END)
                file.seek(max(end - 1, 0))
                torn = end > 0 and file.read(1) != b"\n"
                lines = b"".join(dumps(line) + b"\n" for line in title_lines(session_id, title))
                file.write((b"\n" if torn else b"") + lines)
        except OSError as error:
            raise StoreFailed(f"{path} cannot be written: {error.strerror or error}") from None


def copy_session(
    source: str, stored: StoredSession, target: str, fresh_uuid: Callable[[], str], title: str = ""
) -> None:
    """Write the conversation of a stored session as a new one. Raises StoreFailed."""
    session_id = os.path.basename(target).removesuffix(".jsonl")
    try:
        make_folders(os.path.dirname(target))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(target, flags, FILE_MODE), "wb") as file:
            try:
                for line in Fork(source, stored, session_id, fresh_uuid).lines():
                    file.write(dumps(line) + b"\n")
                for line in title_lines(session_id, title) if title else ():
                    file.write(dumps(line) + b"\n")
            except BaseException:
                os.unlink(target)
                raise
    except OSError as error:
        raise StoreFailed(f"{target} cannot be written: {error.strerror or error}") from None


def delete_session(path: str) -> None:
    """Delete a stored session and its other files. Raises StoreFailed."""
    with _locked(path):
        try:
            os.unlink(path)
        except OSError as error:
            raise StoreFailed(f"{path} cannot be deleted: {error.strerror or error}") from None
    import shutil

    shutil.rmtree(path.removesuffix(".jsonl"), ignore_errors=True)


@contextmanager
def _locked(path: str) -> Iterator[None]:
    try:
        lock = hold(path, wait=0.0, now=lambda: timestamp(time.time()))
    except InUse as error:
        session_id = os.path.basename(path).removesuffix(".jsonl")
        raise StoreFailed(f"session {session_id} is being written by {error}") from None
    try:
        yield
    finally:
        if lock is not None:
            lock.release()
