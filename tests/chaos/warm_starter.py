"""The process that forks: loads the program once, then starts a copy of itself as the program for every order.

An order is a line of JSON on the socket with the three standard descriptors of the new process. It answers with the
process id, and later with exit code and peak of memory. Started by `tests.chaos.launcher`.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from typing import Any

STANDARD = 3
PROGRAM = ("-c", "from yume_shim.cli.main import entry; entry()")
SDKS = ("anthropic", "openai", "google.genai")
ENDING = signal.SIGINT, signal.SIGHUP, signal.SIGTERM
NOT_LOADED = ("yume_shim.__main__",)
"""It starts the program."""


def main() -> None:
    """Serve orders until the socket is closed and all processes have ended."""
    link = socket.socket(fileno=int(sys.argv[1]))
    load(sdks=sys.argv[2:] == ["sdks"])
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    running: dict[int, int] = {}
    is_open = True
    while is_open or running:
        ready, _, _ = select.select([link.fileno(), woken] if is_open else [woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _reap(link, running, tell=is_open)
        if is_open and link.fileno() in ready:
            is_open = _take_orders(link, running)


def load(*, sdks: bool) -> None:
    """Import the program's modules, and the vendors' libraries if wanted."""
    import yume_shim

    for found in pkgutil.walk_packages(yume_shim.__path__, "yume_shim."):
        if found.name not in NOT_LOADED:
            with suppress(ImportError):  # it is for type checkers only, or for another system
                importlib.import_module(found.name)
    for name in SDKS if sdks else ():
        importlib.import_module(name)


def _take_orders(link: socket.socket, running: dict[int, int]) -> bool:
    data, fds, _, _ = socket.recv_fds(link, 1 << 20, STANDARD)
    if not data:
        return False
    while not data.endswith(b"\n"):
        data += link.recv(1 << 20)
    order = json.loads(data)
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # one that comes before the program has its dispositions waits
    pid = os.fork()
    if not pid:
        _become(order, fds)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    for fd in fds:
        os.close(fd)
    running[pid] = order["number"]
    _tell(link, {"number": order["number"], "pid": pid})
    return True


def _reap(link: socket.socket, running: dict[int, int], *, tell: bool) -> None:
    while running:
        pid, status, used = os.wait4(-1, os.WNOHANG)
        if not pid:
            return
        number = running.pop(pid)
        if tell:
            code = os.waitstatus_to_exitcode(status)
            _tell(link, {"number": number, "code": code, "peak_kb": used.ru_maxrss})


def _tell(link: socket.socket, message: dict[str, Any]) -> None:
    try:
        link.sendall(json.dumps(message).encode() + b"\n")
    except OSError:
        pass


def _become(order: dict[str, Any], fds: list[int]) -> None:
    """Turn this fork into the program; never returns."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, *ENDING):  # `nohup` ignores some of them
            signal.signal(number, signal.SIG_DFL)
        if not order["cold"]:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        for place, fd in enumerate(fds):
            os.dup2(fd, place)
        os.closerange(STANDARD, 256)
        for fd in order["closed"]:
            os.close(fd)
        os.chdir(order["cwd"])
        for name, limit in order["limits"].items():
            kind = getattr(resource, name)
            resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))
        if order["cold"]:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.execve(sys.executable, [sys.executable, *PROGRAM, *order["argv"]], order["env"])
        os.environ.clear()
        os.environ.update(order["env"])
        sys.argv = ["yume-shim", *order["argv"]]
        if order["clock"]:
            _let_jump(order["clock"])
        from yume_shim.cli.main import entry

        entry()
    except BaseException:  # as the interpreter reports it
        traceback.print_exc()
    finally:
        os._exit(1)


def _let_jump(jumps: list[float]) -> None:
    """From here on the time of day jumps; the monotonic clock goes on, as when an administrator sets the clock."""
    real, began = time.time, time.monotonic()

    def jumping() -> float:
        passed = int((time.monotonic() - began) * 4)
        return real() + jumps[min(passed, len(jumps) - 1)]

    time.time = jumping


if __name__ == "__main__":
    main()
