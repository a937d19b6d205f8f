"""The stdio transport: a server as a child process, one JSON message per line on its stdin and stdout.

Three threads per server: one reads its stdout, one its stderr, one writes to its stdin. So a server that does not read,
floods, or prints garbage never blocks a turn. The process has its own group, which is ended as a whole.
"""

from __future__ import annotations

import os
import threading

from yume_shim.extensions.mcp.broken_answers import broken_answer
from yume_shim.extensions.mcp.errors import CLOSED, ENDED, ServerGone
from yume_shim.system.processes import await_exit, end_group, signal_group, start
from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from queue import Queue
    from subprocess import Popen

    from yume_shim.extensions.mcp.channel import Gone, ProcessWatcher, Take
    from yume_shim.types.blocks import Json

MAX_MESSAGE_BYTES = 64 << 20
"""A server that sends a longer line is ended."""
MAX_QUEUED = 256
"""Messages that wait for a server that does not read; a further one fails."""
MAX_LOGGED_LINES = 2_000
"""Lines of a server's stderr that are logged; the rest is read and dropped."""
MAX_LOGGED_CHARS = 2_000
MAX_BAD_LINES = 50
"""Lines on a server's stdout that are not JSON and are logged; the rest is dropped."""
READ_BYTES = 64 * 1024
STDIN_GRACE_S = 0.3
TERM_GRACE_S = 0.5
"""How long a server may take to end: after its stdin was closed, and after SIGTERM."""


class StdioChannel:
    """Implements `Channel`. Raises OSError if the program cannot be started."""

    def __init__(
        self,
        argv: list[str],
        cwd: str,
        env: Mapping[str, str],
        watcher: ProcessWatcher | None,
        log: Callable[[str, str], None],
        take: Take,
        gone: Gone,
    ) -> None:
        import subprocess
        from contextlib import nullcontext
        from queue import Queue

        from yume_shim.system.programs import absolute_argv

        self._log, self._take, self._gone, self._watcher = log, take, gone, watcher
        if watcher is not None:
            watcher.pipe()  # starts it: from here on our own death ends the server too
        with watcher.starting() if watcher is not None else nullcontext():
            self._process: Popen[bytes] = start(
                absolute_argv(argv, env),
                cwd=cwd,
                env=dict(env) if watcher is None else watcher.marked(env),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
            )
            if watcher is not None:
                watcher.add(self._process.pid)
        self._queue: Queue[bytes | None] = Queue(MAX_QUEUED)
        self._bad_lines = 0
        self._ended = threading.Event()
        self._why = ""
        self.last_words = ""
        """The last line of its stderr, for the message when it does not start."""
        self._error_reader = threading.Thread(target=self._read_errors, name="mcp-stdio", daemon=True)
        self._error_reader.start()
        for work in (self._write, self._read):
            threading.Thread(target=work, name="mcp-stdio", daemon=True).start()

    # ------------------------------------------------------------ Channel

    def send(self, message: Json) -> None:
        from queue import Full

        if self._ended.is_set():
            raise ServerGone(self._why or CLOSED)
        try:
            self._queue.put_nowait(codec.dumps(message) + b"\n")
        except Full:
            raise ServerGone("the server does not read its input") from None

    def close(self) -> None:
        """Close its stdin, so that a well-behaved server ends by itself; `finish` ends the others."""
        from queue import Full

        self._why = self._why or ENDED
        try:
            self._queue.put_nowait(None)
        except Full:  # the queue is full: the server does not read; `finish` ends it
            pass

    def finish(self, seconds: float) -> None:
        """Wait for its end, then ask its group to end, then kill it."""
        if not self._ended.wait(min(seconds, STDIN_GRACE_S)):
            self._signal_group("SIGTERM")
            self._ended.wait(min(seconds, TERM_GRACE_S))
        if not self._ended.is_set():
            self._signal_group("SIGKILL")
            self._ended.wait(seconds)

    # ------------------------------------------------------------ threads

    def _write(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            while (data := self._queue.get()) is not None:
                stdin.write(data)
        except OSError:
            pass  # it has closed its stdin; the reader of its stdout notices its end
        finally:
            try:
                stdin.close()
            except OSError:
                pass

    def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        held = bytearray()
        try:
            while data := os.read(stdout.fileno(), READ_BYTES):
                held += data
                if b"\n" in data:
                    *lines, rest = bytes(held).split(b"\n")
                    held = bytearray(rest)
                    for line in lines:
                        self._take_line(line)
                elif len(held) > MAX_MESSAGE_BYTES:
                    self._why = f"the server sent a message of more than {MAX_MESSAGE_BYTES >> 20} MB"
                    break
        except OSError:
            pass
        finally:
            stdout.close()
        self._end()

    def _take_line(self, line: bytes) -> None:
        line = line.strip()
        if not line:
            return
        try:
            message = codec.loads(line)
        except ValueError:
            self._on_bad_line(line)
            return
        self._take(message)

    def _on_bad_line(self, line: bytes) -> None:
        """Words on stdout, which many servers print, are logged; a broken answer fails its request."""
        self._bad_lines += 1
        if self._bad_lines <= MAX_BAD_LINES:
            self._log("debug", f"not JSON on stdout: {line[:200].decode('utf-8', 'replace')}")
        failed = broken_answer(line)
        if failed is not None:
            self._take(failed)

    def _read_errors(self) -> None:
        from io import BufferedReader

        raw = self._process.stderr
        assert raw is not None
        logged = 0
        with BufferedReader(raw) as stderr:  # type: ignore[type-var]  # Popen's pipe is a raw one
            while line := stderr.readline(MAX_LOGGED_CHARS):
                text = line.decode("utf-8", "replace").strip()
                if text:
                    self.last_words = text
                if text and logged < MAX_LOGGED_LINES:
                    logged += 1
                    self._log("info", text)

    def _end(self) -> None:
        """Its stdout is closed: it cannot answer any more, so it is ended, whatever it still does."""
        process = self._process
        await_exit(process, STDIN_GRACE_S)
        end_group(process.pid)  # before it is reaped: until then nothing else can have its number
        process.wait()
        if self._watcher is not None:
            self._watcher.remove(process.pid)
        self._error_reader.join(STDIN_GRACE_S)  # its last words say why it ended
        self._ended.set()
        self._gone(self._why or CLOSED)

    def _signal_group(self, name: str) -> None:
        if not self._ended.is_set():  # else reaped: its number may belong to another group by now
            signal_group(self._process.pid, name)
