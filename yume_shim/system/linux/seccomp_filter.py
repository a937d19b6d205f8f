"""Builds the seccomp filter of confined commands: a classic BPF program as bytes. Pure; needs no Linux.

Landlock and mounts confine files. The filter closes what they leave open: sockets, changes of modes, owners, times and
attributes, other processes' memory, io_uring (whose requests no filter sees), keys, System V memory, clocks, mounts.
Anything not listed is allowed, but system calls newer than this table do not exist for the command.
"""

from __future__ import annotations

import struct

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

EPERM, EACCES, ENOSYS = 1, 13, 38
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
LAST_KNOWN = 470
"""The highest system call number in the tables; higher ones get ENOSYS."""
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _JUMP_EQUAL, _JUMP_ABOVE, _JUMP_BITS, _AND, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x54, 0x06
_NR, _ARCH, _ARGS = 0, 4, 16
_NEW_NAMESPACES = 0x7E020000
_O_TRUNC, _O_ACCMODE = 0o1000, 0o3
_SOCK_STREAM, _SOCK_SEQPACKET = 1, 5
_FILE_IOCTLS = (
    0x40086602,  # FS_IOC_SETFLAGS: chattr, which needs no descriptor for writing
    0x40046602,  # its 32-bit form
    0x401C5820,  # FS_IOC_FSSETXATTR
    0x40087602,  # FS_IOC_SETVERSION
    0xC0045877,  # FIFREEZE
    0xC0045878,  # FITHAW
)
_TERMINAL_IOCTLS = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: type into a terminal


class Machine(Value):
    """An architecture: its AUDIT_ARCH number and which column of the tables it has."""

    arch: int
    column: int


MACHINES: Mapping[str, Machine] = {"x86_64": Machine(0xC000003E, 0), "aarch64": Machine(0xC00000B7, 1)}

NEVER: Mapping[str, tuple[int, int]] = {
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # keys of the user's session
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # the kernel itself
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "fanotify_init": (300, 262),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "iopl": (172, -1),
    "ioperm": (173, -1),
    "vhangup": (153, 58),
    # mounts, roots and namespaces
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "setns": (308, 268),
    "unshare": (272, 97),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    # memory and queues that outlive the command
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
}
MISSING: Mapping[str, tuple[int, int]] = {
    # io_uring could open sockets past this filter; clone3 hides its flags in memory (libraries fall back to clone)
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "clone3": (435, 435),
}
METADATA: Mapping[str, tuple[int, int]] = {
    "chmod": (90, -1),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, -1),
    "fchown": (93, 55),
    "lchown": (94, -1),
    "fchownat": (260, 54),
    "utime": (132, -1),
    "utimes": (235, -1),
    "utimensat": (280, 88),
    "futimesat": (261, -1),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
}
"""Changes of files that Landlock does not see."""
_SOCKET, _SOCKETPAIR, _CLONE, _IOCTL, _PRLIMIT, _PRIORITY = (
    (41, 198),
    (53, 199),
    (56, 220),
    (16, 29),
    (302, 261),
    (141, 140),
)
_OPEN, _OPENAT, _OPENAT2, _TRUNCATE = (2, -1), (257, 56), (437, 437), (76, 45)


class Closed(Value):
    """What a filter closes besides `NEVER` and `MISSING`. `families`: the socket families that stay. `metadata`: modes,
    owners, times, attributes. `truncation`: for kernels whose Landlock does not see it."""

    families: tuple[int, ...] = ()
    metadata: bool = True
    truncation: bool = False


