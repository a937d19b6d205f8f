"""The rooms of the systems: what the interface promises, on the system that runs the test."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

import yume_shim.system.posix
import yume_shim.system.windows
from tests.helpers.timing import soon
from yume_shim.system import await_input, move_over, room_check, try_lock, write_if_room
from yume_shim.system.orphan_watcher import OrphanWatcher
from yume_shim.system.processes import await_exit, end_group, group_alive, start

if TYPE_CHECKING:
    from pathlib import Path

WINDOWS = sys.platform == "win32"
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; print('child', flush=True); time.sleep(60)"])
time.sleep(60)
"""


def test_both_rooms_have_the_same_interface() -> None:
    import yume_shim.system
    from yume_shim.system import posix, windows

    for name in yume_shim.system.__all__:
        assert hasattr(posix, name), name
        assert hasattr(windows, name), name


def test_a_group_ends_as_a_whole() -> None:
    process = start(
        [sys.executable, "-c", PARENT], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == b"child"
    assert group_alive(process.pid)
    with soon():
        end_group(process.pid)
        assert process.stdout.read() == b""  # the child held the pipe: it is gone too
        process.wait()
        while group_alive(process.pid):  # until the system has taken note of the child's end
            time.sleep(0.01)
    process.stdout.close()


@pytest.mark.skipif(WINDOWS, reason="a process is waited for otherwise there")
@pytest.mark.parametrize("lacks", [False, True])
def test_the_end_of_a_process_is_seen(lacks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 has no `os.waitid` on macOS."""
    from yume_shim.system.posix import processes

    if lacks:
        monkeypatch.setattr(processes, "_waitid", None)
    process = start(["/bin/sh", "-c", "read x; exit 3"], stdin=subprocess.PIPE)
    assert process.stdin is not None
    await_exit(process, 0.01)
    process.stdin.close()
    with soon():
        await_exit(process, 60)
        assert process.wait() == 3


def test_a_command_line_runs_in_the_shell_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ComSpec", "C:\\planted\\cmd.exe")
    monkeypatch.setenv("SHELL", "/planted/sh")
    process = start('echo "a b"&& echo c', shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    printed = process.communicate()[0].decode().replace('"', "").split()
    end_group(process.pid)
    assert (printed, process.returncode) == (["a", "b", "c"], 0)


@pytest.mark.skipif(not WINDOWS, reason="elsewhere a group is nothing that we hold")
def test_groups_that_have_ended_are_forgotten() -> None:
    from yume_shim.system.windows import processes

    waiting = start([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    for _ in range(3):
        process = start([sys.executable, "-c", "pass"], stdin=subprocess.DEVNULL)
        process.wait()
        with soon():
            while processes._jobs[process.pid].active():  # until the system has counted it out
                time.sleep(0.01)
    last = start([sys.executable, "-c", "pass"], stdin=subprocess.DEVNULL)
    assert set(processes._jobs) == {waiting.pid, last.pid}
    for process in (waiting, last):
        end_group(process.pid)
        process.communicate()


def test_nothing_outlives_us() -> None:
    """The program is killed; what it started has the pipe of our test, which closes."""
    code = (
        "import os, subprocess, sys\n"
        "from yume_shim.system.orphan_watcher import OrphanWatcher\n"
        "from yume_shim.system.processes import start\n"
        "watcher = OrphanWatcher(print)\nwatcher.pipe()\n"
        "p = start([sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(60)'], stdin=-3)\n"
        "watcher.add(p.pid)\nsys.stdin.readline()\nos._exit(3)\n"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert program.stdin is not None
    assert program.stdout is not None
    assert program.stdout.readline().strip() == b"1"
    with soon():
        program.stdin.close()
        assert program.stdout.read() == b""
    assert program.wait() == 3
    program.stdout.close()


def test_the_end_of_a_process_is_awaited() -> None:
    process = start([sys.executable, "-c", "pass"], stdin=subprocess.DEVNULL)
    with soon():
        await_exit(process, 60.0)
    assert process.wait() == 0
    end_group(process.pid)


def test_input_is_awaited() -> None:
    reader, writer = os.pipe()
    began = time.monotonic()
    assert not await_input(reader, 0.05)
    assert time.monotonic() - began >= 0.04
    os.write(writer, b"x")
    assert await_input(reader, 5.0)
    assert os.read(reader, 1) == b"x"
    os.close(writer)
    assert await_input(reader, 5.0)  # its end counts
    os.close(reader)


def test_a_pipe_that_nobody_reads_never_stops_us() -> None:
    reader, writer = os.pipe()
    line = b"x" * 3_999 + b"\n"
    with soon():
        sent = [write_if_room(writer, line) for _ in range(200)]
    assert sent[0]
    assert not all(sent)
    if not WINDOWS:
        assert not room_check(writer)(0.0)
        os.close(writer)
    os.close(reader)  # lets a thread that still writes go on


def test_a_lock_is_held_once(tmp_path: Path) -> None:
    handles = [os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2)]
    assert try_lock(handles[0], 100)
    assert not try_lock(handles[1], 100)
    os.close(handles[0])
    assert try_lock(handles[1], 100)
    os.close(handles[1])


@pytest.mark.parametrize(
    ("tag", "is_link"),
    [(0, False), (0xA000000C, True), (0xA0000003, True), (0xA000001D, True), (0x8000001B, False), (0x9000601A, False)],
    ids=["none", "symbolic link", "junction", "link of WSL", "program of the Store", "OneDrive"],
)
def test_every_kind_of_link_of_windows_is_known(tag: int, is_link: bool) -> None:
    from yume_shim.system.windows.paths import leads_on

    assert leads_on(SimpleNamespace(st_mode=0o100666, st_reparse_tag=tag)) is is_link  # type: ignore[arg-type]


def test_a_file_is_replaced_while_somebody_reads_it(tmp_path: Path) -> None:
    old, new = tmp_path / "f", tmp_path / "new"
    old.write_bytes(b"old")
    new.write_bytes(b"new")
    reader = old.open("rb")
    timer = threading.Timer(0.2, reader.close)
    timer.start()
    move_over(str(new), str(old))
    timer.join()
    assert (old.read_bytes(), new.exists()) == (b"new", False)


@pytest.mark.skipif(WINDOWS, reason="as on other systems")
def test_windows_tries_again_while_a_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with the answer that Windows gives."""
    tries = []
    real = os.replace

    def busy(old: str, new: str) -> None:
        tries.append(old)
        if len(tries) < 3:
            raise PermissionError(13, "in use")
        real(old, new)

    (tmp_path / "new").write_bytes(b"new")
    monkeypatch.setattr(os, "replace", busy)
    yume_shim.system.windows.move_over(str(tmp_path / "new"), str(tmp_path / "f"))
    assert (len(tries), (tmp_path / "f").read_bytes()) == (3, b"new")


def test_the_watcher_of_windows_does_nothing() -> None:
    from yume_shim.system.windows.orphan_watcher import OrphanWatcher as Nothing

    watcher = Nothing(lambda *_: None)
    watcher.add(1)
    watcher.remove(1)
    watcher.close()
    assert (watcher.pipe(), watcher.marked({"A": "b"})) == (-1, {"A": "b"})
    assert (OrphanWatcher.__module__ == Nothing.__module__) == WINDOWS
