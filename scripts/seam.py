"""Finds what not every system has, outside the rooms of the systems: `check.py` runs it over the program.

Modules such as `fcntl`, functions such as `os.killpg`, signals such as SIGKILL, arguments such as `pass_fds`, and paths
such as `/dev/null` and `/bin/sh` belong into `system/posix`, `linux`, `macos` or `windows`. `getattr(os, "O_BINARY",
0)` works everywhere. Nor may processes be started elsewhere: on Windows they would be in no job, and could show a
window. Names built at run time are not seen; `missing_names` asks the Python that runs instead.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import chain

ROOMS = ("system/posix/", "system/linux/", "system/macos/", "system/windows/")
_MODULES = (
    "fcntl resource pwd grp spwd crypt nis termios tty pty readline curses ossaudiodev posix syslog select "
    "_posixsubprocess _posixshmem ctypes _ctypes msvcrt winreg winsound _winapi nt"
)
MODULES = frozenset(_MODULES.split())
_FAMILIES = (
    "CLD_",
    "EFD_",
    "F_LOCK",
    "F_TLOCK",
    "F_ULOCK",
    "MFD_",
    "POSIX_",
    "CLONE_",
    "EX_",
    "GRND_",
    "NGROUPS_",
    "PIDFD_",
    "PRIO_",
    "P_ALL",
    "P_PID",
    "P_PGID",
    "RWF_",
    "SEEK_DATA",
    "SEEK_HOLE",
    "RTLD_",
    "SCHED_",
    "SPLICE_",
    "ST_",
    "XATTR_",
    "sched_",
)
"""Names of `os` that begin so, except EX_OK."""
_OS = (
    "add_dll_directory chflags chown chroot confstr confstr_names copy_file_range ctermid environb eventfd "
    "eventfd_read eventfd_write fchdir fchmod fchown fdatasync fork forkpty fpathconf fstatvfs fwalk get_blocking "
    "get_handle_inheritable getegid getenvb geteuid getgid getgrouplist getgroups getloadavg getpgid getpgrp "
    "getpriority getrandom getresgid getresuid getsid getuid getxattr initgroups kill killpg lchmod lchown "
    "listxattr lockf login_tty major makedev memfd_create minor mkfifo mknod nice openpty pathconf pathconf_names "
    "pidfd_open pipe2 plock posix_fadvise posix_fallocate posix_spawn posix_spawnp pread preadv pwrite pwritev "
    "readv register_at_fork removexattr sendfile set_blocking set_handle_inheritable setegid seteuid setgid "
    "setgroups setns setpgid setpgrp setpriority setregid setresgid setresuid setreuid setsid setuid setxattr "
    "spawnlp spawnlpe spawnvp spawnvpe splice startfile statvfs sync sysconf sysconf_names tcgetpgrp tcsetpgrp "
    "ttyname uname unshare wait wait3 wait4 waitid waitid_result writev WCONTINUED WCOREDUMP WEXITED WEXITSTATUS "
    "WIFCONTINUED WIFEXITED WIFSIGNALED WIFSTOPPED WNOHANG WNOWAIT WSTOPPED WSTOPSIG WTERMSIG WUNTRACED O_ACCMODE "
    "O_ASYNC O_BINARY O_CLOEXEC O_DIRECT O_DIRECTORY O_DSYNC O_FSYNC O_LARGEFILE O_NDELAY O_NOATIME O_NOCTTY "
    "O_NOFOLLOW O_NOINHERIT O_NONBLOCK O_PATH O_RANDOM O_RSYNC O_SEQUENTIAL O_SHORT_LIVED O_SYNC O_TEMPORARY "
    "O_TEXT O_TMPFILE "
)
_NOT_ON_MACOS = (
    "waitid fdatasync pidfd_open memfd_create eventfd getxattr setxattr listxattr removexattr posix_fadvise "
    "posix_fallocate copy_file_range splice getrandom pipe2 getresuid getresgid setresuid setresgid preadv2 unshare "
    "setns sched_getaffinity sched_setaffinity O_PATH O_TMPFILE O_NOATIME O_DIRECT P_PIDFD prlimit RLIMIT_NICE "
    "RLIMIT_RTPRIO RLIMIT_SIGPENDING sigtimedwait sigwaitinfo SIGPWR SIGSTKFLT SIGPOLL epoll "
)
NOT_ON_MACOS = frozenset(_NOT_ON_MACOS.split())
"""What Python 3.11 lacks there: only `system/linux` may use it (`getattr(os, "O_PATH", 0)` works)."""
_SIGNALS = (
    "CTRL_BREAK_EVENT CTRL_C_EVENT ITIMER_PROF ITIMER_REAL ITIMER_VIRTUAL SIGALRM SIGBREAK SIGBUS SIGCHLD SIGCLD "
    "SIGCONT SIGHUP SIGIO SIGIOT SIGKILL SIGPIPE SIGPOLL SIGPROF SIGPWR SIGQUIT SIGRTMAX SIGRTMIN SIGSTKFLT "
    "SIGSTOP SIGSYS SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ "
    "alarm getitimer pause pidfd_send_signal pthread_kill pthread_sigmask setitimer siginterrupt sigpending "
    "sigtimedwait sigwait sigwaitinfo SIG_BLOCK SIG_SETMASK SIG_UNBLOCK "
)
_SUBPROCESS = "CREATE_NO_WINDOW CREATE_NEW_PROCESS_GROUP CREATE_NEW_CONSOLE DETACHED_PROCESS STARTUPINFO"
_STARTERS = (
    "execl execle execlp execlpe execv execve execvp execvpe popen spawnl spawnle spawnv spawnve system",
    "Popen call check_call check_output getoutput getstatusoutput run",
    "create_subprocess_exec create_subprocess_shell",
)
STARTERS = {
    module: frozenset(names.split()) for module, names in zip(("os", "subprocess", "asyncio"), _STARTERS, strict=True)
}
"""What starts a process outside every job."""
_SOCKET = (
    "AF_UNIX AF_NETLINK AF_PACKET AF_VSOCK SCM_RIGHTS SCM_CREDENTIALS send_fds recv_fds CMSG_LEN CMSG_SPACE "
    "MSG_CMSG_CLOEXEC MSG_DONTWAIT MSG_EOR MSG_MORE MSG_NOSIGNAL SOCK_CLOEXEC SOCK_NONBLOCK SO_BINDTODEVICE SO_DOMAIN "
    "SO_EXCLUSIVEADDRUSE SO_MARK SO_PASSCRED SO_PEERCRED SO_PRIORITY SO_PROTOCOL SO_REUSEPORT TCP_CORK "
    "TCP_DEFER_ACCEPT TCP_INFO TCP_QUICKACK TCP_USER_TIMEOUT fromshare sethostname"
)
NAMES = {
    "os": frozenset(_OS.split()),
    "signal": frozenset(_SIGNALS.split()),
    "subprocess": frozenset(_SUBPROCESS.split()),
    "socket": frozenset(_SOCKET.split()),
    "shutil": frozenset(("chown",)),
    "time": frozenset(("tzset", "clock_gettime", "clock_gettime_ns", "clock_settime", "clock_getres")),
    "asyncio": frozenset(("open_unix_connection", "start_unix_server", "ProactorEventLoop", "SelectorEventLoop")),
    "faulthandler": frozenset(("register", "unregister")),
    "locale": frozenset(("nl_langinfo", "CODESET", "LC_MESSAGES", "gettext")),
    "mmap": frozenset(("MAP_ANONYMOUS", "MAP_PRIVATE", "MAP_SHARED", "PROT_EXEC", "PROT_READ", "PROT_WRITE")),
    "multiprocessing": frozenset(("get_context", "set_start_method")),
}
NAMES |= {"_signal": NAMES["signal"], "_socket": NAMES["socket"]}
_ARGUMENTS = "start_new_session preexec_fn pass_fds process_group creationflags startupinfo"
ARGUMENTS = frozenset((*_ARGUMENTS.split(), "dir_fd", "src_dir_fd", "dst_dir_fd", "extra_groups", "pipesize"))
_METHODS = (
    "add_reader add_signal_handler add_writer create_unix_connection create_unix_server recvmsg recvmsg_into sendmsg"
)
METHODS = frozenset(_METHODS.split())
"""Methods of sockets and of asyncio's loops, whatever the object is called."""
_FOLDERS = (
    "dev proc sys bin sbin lib lib64 usr tmp var etc opt run root home mnt boot private System Users Volumes Library"
)
_PATH = re.compile(rf"/+(?:{_FOLDERS.replace(' ', '|')})(?:/|$)")
TEXTS = {
    "config/settings_files.py": "where each system has the settings of an organisation",
    "disk/foreign_paths.py": "where WSL mounts the drives of Windows",
    "disk/bounded.py": "what a shell puts into our arguments; other systems have no such file",
    "disk/wsl.py": "only WSL has it",
    "extensions/hooks/env_file.py": "the shell of Linux and macOS, beside that of Windows",
    "text/macos_paths.py": "only macOS has them",
    "tools/shell/sandbox.py": "bubblewrap is a program of Linux",
    "tools/shell/wall.py": "probes of Linux and macOS",
    "gate/paths.py": "where WSL mounts the drives of Windows",
    "gate/windows_words.py": "words of bash",
    "gate/command_calls.py": "words of bash",
    "gate/name_changes.py": "words of bash",
    "gate/read_only.py": "words of bash",
    "tools/shell/launches.py": "rules for the confinement of Linux and macOS",
    "tools/shell/shell_session.py": "words of bash",
    "tools/shell/unasked_environment.py": "git knows it on every system",
}
"""Files that may name such paths, and why."""
STARTS = {"tools/shell/wall.py": "tries whether bubblewrap works, on Linux"}
"""Files that may start a process themselves, and why."""


