"""Programs on a real terminal: a session of its own with a pseudo-terminal in control, and what appears on it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from typing import IO, TYPE_CHECKING

from tests.helpers.child import DEADLINE, PROGRAM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self

CTRL_C, CTRL_D = b"\x03", b"\x04"
LEAD = """
import fcntl, os, sys, termios
terminal = int(sys.argv[1])
os.setsid()
fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
os.close(terminal)
os.execvp(sys.argv[2], sys.argv[2:])
"""
"""Leads a session that the terminal controls, then becomes the program."""


class Terminal:
    """A running program. `on` says which of its descriptors 0, 1, 2 are the terminal; stdin is /dev/null otherwise, and
    `piped` gets what it writes to the others."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        on: tuple[int, ...] = (0, 1, 2),
        program: Sequence[str] = PROGRAM,
    ) -> None:
        self._own, theirs = pty.openpty()
        self._changed = threading.Condition()
        self._seen, self._gone = b"", False
        self.piped = b""

        def place(fd: int) -> int:
            return theirs if fd in on else subprocess.PIPE if fd else subprocess.DEVNULL

        lead = [sys.executable, "-S", "-c", LEAD, str(theirs)]
        self._process = subprocess.Popen(
            [*lead, *program, *argv],
            cwd=cwd,
            env=dict(env),
            stdin=place(0),
            stdout=place(1),
            stderr=place(2),
            pass_fds=(theirs,),
        )
        os.close(theirs)
        self._readers = [threading.Thread(target=self._watch, daemon=True)]
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                self._readers.append(threading.Thread(target=self._gather, args=(pipe,), daemon=True))
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(DEADLINE)
        os.close(self._own)

    @property
    def seen(self) -> str:
        """What has appeared on the terminal, with LF line ends."""
        return self._seen.decode("utf-8", "replace").replace("\r\n", "\n")

    def wait_for(self, text: str) -> None:
        """Until the text has appeared."""
        with self._changed:
            self._changed.wait_for(lambda: text in self.seen or self._gone, DEADLINE)
        assert text in self.seen, self.seen

    def type(self, keys: str | bytes) -> None:
        """Press keys."""
        os.write(self._own, keys.encode() if isinstance(keys, str) else keys)

    def end(self) -> int:
        """Wait for the end; the exit code, negative = the signal that ended it."""
        code = self._process.wait(DEADLINE)
        for reader in self._readers:
            reader.join(DEADLINE)
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        return code

    def _watch(self) -> None:
        while data := self._read():
            with self._changed:
                self._seen += data
                self._changed.notify_all()
        with self._changed:
            self._gone = True
            self._changed.notify_all()

    def _read(self) -> bytes:
        try:
            return os.read(self._own, 65536)
        except OSError:  # EIO: nobody has the other end open
            return b""

    def _gather(self, pipe: IO[bytes]) -> None:
        while data := pipe.read1(65536):  # type: ignore[attr-defined]  # a pipe of Popen is buffered
            self.piped += data
