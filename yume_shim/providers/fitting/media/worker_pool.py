"""Keeps idle worker processes for a while: starting one takes a tenth of a second, and images often come in a row."""

from __future__ import annotations

import threading
import time

from yume_shim.providers.fitting.media.worker_process import WorkerProcess

IDLE_SECONDS = 20.0
"""A worker is ended after this idle time."""
MAX_IDLE = 4
"""Workers beyond this number are ended when their job is done."""


class WorkerPool:
    """Idle workers. All methods may be called from any thread."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS, max_idle: int = MAX_IDLE) -> None:
        self._idle_seconds, self._max_idle = idle_seconds, max_idle
        self._idle: list[tuple[float, WorkerProcess]] = []
        """(since when, worker), the newest last."""
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()

    def take(self) -> WorkerProcess:
        """The worker that was idle last, or a new one."""
        with self._lock:
            return self._idle.pop()[1] if self._idle else WorkerProcess()

    def give_back(self, worker: WorkerProcess) -> None:
        """Keep a worker whose job is done."""
        if not worker.started or worker.ended:
            return
        with self._lock:
            if len(self._idle) < self._max_idle:
                self._idle.append((time.monotonic(), worker))
                self._start_timer()
                return
        worker.end()

    def end(self) -> None:
        """End all idle workers."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, worker in idle:
            worker.end()

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(self._idle_seconds, self._expire)
            self._timer.daemon = True
            self._timer.start()

    def _expire(self) -> None:
        with self._lock:
            old = time.monotonic() - self._idle_seconds
            expired = [worker for since, worker in self._idle if since <= old]
            self._idle = [(since, worker) for since, worker in self._idle if since > old]
            self._timer = None
            if self._idle:
                self._start_timer()
        for worker in expired:
            worker.end()


POOL = WorkerPool()
"""The one pool of the program."""
