"""Linux and macOS: a process is started in a session and process group of its own, and ended with the whole group."""

from __future__ import annotations

import os
import sys
import time

if sys.platform == "linux":
    from yume_shim.system.linux.marked_processes import end_marked as end_marked
    from yume_shim.system.linux.marked_processes import marked as marked
else:
    from yume_shim.system.macos.processes import end_marked as end_marked
    from yume_shim.system.macos.processes import marked as marked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from subprocess import Popen
    from typing import Any

EXIT_POLL_S = 0.005
_waitid: Callable[..., object] | None = getattr(os, "waitid", None)
"""Python has it on macOS from 3.13 on."""


def start(argv: list[str] | str, *, handles: Iterable[int] = (), **options: Any) -> Popen[bytes]:
    """Start a process; its group has its number. `handles`: descriptors that it inherits. Raises OSError."""
    import subprocess

    process: Popen[Any] = subprocess.Popen(argv, start_new_session=True, pass_fds=tuple(handles), **options)
    return process


def signal_group(group: int, name: str) -> None:
    """Send a signal to every process of a group that is still there."""
    import signal

    try:
        os.killpg(group, getattr(signal, name))
    except (ProcessLookupError, PermissionError):
        pass


def end_group(group: int) -> None:
    """Kill a group, if it still runs."""
    signal_group(group, "SIGKILL")


def group_alive(group: int) -> bool:
    """Is any process of the group still there?"""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def process_exists(pid: int) -> bool:
    """Is there a process with this number?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True


def await_exit(process: Popen[bytes], seconds: float) -> None:
    """Wait for the end of a process, at most so long, without reaping it where that can be avoided: until it is reaped,
    nothing else can have its number."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not _has_ended(process):
        time.sleep(EXIT_POLL_S)


def _has_ended(process: Popen[bytes]) -> bool:
    if _waitid is None:
        return process.poll() is not None  # reaps it
    return _waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def hide_this_process() -> None:
    """From now on commands of the same user cannot read this process's environment, where keys are. Raises OSError."""
    if sys.platform == "linux":
        from yume_shim.system.linux.kernel import hide_process

        hide_process()
