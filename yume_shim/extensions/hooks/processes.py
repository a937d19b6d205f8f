"""Ends the processes of hooks: groups, and processes that have left their group but keep its mark."""

from __future__ import annotations

import os

MARK = "YUME_HOOK"
"""The variable in the environment of a hook's processes. One that starts a session of its own is found by it."""
MAX_ENVIRONMENT = 256 * 1024


def end_group(group: int) -> None:
    """Kill a process group, if it still runs."""
    import signal

    try:
        os.killpg(group, signal.SIGKILL)
    except (AttributeError, ProcessLookupError, PermissionError):
        pass


def end_marked(marks: set[str]) -> None:
    """Kill the processes with one of these marks. Linux only: elsewhere environments are not readable."""
    import signal

    for pid in _own_processes():
        if _mark_of(pid) in marks:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass


def _own_processes() -> list[int]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    return [int(name) for name in names if name.isdigit() and int(name) != os.getpid()]


def _mark_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            data = file.read(MAX_ENVIRONMENT)
    except OSError:  # it belongs to another user, or has ended
        return ""
    _, found, rest = (b"\0" + data).partition(b"\0" + MARK.encode() + b"=")
    return rest.partition(b"\0")[0].decode("ascii", "replace") if found else ""
