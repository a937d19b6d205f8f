"""Bash in a sandbox: if the settings request one, nothing runs without it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import cancel
from tests.helpers.timing import SOON, set_when, soon, wait_until
from tests.helpers.tool_cases import call, toolbox
from yume_shim.tools.shell.sandbox import GUARDED, sandbox_argv, wrapper
from yume_shim.types.errors import Cancelled, ToolFailed

if TYPE_CHECKING:
    from pathlib import Path

LINUX = sys.platform.startswith("linux")


@pytest.mark.skipif(os.sep != "/", reason="POSIX paths")
@pytest.mark.parametrize("network", [True, False])
def test_argv(network: bool) -> None:
    made = sandbox_argv("/bin/bwrap", ["sh", "-c", "x"], "/ws/sub", ("/tmp", "/ws", "/more"), "/s/cwd.txt", network)
    assert made == [
        *("/bin/bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "--unshare-ipc"),
        *(() if network else ("--unshare-net",)),
        *("--bind-try", "/tmp", "/tmp", "--bind-try", "/ws", "/ws", "--bind-try", "/more", "/more"),
        *(word for top in ("/ws", "/more") for name in GUARDED for word in ("--ro-bind-try", *[f"{top}/{name}"] * 2)),
        *("--bind", "/s/cwd.txt", "/s/cwd.txt", "--chdir", "/ws/sub", "--", "sh", "-c", "x"),
    ]


def test_no_note_no_bind() -> None:
    made = sandbox_argv("bwrap", ["x"], "/ws", ("/tmp", "/ws"), "/dev/null", True)
    assert "/dev/null" not in made


def test_a_sandbox_that_is_not_available_runs_nothing(tmp_path: Path) -> None:
    words = r"Install the package `bubblewrap`" if LINUX else "exists on Linux only"
    with pytest.raises(ToolFailed, match=rf"^Nothing was run: .*{words}"):
        wrapper("workspace", (str(tmp_path),), {"PATH": str(tmp_path)}, places=str(tmp_path))


def test_an_unknown_sandbox_runs_nothing(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch", sandbox="castle")
    for more in ({}, {"run_in_background": True}, {"dangerouslyDisableSandbox": True}):
        with pytest.raises(ToolFailed, match=r"^Nothing was run: unknown sandbox 'castle'"):
            call(tools, "Bash", {"command": "touch ran", **more})
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def place() -> Path:
    """A folder outside the temporary one, which a sandbox may write."""
    import tempfile
    from pathlib import Path

    return Path(tempfile.mkdtemp(prefix="yume-sandbox-", dir="/var/tmp"))


@pytest.mark.bubblewrap
@pytest.mark.parametrize("mode", ["workspace", "workspace-nonet"])
def test_only_the_workspace_is_writable(place: Path, mode: str) -> None:
    try:
        workspace = place / "ws"
        (workspace / ".git" / "hooks").mkdir(parents=True)
        tools = toolbox(workspace, place / "scratch", sandbox=mode)
        command = f"touch inside; touch {place}/out; touch .git/hooks/x; touch .git/index; mkdir sub; cd sub; true"
        said = call(tools, "Bash", {"command": command}).content
        assert isinstance(said, str)
        assert said.count("Read-only file system") == 2
        assert call(tools, "Bash", {"command": "pwd"}).content == str(workspace / "sub")
        assert (os.path.exists(place / "out"), os.listdir(workspace / ".git" / "hooks")) == (False, [])
        assert (workspace / "inside").exists()
        assert (workspace / ".git" / "index").exists()
        with pytest.raises(ToolFailed, match=r"^Exit code 3\nout$"):
            call(tools, "Bash", {"command": "echo out; exit 3"})
        devices = call(tools, "Bash", {"command": "grep -c : /proc/net/dev"})
        if mode == "workspace-nonet":
            assert devices.content == "1"
        tools.close()
    finally:
        shutil.rmtree(place)


@pytest.mark.bubblewrap
def test_a_sandboxed_command_can_be_stopped(place: Path) -> None:
    try:
        (place / "ws").mkdir()
        tools = toolbox(place / "ws", place / "scratch", sandbox="workspace")
        stop = cancel()
        set_when(stop, (place / "ws" / "begun").exists)
        command = "trap '' TERM; sleep 300 & touch begun; sleep 300"
        with soon(), pytest.raises(Cancelled):
            call(tools, "Bash", {"command": command}, "1", stop=stop)

        def nothing_left() -> bool:
            return subprocess.run(["pgrep", "-f", str(place)], capture_output=True, check=False).stdout == b""

        wait_until(nothing_left, "the end of all its processes", SOON)
        tools.close()
    finally:
        shutil.rmtree(place)
