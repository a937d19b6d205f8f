"""The read ledger: which content of which file the model has seen, so that it overwrites nothing it has not seen."""

from __future__ import annotations

import threading

from yume_shim.disk.resolve import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os


class ReadLedger:
    """The files that the model has seen. Content is kept as a hash, so touching a file is not a change."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[int, int, int | None]] = {}

    def note(self, path: str, facts: os.stat_result, data: bytes | None) -> None:
        """The model knows this content now. `data` None: only a part was read, so time and size are compared later."""
        digest = None if data is None else hash(data)
        with self._lock:
            self._seen[resolve(path).real] = (facts.st_mtime_ns, facts.st_size, digest)

    def knows(self, path: str) -> bool:
        """Whether this file was read or written in this session."""
        with self._lock:
            return resolve(path).real in self._seen

    def changed(self, path: str, facts: os.stat_result, data: bytes | None) -> bool:
        """Whether the file differs from what the model last saw; False for a file it never saw."""
        with self._lock:
            seen = self._seen.get(resolve(path).real)
        if seen is None:
            return False
        mtime, size, digest = seen
        if digest is not None and data is not None:
            return digest != hash(data)
        return (mtime, size) != (facts.st_mtime_ns, facts.st_size)
