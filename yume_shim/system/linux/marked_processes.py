"""Finds and ends processes by a mark in their environment: those that left their process group (`setsid`) keep it.

A process that clears its environment and starts a session of its own outlives us.
"""

from __future__ import annotations

import os

MAX_ENVIRONMENT = 256 * 1024
"""Bytes of an environment that are searched; we put the mark first."""
ROUNDS = 4
"""A process may start another one while it is being ended: look again until none is found, at most this often."""


def marked(env: dict[str, str], name: str, mark: str) -> dict[str, str]:
    """The environment with the mark as its first variable."""
    return {name: mark, **{key: item for key, item in env.items() if key != name}}


def end_marked(name: str, marks: set[str]) -> int:
    """Kill the processes whose variable `name` is one of the marks; returns how many were found."""
    count = 0
    for _ in range(ROUNDS):
        found = [pid for pid in _processes() if _mark_of(pid, name) in marks]
        if not found:
            break
        count += len(found)
        for pid in found:
            _kill(pid)
    return count


def is_running(pid: int) -> bool:
    """False once a process has ended, even if no one has taken note of its end (a zombie)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (OSError, IndexError):
        return False


def _kill(pid: int) -> None:
    import signal

    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _processes() -> list[int]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    return [int(name) for name in names if name.isdigit() and int(name) != os.getpid()]


def _mark_of(pid: int, name: str) -> str | None:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            data = file.read(MAX_ENVIRONMENT)
    except OSError:  # it belongs to another user, or has ended
        return None
    _, found, rest = (b"\0" + data).partition(b"\0" + name.encode() + b"=")
    return rest.partition(b"\0")[0].decode("ascii", "replace") if found else None
