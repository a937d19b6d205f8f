"""`otelHeadersHelper`: a command of the user that prints headers for the collector as a JSON object.

It runs on a thread of telemetry, when an export needs headers and the last ones are too old."""

from __future__ import annotations

import threading
import time

from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Log = Callable[[str, str], None]

HELPER_S = 10.0
MAX_OUTPUT = 64 << 10
"""Bytes of its output that are read."""


class HeadersHelper:
    """Callable: the headers to send. Used by the threads of exporters; the lock lets one of them run the command."""

    def __init__(self, command: str, env: Mapping[str, str], cwd: str, log: Log, lasts_s: float) -> None:
        self._command, self._env, self._cwd, self._log, self._lasts_s = command, env, cwd, log, lasts_s
        self._lock = threading.Lock()
        self._headers: dict[str, str] = {}
        self._ran_at: float | None = None
        self._group = 0
        """The process group of the command while it runs."""
        self._ended = False

    def __call__(self) -> Mapping[str, str]:
        with self._lock:
            if self._ran_at is None or time.monotonic() - self._ran_at >= self._lasts_s:
                self._ran_at = time.monotonic()
                found = self._run()
                if isinstance(found, str):
                    self._log("warning", f"telemetry: otelHeadersHelper {found}; what it printed is not shown")
                else:
                    self._headers = found
            return self._headers

    def end(self) -> None:
        """The session has ended: the command does not outlive it. Called while another thread may wait for it."""
        from yume_shim.system.processes import end_group

        self._ended = True
        if self._group:
            end_group(self._group)

    def _run(self) -> dict[str, str] | str:
        """The headers, or what is wrong."""
        from yume_shim.system.processes import end_group
        from yume_shim.system.short_commands import printed_by, running

        try:
            with running(self._command, self._cwd, self._env) as process:
                self._group = process.pid
                if self._ended:  # in this moment: `end` did not know the group yet
                    end_group(process.pid)
                printed, code = printed_by(process, MAX_OUTPUT, HELPER_S)
                self._group = 0
        except OSError as error:
            return f"cannot be started ({error.strerror})"
        if self._ended:  # by `end`: nothing is wrong with it
            return self._headers
        if code is None:
            return "printed too much" if len(printed) > MAX_OUTPUT else f"did not end within {HELPER_S:g} s"
        found = codec.loads_object(printed) if code == 0 else None
        if found is None or not all(isinstance(text, str) for text in found.values()):
            return f"must print a JSON object of texts (exit code {code})"
        return {str(name): text for name, text in found.items()}
