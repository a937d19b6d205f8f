"""The real program as a child process: start it, feed it lines and cues, collect what it prints, under a deadline."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.helpers.timing import wait_until
from yume_shim.text import codec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PROGRAM = (sys.executable, "-m", "yume_shim")
DEADLINE = 60.0
"""Seconds that a whole child may take; a stuck one is killed and its output so far is shown."""
KEPT_VARIABLES = ("PATH", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "COVERAGE_PROCESS_START", "PYTHONPATH")
"""What a child inherits: enough to start programs, nothing about the person who runs the tests."""


@dataclass
class Ended:
    """The output and exit code of a child that ended."""

    stdout: bytes
    stderr: bytes
    code: int

    @property
    def lines(self) -> list[dict[str, Any]]:
        """stdout as objects."""
        return [codec.loads(line) for line in self.stdout.splitlines()]


@dataclass
class Child:
    """A running program. Lines are gathered by threads, so neither pipe can block it."""

    process: subprocess.Popen[bytes]
    out: list[bytes] = field(default_factory=list)
    err: list[bytes] = field(default_factory=list)
    cursor: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)
    readers: list[threading.Thread] = field(default_factory=list)
    deadline: float = 0.0
    finished: bool = False

    def send(self, line: object) -> None:
        """One JSON line to stdin (bytes go as they are). A child that is gone already is not an error here."""
        data = line if isinstance(line, bytes) else codec.dumps(line) + b"\n"
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except OSError:
            pass

    def wait_for(self, *names: str) -> dict[str, Any]:
        """The next line, after the last one waited for, whose type, subtype, event type or request subtype is named."""
        with self.changed:
            while True:
                while self.cursor < len(self.out):
                    line = codec.loads(self.out[self.cursor])
                    self.cursor += 1
                    if names_of(line) & set(names):
                        return dict(line)
                if self.finished or time.monotonic() > self.deadline:
                    raise AssertionError(f"no line {' / '.join(names)} came; {self.transcript()}")
                self.changed.wait(0.05)

    def signal(self, name: str) -> None:
        """Send SIGINT, SIGTERM, …"""
        self.process.send_signal(getattr(signal, f"SIG{name}"))

    def close_input(self) -> None:
        """End of stdin."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
        except OSError:
            pass

    def end(self) -> Ended:
        """Close stdin, wait, collect."""
        self.close_input()
        try:
            code = self.process.wait(max(0.1, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the program did not end; {self.transcript()}") from None
        finally:
            self.kill()
        return Ended(b"".join(self.out), b"".join(self.err), code)

    def kill(self) -> None:
        """Make sure that it is gone and its pipes are read to the end."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.close_input()
        for reader in self.readers:
            reader.join(DEADLINE)

    def transcript(self) -> str:
        """The output so far, for failure messages."""
        out, err = (b"".join(lines).decode(errors="replace") for lines in (self.out, self.err))
        return f"stdout:\n{out}\nstderr:\n{err}"


def start(
    argv: Sequence[str],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    program: Sequence[str] = PROGRAM,
    deadline: float = DEADLINE,
) -> Child:
    """Start the program in a folder with exactly this environment (see `clean_environment`)."""
    process = subprocess.Popen(
        [*program, *argv], cwd=cwd, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    child = Child(process, deadline=time.monotonic() + deadline)
    for pipe, lines in ((process.stdout, child.out), (process.stderr, child.err)):
        reader = threading.Thread(target=_gather, args=(child, pipe, lines), daemon=True)
        reader.start()
        child.readers.append(reader)
    return child


def run(
    argv: Sequence[str],
    script: Iterable[dict[str, Any]],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    program: Sequence[str] = PROGRAM,
) -> Ended:
    """Play a script of stdin lines and cues to the program, to its end."""
    child = start(argv, cwd=cwd, env=env, program=program)
    try:
        play(child, script, cwd)
        return child.end()
    finally:
        child.kill()


def play(child: Child, script: Iterable[dict[str, Any]], cwd: str | os.PathLike[str] = "") -> None:
    """Lines are sent; `!after` waits for an output line, `!file` for a file in `cwd`, `!written` for its content,
    `!signal` sends one, `!raw` sends text as it is, `!eof` ends the input, `!sleep_ms` pauses. `{REQUEST_ID}` in a line
    is the request id of the line last waited for."""
    last: dict[str, Any] = {}
    for step in script:
        match step:
            case {"!after": str(name)}:
                last = child.wait_for(name)
            case {"!after": list(names)}:
                last = child.wait_for(*names)
            case {"!file": name}:
                wait_until(partial(os.path.exists, os.path.join(cwd, name)), f"the file {name}")
            case {"!written": name}:
                wait_until(partial(_has_content, os.path.join(cwd, name)), f"the content of the file {name}")
            case {"!signal": name}:
                child.signal(name)
            case {"!raw": text}:
                child.send(text.encode())
            case {"!eof": True}:
                child.close_input()
            case {"!sleep_ms": pause}:
                time.sleep(pause / 1000)
            case _:
                child.send(codec.dumps(step).replace(b"{REQUEST_ID}", str(last.get("request_id")).encode()) + b"\n")


def clean_environment(home: str | os.PathLike[str], **more: str) -> dict[str, str]:
    """An environment without keys or personal settings: only `home`, where everything may be written."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    home = os.fspath(home)
    own = {"HOME": home, "USERPROFILE": home, "CLAUDE_CONFIG_DIR": os.path.join(home, ".claude"), "TZ": "UTC"}
    own |= {"LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": home, "TEMP": home, "TMP": home}
    return kept | own | more


def _has_content(path: str) -> bool:
    return os.path.exists(path) and os.path.getsize(path) > 0


def names_of(line: Mapping[str, Any]) -> set[str]:
    """The names under which a cue finds a line."""
    inner = [line.get("event"), line.get("request"), line.get("response")]
    found = {line.get("type"), line.get("subtype")}
    for part in inner:
        if isinstance(part, dict):
            found |= {part.get("type"), part.get("subtype")}
    return {name for name in found if isinstance(name, str)}


def _gather(child: Child, pipe: Any, lines: list[bytes]) -> None:
    for line in pipe:
        with child.changed:
            lines.append(line)
            child.changed.notify_all()
    pipe.close()
    if lines is child.out:
        with child.changed:
            child.finished = True
            child.changed.notify_all()
