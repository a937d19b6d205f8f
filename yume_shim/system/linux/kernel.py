"""System calls that Python has no function for: Landlock, seccomp, prctl. Loaded when the first command is confined.

Everything here acts on the calling thread only, and on what that thread starts later.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

from yume_shim.system.linux.seccomp_filter import MACHINES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.system.linux.seccomp_filter import Machine

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_RULE_PATH_BENEATH = 1
_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 4, 22, 24, 38
_LAST_CAPABILITY = 63
KEPT_CAPABILITIES = (0, 1, 2, 3)
"""Root's rights over files of other users (CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER): without them root could read
less than an ordinary user."""
_SECCOMP_MODE_FILTER = 2

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = 0x1, 0x2, 0x4, 0x8, 0x10, 0x20
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = (
    0x40,
    0x80,
    0x100,
    0x200,
    0x400,
    0x800,
    0x1000,
)
REFER, TRUNCATE, IOCTL_DEV = 0x2000, 0x4000, 0x8000
_REFER_ABI, _TRUNCATE_ABI, _NET_ABI, _IOCTL_ABI, _SCOPE_ABI = 2, 3, 4, 5, 6
_BIND_AND_CONNECT = 0x3
_SOCKETS_AND_SIGNALS = 0x3
CHANGES = (
    WRITE_FILE
    | REMOVE_DIR
    | REMOVE_FILE
    | MAKE_CHAR
    | MAKE_DIR
    | MAKE_REG
    | MAKE_SOCK
    | MAKE_FIFO
    | MAKE_BLOCK
    | MAKE_SYM
)
"""Every right to change files that the first Landlock knew."""
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""The rights that a rule for a single file may grant."""


def machine() -> Machine | None:
    """The architecture, if its system call numbers are known here."""
    return MACHINES.get(os.uname().machine) if sys.maxsize > 1 << 32 and sys.byteorder == "little" else None


def landlock_abi() -> int:
    """The version of Landlock; 0 if there is none."""
    return max(0, _call(_CREATE_RULESET, None, 0, 1, may_fail=True))


def change_rights(abi: int) -> int:
    """The rights to change files that this version can refuse."""
    rights = CHANGES
    for since, right in ((_REFER_ABI, REFER), (_TRUNCATE_ABI, TRUNCATE), (_IOCTL_ABI, IOCTL_DEV)):
        rights |= right if abi >= since else 0
    return rights


def sees_truncation(abi: int) -> bool:
    return abi >= _TRUNCATE_ABI


class Ruleset:
    """A Landlock ruleset: refuses the handled rights except where a rule grants them, all TCP, and signals and abstract
    sockets to processes outside, as far as this version can."""

    def __init__(self, abi: int, handled: int) -> None:
        self._handled = handled
        attributes = struct.pack(
            "=QQQ",
            handled,
            _BIND_AND_CONNECT if abi >= _NET_ABI else 0,
            _SOCKETS_AND_SIGNALS if abi >= _SCOPE_ABI else 0,
        )
        size = 24 if abi >= _SCOPE_ABI else 16 if abi >= _NET_ABI else 8
        self._handle = _call(_CREATE_RULESET, attributes, size, 0)

    def grant(self, path: str, rights: int) -> bool:
        """Grant rights below a path; False if there is no such path. A link is not followed."""
        try:
            target = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return False
        try:
            _call(_ADD_RULE, self._handle, _RULE_PATH_BENEATH, struct.pack("=Qi", rights & self._handled, target), 0)
        finally:
            os.close(target)
        return True

    def restrict_thread(self) -> None:
        """From here on the calling thread and what it starts are restricted, for good. Raises OSError."""
        no_new_privileges()
        _call(_RESTRICT_SELF, self._handle, 0)

    def close(self) -> None:
        os.close(self._handle)


def filter_thread(program: bytes) -> None:
    """Install a seccomp filter on the calling thread. Raises OSError."""
    no_new_privileges()
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("=H6xQ", len(program) // 8, ctypes.addressof(code))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header)


def no_new_privileges() -> None:
    """Set-user-id programs gain nothing any more; both mechanisms demand it."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0)


def drop_capabilities() -> None:
    """What the calling thread starts as root gets none of root's powers but those over files: some of them pass
    Landlock (with CAP_PERFMON a process may read the environment of any other)."""
    if os.geteuid() != 0:
        return
    for number in range(_LAST_CAPABILITY + 1):
        if number not in KEPT_CAPABILITIES:
            try:
                _prctl(_PR_CAPBSET_DROP, number, 0)
            except OSError:  # no such capability (they are numbered without gaps), or it may not be dropped
                break


def hide_process() -> None:
    """Commands of the same user can no longer read this process's memory and environment (`/proc/PID/environ`)."""
    _prctl(_PR_SET_DUMPABLE, 0, 0)


def _libc() -> ctypes.CDLL:
    if not _loaded:
        _loaded.append(ctypes.CDLL(None, use_errno=True))
    return _loaded[0]


_loaded: list[ctypes.CDLL] = []
"""The C library, once it was needed: this module can be imported on every system."""


def _call(number: int, *arguments: int | bytes | None, may_fail: bool = False) -> int:
    passed = [ctypes.c_long(given) if isinstance(given, int) else given for given in arguments]
    found = int(_libc().syscall(ctypes.c_long(number), *passed))
    if found < 0 and not may_fail:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def _prctl(option: int, first: int, second: int | bytes) -> None:
    last = ctypes.c_ulong(second) if isinstance(second, int) else second
    if _libc().prctl(ctypes.c_int(option), ctypes.c_ulong(first), last, ctypes.c_ulong(0), ctypes.c_ulong(0)) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
