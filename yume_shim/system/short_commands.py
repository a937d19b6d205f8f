"""Short commands of the user: started so that they do not outlive this program, read within limits of time and size."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping


@contextmanager
def running(command: str, cwd: str | None, env: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A command line whose stdout is read. If this program is killed meanwhile, a watcher ends its group. What has left
    the group lives on: keys come from agents that a command starts for days. Raises OSError."""
    import subprocess

    from yume_shim.system.orphan_watcher import REGISTER_GROUP, OrphanWatcher
    from yume_shim.system.processes import start
    from yume_shim.system.programs import NO_CURRENT_FOLDER

    watcher = OrphanWatcher(lambda _level, _text: None)  # without one the command runs all the same
    try:
        pipe = watcher.pipe()
        process = start(
            command if pipe < 0 else REGISTER_GROUP + command,
            shell=True,  # as the Claude CLI does: the setting is a command line
            cwd=cwd,
            env={**env, **NO_CURRENT_FOLDER},
            stdin=subprocess.DEVNULL if pipe < 0 else pipe,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        watcher.add(process.pid)
        yield process
        watcher.remove(process.pid)
    finally:
        watcher.close()  # after an exception this ends the group


def printed_by(process: subprocess.Popen[bytes], most: int, seconds: float) -> tuple[bytes, int | None]:
    """(what it prints on stdout, its exit code). Without a code it was ended with its group: it took too long, or, if
    the output has more than `most` bytes, it printed too much."""
    import subprocess

    from yume_shim.system.processes import end_group

    until = time.monotonic() + seconds
    printed: list[bytes] = []

    def read() -> None:
        assert process.stdout is not None
        with process.stdout as stdout:
            printed.append(stdout.read(most + 1))

    reader = threading.Thread(target=read, name="short-command", daemon=True)
    reader.start()
    reader.join(seconds)
    output = printed[0] if printed else b""
    if printed and len(output) <= most:
        try:
            return output, process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass  # it has closed its stdout, and goes on
    end_group(process.pid)
    process.wait()
    return output, None
