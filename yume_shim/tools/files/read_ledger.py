"""The read ledger: what the model has seen of which file, so that nothing is overwritten that it never saw."""

from __future__ import annotations

import os
import threading


class Ledger:
    """What the model has seen of which file. Content is remembered as a hash, so touching a file is no change."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[int, int, int | None]] = {}

    def note(self, path: str, facts: os.stat_result, data: bytes | None) -> None:
        """The model knows this content now. `data` None: only a part was read, so time and size must do."""
        digest = None if data is None else hash(data)
        with self._lock:
            self._seen[os.path.realpath(path)] = (facts.st_mtime_ns, facts.st_size, digest)

    def knows(self, path: str) -> bool:
        """Was this file read or written in this session?"""
        with self._lock:
            return os.path.realpath(path) in self._seen

    def changed(self, path: str, facts: os.stat_result, data: bytes | None) -> bool:
        """Is the file other than the model last saw it? False for a file it never saw."""
        with self._lock:
            seen = self._seen.get(os.path.realpath(path))
        if seen is None:
            return False
        mtime, size, digest = seen
        if digest is not None and data is not None:
            return digest != hash(data)
        return (mtime, size) != (facts.st_mtime_ns, facts.st_size)
