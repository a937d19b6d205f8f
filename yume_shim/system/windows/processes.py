"""Windows: a process is started without a window and inside a job object, by which it is ended with its children."""

from __future__ import annotations

import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from subprocess import Popen
    from typing import Any

    from yume_shim.system.windows.jobs import Job

_SUSPENDED = 0x4
_QUERY, _STILL_ACTIVE = 0x1000, 259


def start(argv: list[str] | str, *, handles: Iterable[int] = (), shell: bool = False, **options: Any) -> Popen[bytes]:
    """Start a process that does not run before it is in its job. `handles` cannot be passed on. `shell`: cmd.exe of the
    system runs it, whatever the variable ComSpec names. Raises OSError."""
    if sys.platform != "win32":
        raise NotImplementedError
    import subprocess

    from yume_shim.system.windows.jobs import Job, resume

    if tuple(handles):
        raise OSError(0, "descriptors cannot be passed on")
    if shell:
        from yume_shim.system.windows.shell import system_root

        argv = f'"{system_root()}\\System32\\cmd.exe" /d /s /c "{argv}"'
    job = Job()
    flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP | _SUSPENDED
    try:
        process = subprocess.Popen(argv, creationflags=flags, **options)
    except BaseException:
        job.close()
        raise
    try:
        handle = int(process._handle)  # type: ignore[attr-defined,unused-ignore]  # the only place that has it
        job.add(handle)
        resume(handle)
    except BaseException:
        process.kill()
        process.wait()
        job.close()
        raise
    with _lock:
        over = [group for group, other in _jobs.items() if group == process.pid or not other.active()]
        gone = [_jobs.pop(group) for group in over]
        _jobs[process.pid] = job
    for other in gone:
        other.close()
    return process


def signal_group(group: int, name: str) -> None:
    """End a process with all its children; whatever the signal: a process without a console gets none."""
    del name
    with _lock:
        job = _jobs.get(group)
    if job is not None:
        job.end()


def end_group(group: int) -> None:
    """End what is left of a process and its children, and forget it."""
    with _lock:
        job = _jobs.pop(group, None)
    if job is not None:
        job.end()
        job.close()


def group_alive(group: int) -> bool:
    """Does the process, or one of its children, still run? Forgets the group if not."""
    with _lock:
        job = _jobs.get(group)
        if job is not None and job.active():
            return True
        _jobs.pop(group, None)
    if job is not None:
        job.close()
    return False


def process_exists(pid: int) -> bool:
    """Is there a process with this number?"""
    if sys.platform != "win32":
        raise NotImplementedError
    import _winapi

    try:
        handle = _winapi.OpenProcess(_QUERY, False, pid)
    except PermissionError:  # it belongs to another user
        return True
    except OSError:
        return False
    try:
        return _winapi.GetExitCodeProcess(handle) == _STILL_ACTIVE
    finally:
        _winapi.CloseHandle(handle)


def await_exit(process: Popen[bytes], seconds: float) -> None:
    """Wait for the end of the process itself, at most so long."""
    from subprocess import TimeoutExpired

    try:
        process.wait(seconds)
    except TimeoutExpired:
        pass


def marked(env: dict[str, str], _name: str, _mark: str) -> dict[str, str]:
    """The environment as it is: no process leaves its job."""
    return env


def end_marked(_name: str, _marks: set[str]) -> int:
    """Nothing: no process leaves its job."""
    return 0


def hide_this_process() -> None:
    """Nothing: programs of the same user can read the memory of each other here, whatever we do."""


_lock = threading.Lock()
_jobs: dict[int, Job] = {}
"""The job of each process that was started here and may still have children. The next start forgets those that are
empty: not every caller ends what it started, and the number of a process is given away again."""
