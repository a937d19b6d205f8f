"""Starts the worker process, gives it jobs, and kills it. Any failure of the worker is a MediaRefused."""

from __future__ import annotations

import os
import sys
import threading

from yume_shim.providers.fitting.media.images import MediaRefused
from yume_shim.providers.fitting.media.pdf_text import PdfText
from yume_shim.text.codec import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen
    from typing import Any

    from yume_shim.providers.fitting.media.images import Limits
    from yume_shim.types.blocks import Json

BOOT = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from yume_shim.providers.fitting.media.worker import main; sys.exit(main())"
)
MAX_HEAD = 64 << 10
"""Bytes of a reply's first line."""
MAX_REPLY = 512 << 20
"""Bytes of a file or text that a worker returns."""
END_SECONDS = 5.0
"""How long to wait for a killed process."""
ENVIRONMENT = ("SYSTEMROOT", "WINDIR", "PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TEMP", "TMP", "TMPDIR")
"""The variables that a worker gets: decoders of hostile files do not need keys."""
CRASHED = "it cannot be read (its reader crashed)"


class WorkerProcess:
    """One worker: started by its first job, one job at a time. `end` may be called from any thread."""

    def __init__(self, boot: str = BOOT) -> None:
        self._boot = boot
        self._process: Popen[bytes] | None = None
        self._ended = False
        self._busy = False
        self._lock = threading.Lock()
        """For the three above."""

    @property
    def started(self) -> bool:
        """Has it been given a job?"""
        return self._process is not None

    @property
    def ended(self) -> bool:
        """Was it killed, or did it crash? Then it accepts no further job."""
        return self._ended

    def convert_image(self, data: bytes, kind: str, limits: Limits) -> tuple[str, bytes]:
        """(media type, bytes) of an image within the limits. Raises MediaRefused."""
        job = {"kind": kind, "formats": limits.formats, "bytes": limits.bytes, "side": limits.side}
        reply, made = self._do({"job": "convert_image", **job}, data)
        if not isinstance(reply.get("kind"), str):
            raise MediaRefused(CRASHED)
        return reply["kind"], made

    def pdf_text(self, data: bytes) -> PdfText:
        """The text of a PDF. Raises MediaRefused."""
        reply, text = self._do({"job": "pdf_text"}, data)
        try:
            return PdfText(text.decode("utf-8", "surrogatepass"), str(reply.get("note", "")))
        except UnicodeDecodeError:
            raise MediaRefused(CRASHED) from None

    def page_count(self, data: bytes) -> int:
        """How many pages a PDF has; 0 if that cannot be read."""
        try:
            pages = self._do({"job": "page_count"}, data)[0].get("pages")
        except MediaRefused:
            return 0
        return pages if isinstance(pages, int) else 0

    def end(self) -> None:
        """Kill the process and wait until it is gone; a job in another thread fails."""
        with self._lock:
            self._ended = True
            if self._process is not None:
                _kill(self._process)
                if not self._busy:  # else the thread of the job closes them: it may be reading
                    _close(self._process)

    def _do(self, job: Json, data: bytes) -> tuple[Json, bytes]:
        try:
            return _exchange(self._started(), job, data)
        except (OSError, ValueError, EOFError, MemoryError):
            self.end()
            raise MediaRefused(CRASHED) from None
        finally:
            self._finished()

    def _finished(self) -> None:
        with self._lock:
            self._busy = False
            if self._ended and self._process is not None:
                _close(self._process)

    def _started(self) -> Popen[bytes]:
        import subprocess

        from yume_shim.system.processes import start

        with self._lock:  # a process that starts while `end` is called would never be killed
            if self._ended:
                raise EOFError
            self._busy = True
            if self._process is None:
                paths = [path for path in sys.path if path]
                self._process = start(
                    [sys.executable, "-I", "-S", "-W", "ignore", "-c", self._boot, *paths],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env={name: os.environ[name] for name in ENVIRONMENT if name in os.environ},
                )
            return self._process


def _exchange(process: Popen[bytes], job: Json, data: bytes) -> tuple[Json, bytes]:
    """Send a job and read its reply. Raises OSError, ValueError or EOFError if the worker does not follow the
    protocol, MediaRefused if it refuses the file."""
    jobs, replies = process.stdin, process.stdout
    if jobs is None or replies is None:
        raise EOFError
    jobs.write(dumps({**job, "size": len(data)}) + b"\n")
    jobs.write(data)
    jobs.flush()
    reply: Any = loads(replies.readline(MAX_HEAD) or b"null")
    if not isinstance(reply, dict) or not isinstance(size := reply.get("size"), int) or not 0 <= size <= MAX_REPLY:
        raise ValueError("not a reply")
    made = replies.read(size)
    if len(made) < size:
        raise EOFError
    if "refused" in reply:
        raise MediaRefused(str(reply["refused"]))
    return reply, made


def _kill(process: Popen[bytes]) -> None:
    from subprocess import TimeoutExpired

    try:
        process.kill()
        process.wait(END_SECONDS)
    except (OSError, TimeoutExpired):
        pass


def _close(process: Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        try:
            if pipe is not None:
                pipe.close()
        except OSError:  # unsent bytes of a job
            pass
