"""The log on stderr: one line per message, without secrets, as text or as JSON. It never raises and never waits: a host
that does not read its end of the pipe must not stop a turn."""

from __future__ import annotations

import os

from yume_shim.host.descriptors import CLOSED, claim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

STDERR = 2
LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
MAX_LINE_BYTES = 4_000
"""A pipe that has room takes so much at once without waiting (`system/posix`)."""
MAX_FILE_LINE_BYTES = 256_000


class Log:
    """Callable as `log(level, message)`. `secrets` may grow later: it is read at every message.

    stderr gets `level` and above; the debug file, if one is named, gets everything, with times.
    """

    def __init__(
        self,
        provider: str,
        level: str = "warning",
        secrets: Sequence[str] = (),
        stream_fd: int = STDERR,
        debug_file: str = "",
        *,
        as_json: bool = False,
    ) -> None:
        self._provider = provider
        self._as_json = as_json
        self._secrets = secrets
        self._least = LEVELS.get(level, LEVELS["warning"])
        self._fd = claim(stream_fd)
        self._file = _open_file(debug_file) if debug_file else CLOSED
        if debug_file and self._file == CLOSED:
            self("warning", f"cannot write the debug file {debug_file}")

    def __call__(self, level: str, message: str) -> None:
        shown = LEVELS.get(level, LEVELS["error"]) >= self._least and self._fd != CLOSED
        if not shown and self._file == CLOSED:
            return
        text = "" if self._as_json else f"yume-shim[{self._provider}] {level} {self._clean(message)}"
        if shown:
            from yume_shim.system import write_if_room

            line = self._json(level, message, MAX_LINE_BYTES) if self._as_json else text
            write_if_room(self._fd, _bytes(line, MAX_LINE_BYTES))
        if self._file != CLOSED:
            limit = MAX_FILE_LINE_BYTES
            _put(self._file, _bytes(self._json(level, message, limit) if self._as_json else f"{_now()} {text}", limit))

    def _json(self, level: str, message: str, limit: int) -> str:
        """The message as one JSON object. One that is too long keeps its beginning and loses its fields."""
        from yume_shim.text.codec import dumps
        from yume_shim.text.log_entry import LogEntry
        from yume_shim.text.redact import with_texts

        line: dict[str, Any] = {"time": _now(), "level": level, "provider": self._provider}
        if isinstance(message, LogEntry):
            full = line | {"message": message.event} | with_texts(dict(message.fields), self._clean)
        else:
            full = line | {"message": self._clean(message)}
        data = dumps(full)
        if len(data) >= limit:
            # an escape takes at most six bytes
            data = dumps(line | {"message": self._clean(message)[: (limit - 200) // 6], "clipped": True})
        return data.decode("utf-8")

    def _clean(self, message: str) -> str:
        from yume_shim.text.redact import redact

        message = redact(message, self._secrets)
        if message.isprintable():
            return message
        # Line ends, terminal escapes and lone surrogates, which a message may quote from anywhere, are escaped.
        return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in message)


def _open_file(path: str) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | os.O_APPEND, 0o600)
    except (OSError, ValueError):
        return CLOSED


def _bytes(line: str, limit: int) -> bytes:
    data = line.encode("utf-8", "replace")
    if len(data) >= limit:
        data = data[: limit - 4].decode("utf-8", "ignore").encode("utf-8") + "…".encode()
    return data + b"\n"


def _put(fd: int, data: bytes) -> None:
    try:
        os.write(fd, data)
    except OSError:
        pass


def _now() -> str:
    import time

    now = time.time()
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03d}Z"
