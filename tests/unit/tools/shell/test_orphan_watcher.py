"""No process that we started outlives us, not even after SIGKILL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.helpers.timing import PATIENCE, SOON, soon, wait_until
from tests.helpers.tool_cases import ROOT, call, toolbox
from yume_shim.system.orphan_watcher import OrphanWatcher
from yume_shim.tools.dispatch.session_state import ToolState

if not Path("/proc/self/stat").exists():
    pytest.skip("what runs is read from /proc", allow_module_level=True)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="job objects end what outlives us there")

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


KILLED_AT_A_START = """
import os, signal, sys
from yume_shim.extensions.mcp.stdio import StdioChannel
from yume_shim.system.orphan_watcher import OrphanWatcher

class Watcher(OrphanWatcher):
    def add(self, group):
        os.kill(os.getpid(), signal.SIGKILL)

def nothing(*_): pass

StdioChannel(["sh", "-c", sys.argv[2]], sys.argv[1], os.environ, Watcher(nothing), nothing, nothing, nothing)
"""


HELPERS = """
import os, sys, threading
from tests.helpers.fakes import cancel
from yume_shim.config.key_helper import CommandKey
from yume_shim.telemetry.headers_helper import HeadersHelper
from yume_shim.types.models import Credential

def nothing(*_): pass

folder, stubborn = sys.argv[1:]
headers = HeadersHelper(stubborn, os.environ, folder, nothing, 60)
threading.Thread(target=headers, daemon=True).start()
CommandKey(stubborn, Credential("", "key", "apiKeyHelper"), 300, os.environ, folder, nothing).get(cancel())
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


def test_what_is_being_started_while_the_session_ends_is_ended_too() -> None:
    """A hook of an abandoned turn may start its process beside the end of the program."""
    watcher, begun, made = OrphanWatcher(lambda level, text: None), threading.Event(), []

    def start() -> None:
        with watcher.starting():
            begun.set()
            time.sleep(0.2)
            made.append(subprocess.Popen(["sleep", "300"], start_new_session=True))
            watcher.add(made[0].pid)

    starting = threading.Thread(target=start)
    starting.start()
    assert begun.wait(PATIENCE)
    watcher.close()
    starting.join()
    assert made[0].wait(PATIENCE) == -signal.SIGKILL
    with pytest.raises(OSError, match="has ended"), watcher.starting():
        pass


def test_what_takes_too_long_to_start_is_ended_when_it_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yume_shim.system.posix.orphan_watcher.START_WAIT_S", 0.0)
    watcher = OrphanWatcher(lambda level, text: None)
    assert watcher.pipe() >= 0
    with watcher.starting():
        watcher.close()
        process = subprocess.Popen(["sleep", "300"], start_new_session=True)
        watcher.add(process.pid)
    assert process.wait(PATIENCE) == -signal.SIGKILL
    watcher.close()  # now the watcher's process ends too


@pytest.mark.skipif(sys.platform != "linux", reason="the mark is read from /proc")
def test_a_server_that_is_started_in_our_last_moment_is_not_left_behind(tmp_path: Path) -> None:
    """It is not registered yet, and it ends neither with its input nor by a signal that it can ignore."""
    stubborn = "trap '' TERM HUP INT; setsid sleep 300 & sleep 300; sleep 300"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = subprocess.run([sys.executable, "-c", KILLED_AT_A_START, str(tmp_path), stubborn], env=env, check=False)
    assert program.returncode == -signal.SIGKILL
    wait_until(lambda: not processes_with(str(tmp_path)), "the end of all its processes", SOON)


def test_commands_for_keys_and_headers_do_not_outlive_a_kill(tmp_path: Path) -> None:
    stubborn = "trap '' TERM HUP INT; sleep 300 & sleep 300"
    program = subprocess.Popen([sys.executable, "-c", HELPERS, str(tmp_path), stubborn], cwd=ROOT)
    try:
        wait_until(lambda: list(processes_with(str(tmp_path)).values()).count("sleep 300 ") == 4, "both commands")
    finally:
        program.kill()
        program.wait()
    wait_until(lambda: not processes_with(str(tmp_path)), "the end of all their processes", SOON)


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("Bash", "sleep 300 & touch running; sleep 300"),
        ("background", "sleep 300 & touch running; sleep 300"),
        ("Bash", "trap '' TERM; (trap '' TERM; sleep 300; sleep 300) & touch running; sleep 300; sleep 300"),
        ("Bash", "setsid sleep 300 & touch running; sleep 300"),
        ("Grep", "^(a+)+$"),
    ],
    ids=["foreground", "background", "stubborn", "daemon", "search"],
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
            wait_until(lambda: len(processes_with(str(workspace))) >= 1, "the search process")
            # its group is listed before the threads that watch it are started
            wait_until(lambda: len(os.listdir(f"/proc/{program.pid}/task")) >= 3, "the threads of the search")
        else:
            wait_until((workspace / "running").exists, "the command")
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()
    wait_until(lambda: not processes_with(str(workspace)), "the end of all its processes", SOON)


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


def test_the_watcher_exits_when_the_toolbox_closes(tmp_path: Path) -> None:
    before = set(watchers_of(os.getpid()))
    tools = toolbox(tmp_path, tmp_path / "scratch")
    assert call(tools, "Bash", {"command": "jobs; echo done"}).content == "done"
    assert len(set(watchers_of(os.getpid())) - before) == 1
    with soon():
        tools.close()
    assert set(watchers_of(os.getpid())) - before == set()


def test_a_killed_watcher_is_replaced(tmp_path: Path) -> None:
    before = set(watchers_of(os.getpid()))
    tools = toolbox(tmp_path, tmp_path / "scratch")
    call(tools, "Bash", {"command": "true"})
    (first,) = set(watchers_of(os.getpid())) - before
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: first not in watchers_of(os.getpid()), "the end of the first watcher")
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


def test_a_removed_group_is_left_alone() -> None:
    """The system may have given its number to another process."""
    before = watchers_of(os.getpid())
    kept, let_go = (subprocess.Popen(["sleep", "60"], start_new_session=True) for _ in range(2))
    try:
        watcher = OrphanWatcher(lambda *_: None)
        assert watcher.pipe() >= 0
        for process in (kept, let_go):
            watcher.add(process.pid)
        watcher.remove(let_go.pid)
        del watcher
        assert kept.wait(PATIENCE) == -signal.SIGTERM
        wait_until(lambda: watchers_of(os.getpid()) == before, "the end of the watcher")
        assert let_go.poll() is None
    finally:
        for process in (kept, let_go):
            process.kill()
            process.wait()


def test_commands_do_not_hold_the_watchers_pipe(tmp_path: Path) -> None:
    state = ToolState(str(tmp_path), (), str(tmp_path / "scratch"), dict(os.environ), lambda *_: None)
    state.orphan_watcher.pipe()
    tools = toolbox(tmp_path, tmp_path / "scratch")
    listing = call(tools, "Bash", {"command": "ls -l /proc/$$/fd"}).content
    assert isinstance(listing, str)
    assert "/dev/null" in listing
    assert listing.count("pipe:") == 2  # stdout and stderr
    tools.close()
    state.close()
