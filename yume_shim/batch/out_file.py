"""OUT: one JSON line per finished task. It survives a kill at any byte, and says what need not be asked again."""

from __future__ import annotations

import os
import threading
import time

from yume_shim.disk.json_edit import file_mode, replace_file
from yume_shim.system import try_lock
from yume_shim.text.codec import dumps, loads
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from yume_shim.types.blocks import Json

SYNC_S = 1.0
"""Rows reach the disk at the latest after this: a loss of power costs the rows of a second, a kill costs none."""
ROW_START = b'{"id":'
LOCK_PLACE = 1 << 40
"""The byte that Windows locks: beyond the content, so that others can read the file."""
OPEN_TRIES = 10
"""Times that another run may put a new file in the place of OUT while it is opened."""
FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)


class OutBusy(BadInvocation):
    """Another run writes to the file."""


class OutFile:
    """The open file. Workers report from several threads; the lock guards the order of rows."""

    def __init__(self, path: str, *, resume: bool, keep: Callable[[Json], bool]) -> None:
        """`keep` says of each row of an earlier run whether its task is finished. Raises BadInvocation."""
        self.path = os.path.realpath(path)
        """Of the file itself: a link to it must stay one when the content is replaced."""
        self._lock = threading.Lock()
        self._synced = 0.0
        self.finished: dict[str, float] = {}
        """The ids of earlier runs' rows, and what each cost."""
        self.dropped: dict[str, Json] = {}
        """Of the rows that are to be asked again: what they have used."""
        try:
            if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
                raise BadInvocation(f"{path} is no ordinary file: --resume could not read it")  # opening a pipe waits
            self._fd = self._open_locked()
            try:
                self._take_over(resume=resume, keep=keep)
            except (OSError, BadInvocation):
                os.close(self._fd)
                raise
        except OSError as error:
            raise BadInvocation(f"cannot write {path}: {error.strerror}") from None

    def append(self, row: Json) -> None:
        """Write one row. Raises OSError: then the task is not finished."""
        line = dumps(row) + b"\n"
        with self._lock:
            start = os.fstat(self._fd).st_size
            written = 0
            try:
                while written < len(line):
                    written += os.write(self._fd, line[written:])
            except OSError:
                os.ftruncate(self._fd, start)  # a full disk must not leave half a row
                raise
            if time.monotonic() - self._synced > SYNC_S:
                os.fsync(self._fd)
                self._synced = time.monotonic()

    def sort(self, places: Mapping[str, int]) -> None:
        """Put the rows into the order of IN; rows of tasks that IN no longer has come last. Raises OSError."""
        with self._lock:
            spans = self._spans()
            ordered = sorted(spans, key=lambda span: places.get(span[0], len(places)))
            if ordered != spans:
                try:
                    self._rewrite([(start, size) for _, start, size in ordered])
                except OutBusy as busy:
                    raise OSError(0, str(busy)) from None

    def close(self) -> None:
        """Everything written is on the disk; the lock is released."""
        with self._lock:
            os.fsync(self._fd)
            os.close(self._fd)

    def _open_locked(self) -> int:
        """The file that has this name, locked. Raises OSError, OutBusy."""
        for _ in range(OPEN_TRIES):
            fd = os.open(self.path, FLAGS | os.O_CREAT, 0o644)
            if not try_lock(fd, LOCK_PLACE):
                os.close(fd)
                break
            if os.path.samestat(os.fstat(fd), os.stat(self.path)):
                return fd
            os.close(fd)  # a run that has just ended put its sorted rows in the place of what was opened
        raise OutBusy(f"another run writes to {self.path}")

    def _take_over(self, *, resume: bool, keep: Callable[[Json], bool]) -> None:
        """Read the rows of an earlier run, without a torn last one and those that are to be asked again."""
        kept: dict[str, tuple[int, int]] = {}
        bad, line, end, count = 0, b"", 0, 0
        with open(self.path, "rb") as file:
            for count, line in enumerate(file, 1):
                if line.strip() and not resume:
                    raise BadInvocation(f"{self.path} has rows already: continue with --resume, or choose another file")
                if bad:
                    break
                start, end = end, end + len(line)
                row = _row(line)
                if row is None:
                    bad = count
                elif keep(row):
                    kept[row["id"]] = (start, len(line))
                    self.finished[row["id"]] = float(row.get("cost_usd") or 0)
                else:
                    self.dropped[row["id"]] = used_by(row)
        if bad and (bad < count or not _is_torn(line.rstrip(b"\r\n"))):
            raise BadInvocation(f"{self.path}: line {bad} is no row of a batch; nothing was changed")
        if count and (len(kept) < count or not line.endswith(b"\n")):
            self._rewrite(list(kept.values()))

    def _rewrite(self, spans: Sequence[tuple[int, int]]) -> None:
        """Replace the content by these parts of it, and continue in the new file. Raises OSError."""
        mode, rows = file_mode(self.path) or 0o644, self._rows(spans)
        if os.name == "nt":  # there no file can be replaced that somebody has open, ourselves included
            os.close(self._fd)
            try:
                replace_file(self.path, rows, mode)
            finally:
                self._fd = os.open(self.path, FLAGS)
        else:
            replace_file(self.path, rows, mode)
            old, self._fd = self._fd, os.open(self.path, FLAGS)
            os.close(old)
        if not try_lock(self._fd, LOCK_PLACE):
            raise OutBusy(f"another run writes to {self.path}")

    def _rows(self, spans: Sequence[tuple[int, int]]) -> Iterator[bytes]:
        """One after the other: all of OUT may be larger than the memory."""
        with open(self.path, "rb") as file:
            for start, size in spans:
                file.seek(start)
                line = file.read(size)
                yield line if line.endswith(b"\n") else line + b"\n"

    def _spans(self) -> list[tuple[str, int, int]]:
        """(id, start, size) of each row."""
        spans, start = [], 0
        with open(self.path, "rb") as file:
            for line in file:
                spans.append((str(loads(line)["id"]), start, len(line)))
                start += len(line)
        return spans


def _row(line: bytes) -> Json | None:
    """The row that a line is, or None."""
    try:
        row = loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and isinstance(row.get("id"), str) and "result" in row else None


def used_by(row: Json) -> Json:
    """What a row says of the tries of its task."""
    return {
        "usage": row.get("usage") or {},
        "cost_usd": float(row.get("cost_usd") or 0),
        "attempts": row.get("attempts") or 1,
    }


def _is_torn(line: bytes) -> bool:
    """Whether the last line is what a kill or a loss of power leaves of a row, and nothing of the user's."""
    try:
        loads(line)
    except ValueError:
        return ROW_START.startswith(line.rstrip(b"\0")[: len(ROW_START)])
    return False
