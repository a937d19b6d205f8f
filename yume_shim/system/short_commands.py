"""What a short command of the user prints, within limits of time and size."""

from __future__ import annotations

import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess


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