def foreign_calls(package: str) -> Iterator[str]:
    """`file:line: what` for each use outside the rooms."""
    for place, folders, files in os.walk(package):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            path = os.path.join(place, name)
            inside = os.path.relpath(path, package).replace(os.sep, "/")
            if not name.endswith(".py") or inside.startswith(("system/linux/", "system/windows/")):
                continue
            with open(path, encoding="utf-8") as file:
                text = file.read()
            found = linux_uses(text) if inside.startswith(ROOMS) else uses(text, texts=inside not in TEXTS)
            if not inside.startswith(ROOMS) and inside not in STARTS:
                found = chain(found, starts(text))
            yield from (f"{inside}:{use}" for use in found)


def linux_uses(text: str) -> Iterator[str]:
    """`line: what` for each use of something that macOS lacks."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Attribute(value=ast.Name(id="os" | "signal" | "resource" | "select" as module), attr=name):
                if name in NOT_ON_MACOS:
                    yield f"{node.lineno}: {module}.{name}"
            case ast.ImportFrom(module="os" | "signal" | "resource" | "select" as module, names=names):
                yield from (f"{node.lineno}: from {module} import {n.name}" for n in names if n.name in NOT_ON_MACOS)


def uses(text: str, *, texts: bool = True) -> Iterator[str]:
    """`line: what` for each use in a module. `texts`: also of paths."""
    tree = ast.parse(text)
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    plain: set[int] = set()
    """Mentions of modules from which a name is taken, which is checked itself."""
    for node in ast.walk(tree):
        for what in (*_imports(node), *_names(node, plain), *_detours(node, plain, imported)):
            yield f"{node.lineno}: {what}"  # type: ignore[attr-defined]
        if texts and isinstance(node, ast.Constant) and _PATH.match(_as_text(node.value)):
            yield f"{node.lineno}: {node.value!r}"


def starts(text: str) -> Iterator[str]:
    """`line: what` for each process that a module starts itself."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Attribute(value=base, attr=name)):
                if name in STARTERS.get(_module(base), ()):
                    yield f"{node.lineno}: {_module(base)}.{name}()"
            case ast.Call(func=ast.Name(id="Popen")):
                yield f"{node.lineno}: Popen()"
            case ast.ImportFrom(module="os" | "subprocess" | "asyncio" as module, names=names):
                for alias in names:
                    if alias.name in STARTERS[module] and (alias.name, alias.asname) != ("Popen", None):
                        yield f"{node.lineno}: from {module} import {alias.name}"


