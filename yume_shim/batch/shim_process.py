"""One process of this program that answers prompt after prompt, spoken to in flat lines."""

from __future__ import annotations

import os
import queue
import sys
import threading

from yume_shim.text.codec import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from yume_shim.types.blocks import Json

COMMAND = (
    *(sys.executable, "-P", "-m", "yume_shim"),
    *("--output-format", "flat", "--permission-prompts", "none", "--request-permits"),
)
"""`-P`: the working folder, which may be hostile, is not searched for modules."""
END_S = 10.0
"""Seconds that the process gets to end; it promises less."""
QUEUED = 1_000
"""Lines that may wait for the reader; beyond that the process waits."""
KEPT_STDERR = 2_000
"""Characters of the last stderr output, for the message when it dies."""


LONG = 20_000
"""Characters of an argument beyond which its text goes into a file. Windows takes 32,767 in all, Linux 131,071 each."""
FILE_FLAGS = {
    "--system-prompt": "--system-prompt-file",
    "--append-system-prompt": "--append-system-prompt-file",
    "--settings": "--settings",
}
"""Flags whose value may be in a file, and the flag that names the file."""


class ProcessEnded(Exception):
    """The process is gone; the text says what it said last."""


class ShimProcess:
    """Starts the process; a thread reads its lines, another keeps its stderr from filling up."""

    def __init__(self, flags: Sequence[str], cwd: str, env: Mapping[str, str]) -> None:
        import subprocess

        from yume_shim.system.processes import start

        self._folder = ""
        self._process = start(  # in a group of its own: Ctrl-C is for the run, which stops its processes in order
            [*COMMAND, *map(self._shortened, flags)],
            cwd=cwd or None,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._lines: queue.Queue[Json | None] = queue.Queue(QUEUED)
        self._stderr = ""
        for target in (self._read_lines, self._read_stderr):
            threading.Thread(target=target, daemon=True).start()

    def send(self, line: Json) -> None:
        """Write one line. Raises ProcessEnded."""
        pipe = self._process.stdin
        assert pipe is not None
        try:
            pipe.write(dumps(line) + b"\n")
            pipe.flush()
        except (OSError, ValueError):
            raise ProcessEnded(self._last_words()) from None

    def read(self, seconds: float) -> Json | None:
        """The next line; None after so many seconds without one. Raises ProcessEnded."""
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            return None
        if line is None:
            self._lines.put(None)
            raise ProcessEnded(self._last_words())
        return line

    def close(self) -> None:
        """End it: by the end of its input, then by force."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except OSError:
            pass
        while self._wait() is None:
            self._process.kill()
        if self._folder:
            import shutil

            shutil.rmtree(self._folder, ignore_errors=True)

    def kill(self) -> None:
        """End it at once; it ends what its tools started."""
        self._process.terminate()
        self.close()

    def _shortened(self, flag: str) -> str:
        """The flag, with a long value in a file that only this user can read."""
        name, _, text = flag.partition("=")
        if len(flag) < LONG or name not in FILE_FLAGS:
            return flag
        import tempfile

        self._folder = self._folder or tempfile.mkdtemp(prefix="yume-batch-")
        path = os.path.join(self._folder, name.strip("-"))
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return f"{FILE_FLAGS[name]}={path}"

    def _read_lines(self) -> None:
        pipe: Any = self._process.stdout
        with pipe:
            for raw in pipe:
                try:
                    line = loads(raw)
                except ValueError:
                    continue
                if isinstance(line, dict):
                    self._lines.put(line)
        self._lines.put(None)

    def _read_stderr(self) -> None:
        pipe: Any = self._process.stderr
        with pipe:
            while data := pipe.read1(65_536):
                self._stderr = (self._stderr + data.decode("utf-8", "replace"))[-KEPT_STDERR:]

    def _wait(self) -> int | None:
        """The exit code; None if it still runs after END_S."""
        import subprocess

        try:
            return self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            return None

    def _last_words(self) -> str:
        code = self._wait()
        said = self._stderr.strip().splitlines()
        return f"the process ended with code {code}" + (f": {said[-1]}" if said else "")
