"""Job objects: a process with everything that it starts, which ends as a whole, and at the latest when we end.

A job ends its processes when its last handle is closed (kill on close). Windows closes our handles however we end.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BASIC_ACCOUNTING, _EXTENDED_LIMITS = 1, 9
_LIMIT_PROCESS_TIME, _LIMIT_PROCESS_MEMORY, _LIMIT_KILL_ON_CLOSE = 0x2, 0x100, 0x2000
_TIME_UNITS = 10_000_000
"""Windows counts 100 ns."""
ENDED_BY_US = 1
"""The exit code of processes that a job ends."""


class Job:
    """A job object. `close` ends what is in it, unless `keeps`."""

    def __init__(self, memory: int = 0, processor_seconds: int = 0) -> None:
        """Raises OSError."""
        self._kernel = _kernel32()
        self._handle = self._kernel.CreateJobObjectW(None, None)
        if not self._handle:
            raise _last_error()
        try:
            self._limit(memory, processor_seconds)
        except OSError:
            self.close()
            raise

    def add(self, process: int) -> None:
        """Put a process (its handle) and all that it will start into the job. Raises OSError."""
        if not self._kernel.AssignProcessToJobObject(self._handle, process):
            raise _last_error()

    def add_self(self) -> None:
        """Put this process into the job. Raises OSError."""
        self.add(self._kernel.GetCurrentProcess())

    def active(self) -> int:
        """How many of its processes run."""
        import ctypes

        facts = (ctypes.c_uint32 * 12)()  # JOBOBJECT_BASIC_ACCOUNTING_INFORMATION: four times, then four counts
        size = ctypes.sizeof(facts)
        if not self._handle or not self._kernel.QueryInformationJobObject(
            self._handle, _BASIC_ACCOUNTING, facts, size, None
        ):
            return 0
        return int(facts[10])

    def end(self) -> None:
        """End all of its processes at once."""
        if self._handle:
            self._kernel.TerminateJobObject(self._handle, ENDED_BY_US)

    def close(self) -> None:
        """End all of its processes, and forget it."""
        handle, self._handle = self._handle, None
        if handle:
            self._kernel.CloseHandle(handle)

    def _limit(self, memory: int, processor_seconds: int) -> None:
        import ctypes

        limits = _limits_type()()
        basic = limits.basic
        basic.flags = _LIMIT_KILL_ON_CLOSE
        if memory:
            basic.flags |= _LIMIT_PROCESS_MEMORY
            limits.process_memory = memory
        if processor_seconds:
            basic.flags |= _LIMIT_PROCESS_TIME
            basic.process_time = processor_seconds * _TIME_UNITS
        size = ctypes.sizeof(limits)
        if not self._kernel.SetInformationJobObject(self._handle, _EXTENDED_LIMITS, ctypes.byref(limits), size):
            raise _last_error()


def limit_this_process(memory: int, processor_seconds: int) -> None:
    """Limit this process for the rest of its life. Raises OSError."""
    job = Job(memory, processor_seconds)
    job.add_self()
    _own.append(job)  # its handle stays open


_own: list[Job] = []


def resume(process: int) -> None:
    """Let a process go on that was started suspended. Raises OSError."""
    if sys.platform != "win32":
        raise NotImplementedError
    import ctypes

    status = ctypes.WinDLL("ntdll").NtResumeProcess(ctypes.c_void_p(process))
    if status != 0:
        raise OSError(0, f"NtResumeProcess: {status & 0xFFFFFFFF:#x}")


def _limits_type() -> Any:
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""
    import ctypes

    class Basic(ctypes.Structure):
        _fields_ = (
            ("process_time", ctypes.c_int64),
            ("job_time", ctypes.c_int64),
            ("flags", ctypes.c_uint32),
            ("least_working_set", ctypes.c_size_t),
            ("most_working_set", ctypes.c_size_t),
            ("active_processes", ctypes.c_uint32),
            ("affinity", ctypes.c_size_t),
            ("priority_class", ctypes.c_uint32),
            ("scheduling_class", ctypes.c_uint32),
        )

    class Extended(ctypes.Structure):
        _fields_ = (
            ("basic", Basic),
            ("io_counters", ctypes.c_uint64 * 6),
            ("process_memory", ctypes.c_size_t),
            ("job_memory", ctypes.c_size_t),
            ("most_process_memory", ctypes.c_size_t),
            ("most_job_memory", ctypes.c_size_t),
        )

    return Extended


def _kernel32() -> Any:
    if sys.platform != "win32":
        raise NotImplementedError
    import ctypes

    kernel: Any = ctypes.WinDLL("kernel32", use_last_error=True)
    handle, number, pointer = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p
    kernel.CreateJobObjectW.restype = handle
    kernel.CreateJobObjectW.argtypes = (pointer, pointer)
    kernel.GetCurrentProcess.restype = handle
    kernel.AssignProcessToJobObject.argtypes = (handle, handle)
    kernel.TerminateJobObject.argtypes = (handle, number)
    kernel.QueryInformationJobObject.argtypes = (handle, ctypes.c_int, pointer, number, pointer)
    kernel.SetInformationJobObject.argtypes = (handle, ctypes.c_int, pointer, number)
    kernel.CloseHandle.argtypes = (handle,)
    return kernel


def _last_error() -> OSError:
    if sys.platform != "win32":
        raise NotImplementedError
    import ctypes

    return ctypes.WinError(ctypes.get_last_error())