def missing_names(package: str) -> Iterator[str]:
    """`file:line: what` for each name of the standard library, used outside the rooms, that this Python lacks."""
    for place, _, files in os.walk(package):
        for name in sorted(files):
            path = os.path.join(place, name)
            inside = os.path.relpath(path, package).replace(os.sep, "/")
            if name.endswith(".py") and not inside.startswith(ROOMS):
                with open(path, encoding="utf-8") as file:
                    yield from (f"{inside}:{use}" for use in _missing(ast.parse(file.read())))


def _missing(tree: ast.Module) -> Iterator[str]:
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names if alias.asname is None and "." not in alias.name}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in imported:
                names = [name]
            case ast.ImportFrom(module=str(module), level=0, names=aliases):
                names = [alias.name for alias in aliases]
            case _:
                continue
        if module.split(".")[0] in sys.stdlib_module_names:
            try:
                have = import_module(module)
            except ImportError:
                yield f"{node.lineno}: {module}"
                continue
            lacks = (name for name in names if not hasattr(have, name) and name not in ("*", "_typeshed"))
            yield from (f"{node.lineno}: {module}.{name}" for name in lacks)


def _imports(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            for alias in names:
                if alias.name.split(".")[0] in MODULES or (
                    alias.name.split(".")[0] in NAMES and alias.asname not in (None, alias.name, f"_{alias.name}")
                ):
                    yield f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
        case ast.ImportFrom(module=str(module), names=names):
            for alias in names:
                renamed = alias.name in ("import_module", *NAMES) and alias.asname not in (None, alias.name)
                if module.split(".")[0] in MODULES or _is_foreign(module, alias.name) or renamed:
                    yield f"from {module} import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
        case ast.Call(
            func=ast.Name(id="__import__") | ast.Name(id="import_module") | ast.Attribute(attr="import_module")
        ):
            name = _constant([*node.args, *(key.value for key in node.keywords if key.arg == "name")])
            if name.split(".")[0] in MODULES:
                yield f"import {name}"


def _names(node: ast.AST, plain: set[int]) -> Iterator[str]:
    """Names of modules, arguments of functions."""
    match node:
        case ast.Attribute(value=base, attr=name) if (module := _module(base)) in NAMES:
            plain.add(id(base))
            if _is_foreign(module, name) or name in ("__dict__", "__getattribute__"):
                yield f"{module}.{name}"
        case ast.Call(func=ast.Name(id="getattr"), args=[base, name, *default]) if (module := _module(base)) in NAMES:
            plain.add(id(base))
            constant = isinstance(name, ast.Constant)
            if not default and (not constant or _is_foreign(module, _constant([name]))):
                yield f"{module}.{_constant([name]) or '?'}"
        case ast.Call(func=ast.Name(id="hasattr"), args=[ast.Name() as base, _]):
            plain.add(id(base))
        case ast.Attribute(value=ast.Attribute(attr="Signals") | ast.Name(id="Signals"), attr=name):
            if _is_foreign("signal", name):
                yield f"signal.{name}"
        case ast.Subscript(value=ast.Attribute(attr="Signals"), slice=ast.Constant(str(name))):
            if _is_foreign("signal", name):
                yield f"signal.{name}"
        case ast.Attribute(attr=name) if name in METHODS:
            yield f".{name}"
        case ast.Call(keywords=keywords):
            yield from (f"{key.arg}=" for key in keywords if key.arg in ARGUMENTS)


def _module(node: ast.AST) -> str:
    """The module that an expression is: `os`, `subprocess.os`, `sys.modules["os"]`, `__import__("os")`; "" if none."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=ast.Attribute(attr="modules"), slice=given):
            return _constant([given])
        case ast.Call(func=ast.Name(id="__import__") | ast.Attribute(attr="import_module"), args=given):
            return _constant(given)
    return ""


def _constant(given: list[ast.expr]) -> str:
    return given[0].value if given and isinstance(given[0], ast.Constant) and isinstance(given[0].value, str) else ""


def _detours(node: ast.AST, plain: set[int], imported: set[str]) -> Iterator[str]:
    """A module under another name, arguments in a dictionary."""
    match node:
        case ast.Name(id=module, ctx=ast.Load()) if module in NAMES and module in imported and id(node) not in plain:
            yield f"{module} under another name"
        case ast.Dict(keys=keys):
            names = (key.value for key in keys if isinstance(key, ast.Constant))
            yield from (f"{name}=" for name in names if isinstance(name, str) and name in ARGUMENTS)
        case ast.Subscript(slice=ast.Constant(str(name))) if name in ARGUMENTS:
            yield f"{name}="


def _as_text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value if isinstance(value, str) else ""


def _is_foreign(module: str, name: str) -> bool:
    known = NAMES.get(module, frozenset())
    return name in known or (module in NAMES and name == "*") or (module == "os" and _is_of_family(name))


def _is_of_family(name: str) -> bool:
    return name.startswith(_FAMILIES) and name != "EX_OK"
