"""Nothing of ours runs on when we are gone, not even after SIGKILL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.tool_cases import ROOT, call, toolbox
from yume_shim.tools.dispatch.session_state import ToolState
from yume_shim.tools.shell.orphan_watcher import Keeper

if not Path("/proc/self/stat").exists():
    pytest.skip("what runs is read from /proc", allow_module_level=True)

PROMISE_S = 2.0
PROGRAM = """
import sys
from pathlib import Path
from tests.helpers.tool_cases import call, toolbox
folder = Path(sys.argv[1])
tools = toolbox(folder / "ws", folder / "scratch")
if sys.argv[2] == "background":
    call(tools, "Bash", {"command": sys.argv[3], "run_in_background": True})
    call(tools, "Bash", {"command": "sleep 300"})
else:
    call(tools, sys.argv[2], {"command" if sys.argv[2] == "Bash" else "pattern": sys.argv[3]})
"""


def processes_with(mark: str) -> dict[int, str]:
    """Living processes that have this in their command line or working directory."""
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            place = str((entry / "cwd").readlink())
        except OSError:
            continue
        if state != "Z" and (mark in command or mark in place):
            found[int(entry.name)] = command
    return found


def wait_until(what: object, seconds: float) -> bool:
    assert callable(what)
    deadline = time.monotonic() + seconds
    while not what():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("Bash", "sleep 300 & touch running; sleep 300"),
        ("background", "sleep 300 & touch running; sleep 300"),
        ("Bash", "trap '' TERM; (trap '' TERM; sleep 300; sleep 300) & touch running; sleep 300; sleep 300"),
        ("Grep", "^(a+)+$"),
    ],
    ids=["foreground", "background", "stubborn", "search"],
)
def test_a_killed_program_leaves_nothing(tmp_path: Path, how: str, text: str) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / "slow.txt").write_text("a" * 60 + "!\n")
    empty = tmp_path / "bin"
    empty.mkdir()
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    if how == "Grep":  # Python's matching takes for ever here; ripgrep's would not
        env["PATH"] = str(empty)
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path), how, text], env=env, start_new_session=True
    )
    try:
        if how == "Grep":
            assert wait_until(lambda: len(processes_with(str(workspace))) >= 1, 20)
            time.sleep(0.2)
        else:
            assert wait_until((workspace / "running").exists, 20)
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()
    gone = wait_until(lambda: not processes_with(str(workspace)), PROMISE_S)
    assert gone, processes_with(str(workspace))


def watchers_of(pid: int) -> list[int]:
    """Living watchers whose parent is this process."""
    found = []
    for number in processes_with("yume-watcher"):
        try:
            if Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1] == str(pid):
                found.append(number)
        except OSError:
            continue
    return found


def test_the_watcher_goes_when_the_toolbox_closes(tmp_path: Path) -> None:
    before = set(watchers_of(os.getpid()))
    tools = toolbox(tmp_path, tmp_path / "scratch")
    assert call(tools, "Bash", {"command": "jobs; echo done"}).content == "done"
    assert len(set(watchers_of(os.getpid())) - before) == 1
    began = time.monotonic()
    tools.close()
    assert (set(watchers_of(os.getpid())) - before, time.monotonic() - began < 1.0) == (set(), True)


def test_a_watcher_that_was_ended_is_replaced(tmp_path: Path) -> None:
    before = set(watchers_of(os.getpid()))
    tools = toolbox(tmp_path, tmp_path / "scratch")
    call(tools, "Bash", {"command": "true"})
    (first,) = set(watchers_of(os.getpid())) - before
    os.kill(first, signal.SIGKILL)
    assert wait_until(lambda: first not in watchers_of(os.getpid()), 2)
    assert call(tools, "Bash", {"command": "echo fine"}).content == "fine"
    assert len(set(watchers_of(os.getpid())) - before) == 1
    tools.close()


def test_one_watcher_serves_all_commands(tmp_path: Path) -> None:
    before = set(watchers_of(os.getpid()))
    tools = toolbox(tmp_path, tmp_path / "scratch")
    for _ in range(5):
        call(tools, "Bash", {"command": "true"})
        call(tools, "Grep", {"pattern": "x"})
    assert len(set(watchers_of(os.getpid())) - before) == 1
    tools.close()


def test_a_group_that_was_forgotten_is_left_alone() -> None:
    """Its number may belong to somebody else by then."""
    kept, let_go = (subprocess.Popen(["sleep", "60"], start_new_session=True) for _ in range(2))
    try:
        keeper = Keeper(lambda *_: None)
        assert keeper.pipe() >= 0
        for process in (kept, let_go):
            keeper.note(process.pid)
        keeper.forget(let_go.pid)
        del keeper
        assert kept.wait(5) == -signal.SIGTERM
        time.sleep(0.5)
        assert let_go.poll() is None
    finally:
        for process in (kept, let_go):
            process.kill()
            process.wait()


def test_commands_do_not_hold_the_watchers_pipe(tmp_path: Path) -> None:
    state = ToolState(str(tmp_path), (), str(tmp_path / "scratch"), dict(os.environ), lambda *_: None)
    state.keeper.pipe()
    tools = toolbox(tmp_path, tmp_path / "scratch")
    listing = call(tools, "Bash", {"command": "ls -l /proc/$$/fd"}).content
    assert isinstance(listing, str)
    assert "/dev/null" in listing
    assert listing.count("pipe:") == 2  # stdout and stderr
    tools.close()
    state.close()
