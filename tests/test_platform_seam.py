"""What not every system has is used in the rooms of the systems only: the program can be imported without all of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import seam

import yume_shim

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(yume_shim.__file__).parent
NOT_IMPORTED = ("__main__.py", "types/ports.py")
"""It would run the program; it is for type checkers only."""
WITHOUT = """
import click, http.server, importlib, os, select, shutil, signal, subprocess, sys
modules, os_names, signal_names, families, names = {given!r}
for name in os_names:
    if hasattr(os, name):
        delattr(os, name)
for name in [name for name in dir(os) if name.startswith(families)]:
    delattr(os, name)
for name in signal_names:
    if hasattr(signal, name):
        delattr(signal, name)
for name in ("poll", "epoll", "kqueue"):  # Windows has `select`, for sockets
    if hasattr(select, name):
        delattr(select, name)
for name in modules:
    sys.modules[name] = None
sys.platform = {platform!r}
for name in names:
    importlib.import_module(name)
print(len(names), "system rooms:", *sorted(n.removeprefix("yume_shim.system.") for n in sys.modules if n in {rooms!r}))
"""
"""What needs them and is not ours, such as `subprocess` and `click`, is loaded before they go."""


def modules(*, with_rooms: bool) -> Iterator[str]:
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE).as_posix()
        if inside not in NOT_IMPORTED and (with_rooms or not inside.startswith(seam.ROOMS)):
            yield ".".join(("yume_shim", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def imported(names: list[str], platform: str) -> str:
    """Import the modules in a process that has nothing which only some systems have."""
    kept = {"ctypes", "_ctypes", "posix", "nt", "select"}  # Python itself, and packages such as click, use them
    given = (sorted(seam.MODULES - kept), sorted(seam.NAMES["os"]), sorted(seam.NAMES["signal"]), seam._FAMILIES, names)
    rooms = {f"yume_shim.system.{name}" for name in ("posix", "windows")}
    code = WITHOUT.format(given=given, platform=platform, rooms=rooms)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_module_can_be_imported_without_what_not_every_system_has() -> None:
    names = list(modules(with_rooms=True))
    assert imported(names, sys.platform).startswith(f"{len(names)} ")


def test_windows_loads_its_own_room_only() -> None:
    names = list(modules(with_rooms=False))
    assert imported(names, "win32") == f"{len(names)} system rooms: windows"


def test_nothing_of_one_system_is_used_outside_its_room() -> None:
    assert list(seam.foreign_calls(str(PACKAGE))) == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import fcntl", ["1: import fcntl"]),
        ("def f():\n    from resource import RLIMIT_AS", ["2: from resource import RLIMIT_AS"]),
        ("from os import killpg, path", ["1: from os import killpg"]),
        ("os.posix_spawn('x', [], {})", ["1: os.posix_spawn"]),
        ("os.open('x', os.O_RDONLY | os.O_NOFOLLOW)", ["1: os.O_NOFOLLOW"]),
        ("signal.signal(signal.SIGTERM, f); signal.SIGKILL", ["1: signal.SIGKILL"]),
        ("Popen(a, start_new_session=True, pass_fds=b)", ["1: start_new_session=", "1: pass_fds="]),
        ("open('/proc/self/stat')", ["1: '/proc/self/stat'"]),
        ("a = '/dev/null'", ["1: '/dev/null'"]),
        ("run(['/bin/sh', '-c']); '/usr/bin:/bin'", ["1: '/bin/sh'", "1: '/usr/bin:/bin'"]),
        ("os.path.join('/tmp', x); '/tmpfile'; '/users'", ["1: '/tmp'"]),
        ("getattr(os, 'O_BINARY', 0); os.kill(1, 2)", ["1: os.kill"]),
        ("import os as o, signal as _signal; _signal.SIGKILL", ["1: import os as o", "1: _signal.SIGKILL"]),
        ("from os import *; getattr(os, 'fork')(); o.fork()", ["1: from os import *", "1: os.fork"]),
        ("import os; o = os; vars(os); os.__dict__", ["1: os under another name"] * 2 + ["1: os.__dict__"]),
        ("__import__('fcntl'); importlib.import_module('termios')", ["1: import fcntl", "1: import termios"]),
        ("f(**{'pass_fds': x}); o['preexec_fn'] = y", ["1: pass_fds=", "1: preexec_fn="]),
        ("signal.Signals.SIGHUP; signal.Signals['SIGKILL']", ["1: signal.SIGHUP", "1: signal.SIGKILL"]),
        ("open(b'/dev/null'); f'/proc/{x}'; '/var/run'", ["1: b'/dev/null'", "1: '/proc/'", "1: '/var/run'"]),
        ("socket.send_fds(a, b, c); shutil.chown(x)", ["1: socket.send_fds", "1: shutil.chown"]),
        ("import selectors, socket; os.devnull; '/development'; os.EX_OK", []),
        ("subprocess.os.fork(); sys.modules['os'].getuid()", ["1: os.fork", "1: os.getuid"]),
        ("from signal import Signals; Signals.SIGKILL; os.EX_USAGE", ["1: os.EX_USAGE", "1: signal.SIGKILL"]),
        ("import_module(name='fcntl'); getattr(os, x)()", ["1: import fcntl", "1: os.?"]),
        ("from importlib import import_module as f", ["1: from importlib import import_module as f"]),
        ("import os.path as p; os.__getattribute__", ["1: import os.path as p", "1: os.__getattribute__"]),
        ("s.recvmsg(1); loop.add_reader(f, g); '//proc/1'", ["1: '//proc/1'", "1: .add_reader", "1: .recvmsg"]),
        ("mmap.MAP_SHARED; socket.SO_PEERCRED", ["1: mmap.MAP_SHARED", "1: socket.SO_PEERCRED"]),
    ],
)
def test_the_check_finds_it(code: str, found: list[str]) -> None:
    assert sorted(seam.uses(code)) == sorted(found)


def test_processes_are_started_in_the_rooms_only() -> None:
    code = "subprocess.run([]); os.system(x); Popen(a)\nfrom subprocess import Popen, check_output; start(a); x: Popen"
    found = ["1: Popen()", "1: os.system()", "1: subprocess.run()", "2: from subprocess import check_output"]
    assert sorted(seam.starts(code)) == found


def test_this_python_has_every_name_that_is_used(tmp_path: Path) -> None:
    """On Windows this finds what the lists of the check do not know."""
    assert list(seam.missing_names(str(PACKAGE))) == []
    (tmp_path / "x.py").write_text("import errno, os\nos.nothing()\nfrom errno import ENOTHING\nerrno.EINVAL\n")
    assert sorted(seam.missing_names(str(tmp_path))) == ["x.py:2: os.nothing", "x.py:3: errno.ENOTHING"]


def test_what_macos_lacks_is_used_on_linux_only() -> None:
    code = (
        "os.waitid(os.P_PID, 1, 0)\nfrom os import fdatasync\nsignal.sigtimedwait(x, 1); os.kill(1, 2)\nselect.poll()"
    )
    assert list(seam.linux_uses(code)) == ["2: from os import fdatasync", "1: os.waitid", "3: signal.sigtimedwait"]
    assert list(seam.linux_uses("getattr(os, 'O_PATH', 0); os.killpg(1, 2)")) == []
    if sys.platform == "linux":
        known = {name for module in ("os", "signal", "select") for name in dir(__import__(module))}
        assert len(seam.NOT_ON_MACOS & known) > 30


def test_each_named_file_still_needs_its_exception() -> None:
    for name in seam.TEXTS:
        assert list(seam.uses((PACKAGE / name).read_text("utf-8"))), f"{name} names no such path any more"


def test_the_lists_know_this_system() -> None:
    """Names that this system has and Windows lacks are in the lists (on Windows: the other way round)."""
    some = {"killpg", "set_blocking", "fchmod", "getuid"} if os.name == "posix" else {"startfile", "O_BINARY"}
    assert some <= set(dir(os)) & seam.NAMES["os"]
    assert ("SIGKILL" if os.name == "posix" else "SIGBREAK") in set(dir(signal)) & seam.NAMES["signal"]