def build(machine: Machine, closed: Closed) -> bytes:
    """The program, as `struct sock_filter` after `struct sock_filter`."""
    made = _Program(machine.column)
    made.add(_LOAD, _ARCH)
    made.add(_JUMP_EQUAL, machine.arch, 1, 0)
    made.refuse(EPERM)  # a program of another architecture has other numbers
    made.add(_LOAD, _NR)
    made.add(_JUMP_ABOVE, LAST_KNOWN, 0, 1)  # includes the x32 numbers
    made.refuse(ENOSYS)
    for numbers in NEVER.values():
        made.refuse_call(numbers, EPERM)
    for numbers in MISSING.values():
        made.refuse_call(numbers, ENOSYS)
    for numbers in METADATA.values() if closed.metadata else ():
        made.refuse_call(numbers, EPERM)
    made.unless_equal(_SOCKET, 0, closed.families, EACCES)
    made.unless_equal(_SOCKETPAIR, 1, (_SOCK_STREAM, _SOCK_SEQPACKET), EACCES, mask=0xF)
    made.unless_equal(_PRLIMIT, 0, (0,), EPERM)
    made.unless_equal(_PRIORITY, 1, (0,), EPERM)
    made.if_bits(_CLONE, 0, _NEW_NAMESPACES, EPERM)
    made.if_equal(_IOCTL, 1, (*_FILE_IOCTLS, *_TERMINAL_IOCTLS) if closed.metadata else _TERMINAL_IOCTLS, EPERM)
    if closed.truncation:
        made.refuse_call(_TRUNCATE, EPERM)
        made.refuse_call(_OPENAT2, ENOSYS)
        made.if_equal(_OPEN, 1, (_O_TRUNC,), EACCES, mask=_O_TRUNC | _O_ACCMODE)
        made.if_equal(_OPENAT, 2, (_O_TRUNC,), EACCES, mask=_O_TRUNC | _O_ACCMODE)
    made.add(_RETURN, _ALLOW)
    return made.code


class _Program:
    """A program while it is written. The accumulator holds the system call's number between its parts."""

    def __init__(self, column: int) -> None:
        self.code = b""
        self._column = column

    def add(self, code: int, operand: int, if_true: int = 0, if_false: int = 0) -> None:
        self.code += struct.pack("=HBBI", code, if_true, if_false, operand)

    def refuse(self, errno: int) -> None:
        self.add(_RETURN, _ERRNO | errno)

    def refuse_call(self, numbers: tuple[int, int], errno: int) -> None:
        if numbers[self._column] >= 0:
            self.add(_JUMP_EQUAL, numbers[self._column], 0, 1)
            self.refuse(errno)

    def unless_equal(
        self, numbers: tuple[int, int], argument: int, allowed: tuple[int, ...], errno: int, mask: int = 0xFFFFFFFF
    ) -> None:
        """Refuse the call unless its argument has one of these values."""
        body = _Program(self._column)
        body.load(argument, mask)
        for place, known in enumerate(allowed):
            body.add(_JUMP_EQUAL, known, len(allowed) - place, 0)
        body.refuse(errno)
        self._when(numbers, body)

    def if_equal(
        self, numbers: tuple[int, int], argument: int, refused: tuple[int, ...], errno: int, mask: int = 0xFFFFFFFF
    ) -> None:
        """Refuse the call if its argument has one of these values."""
        body = _Program(self._column)
        body.load(argument, mask)
        for known in refused:
            body.add(_JUMP_EQUAL, known, 0, 1)
            body.refuse(errno)
        self._when(numbers, body)

    def if_bits(self, numbers: tuple[int, int], argument: int, bits: int, errno: int) -> None:
        """Refuse the call if its argument has any of these bits."""
        body = _Program(self._column)
        body.load(argument, 0xFFFFFFFF)
        body.add(_JUMP_BITS, bits, 0, 1)
        body.refuse(errno)
        self._when(numbers, body)

    def load(self, argument: int, mask: int) -> None:
        """The low half of an argument (both architectures are little endian)."""
        self.add(_LOAD, _ARGS + 8 * argument)
        if mask != 0xFFFFFFFF:
            self.add(_AND, mask)

    def _when(self, numbers: tuple[int, int], body: _Program) -> None:
        if numbers[self._column] < 0:
            return
        body.add(_RETURN, _ALLOW)
        self.add(_JUMP_EQUAL, numbers[self._column], 0, len(body.code) // 8)
        self.code += body.code
