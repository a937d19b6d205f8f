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
from yume_shim.engine.toolbox import Toolbox
from yume_shim.system.linux.bubblewrap import View, bwrap_argv
from yume_shim.tools.shell.sandbox import open_sandbox
from yume_shim.types.blocks import ToolCall
from yume_shim.types.confinement import Confinement
from yume_shim.types.errors import Cancelled, ToolFailed
from yume_shim.types.outputs import ToolContext
from yume_shim.types.settings import SandboxSettings

if TYPE_CHECKING:
    from pathlib import Path

LINUX = sys.platform.startswith("linux")


@pytest.mark.skipif(os.sep != "/", reason="POSIX paths")
@pytest.mark.parametrize("network", [True, False])
def test_argv(network: bool) -> None:
    view = View(("/tmp", "/ws", "/more"), ("/ws/.git/hooks", "/ws/.npmrc"), ("/h",), ("/f",), "/s/cwd.txt", network)
    assert bwrap_argv("/bin/bwrap", ["sh", "-c", "x"], "/ws/sub", view) == [
        *("/bin/bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-ipc", "--proc", "/proc", "--unshare-pid"),
        *(() if network else ("--unshare-net",)),
        *("--bind-try", "/tmp", "/tmp", "--bind-try", "/ws", "/ws", "--bind-try", "/more", "/more"),
        *("--ro-bind-try", "/ws/.npmrc", "/ws/.npmrc", "--ro-bind-try", "/ws/.git/hooks", "/ws/.git/hooks"),
        *("--perms", "0000", "--tmpfs", "/h", "--ro-bind", "/dev/null", "/f"),
        *("--bind", "/s/cwd.txt", "/s/cwd.txt", "--chdir", "/ws/sub", "--", "sh", "-c", "x"),
    ]


def test_no_note_no_bind() -> None:
    assert "/dev/null" not in bwrap_argv("bwrap", ["x"], "/ws", View(("/tmp", "/ws"), note="/dev/null"))


def test_a_sandbox_that_is_not_available_runs_nothing(tmp_path: Path) -> None:
    words = r"Install the package `bubblewrap`" if LINUX else "exists on Linux only"
    with pytest.raises(ToolFailed, match=rf"^Nothing was run: .*{words}"):
        open_sandbox("workspace", (str(tmp_path),), {"PATH": str(tmp_path)}, SandboxSettings(), places=str(tmp_path))


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


@pytest.mark.bubblewrap
@pytest.mark.parametrize("mode", ["workspace", "workspace-nonet"])
def test_protected_names_that_do_not_exist_cannot_be_made(place: Path, mode: str) -> None:
    try:
        workspace = place / "ws"
        (workspace / "src").mkdir(parents=True)
        tools = toolbox(workspace, place / "scratch", sandbox=mode)
        attempts = (
            *(
                "mkdir -p .claude/hooks; echo x > .claude/settings.json",
                "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
            ),
            *("git init -q .", "mkdir .vscode; echo x > .vscode/tasks.json", "mkdir .husky && touch .husky/pre-commit"),
            *("echo x > .npmrc", "echo x > .envrc; mv src/../.envrc .envrc", "ln -s /etc .idea", "mv src .claude"),
            *(
                "rmdir .claude; mkdir .claude; touch .claude/x",
                "echo x > .mcp.json",
                "mkdir -p .config/git; touch .config/git/config",
            ),
        )
        for command in attempts:
            try:
                said = str(call(tools, "Bash", {"command": f"{command}; ls -A .claude .vscode; true"}).content)
            except ToolFailed as failed:
                said = failed.message
            assert sorted(os.listdir(workspace)) == ["src"], said
        call(tools, "Bash", {"command": "echo x > fine; mkdir new; mv fine new/"})
        assert sorted(os.listdir(workspace)) == ["new", "src"]
        tools.close()
    finally:
        shutil.rmtree(place)


@pytest.mark.bubblewrap
def test_commands_side_by_side_share_their_placeholders(place: Path) -> None:
    try:
        (place / "ws").mkdir()
        tools = toolbox(place / "ws", place / "scratch", sandbox="workspace")
        command = "touch begun; while [ ! -e end ]; do sleep 0.02; done; mkdir -p .claude && touch .claude/x"
        call(tools, "Bash", {"command": command, "run_in_background": True})
        wait_until((place / "ws" / "begun").exists, "the first command", SOON)
        call(tools, "Bash", {"command": "true"})
        call(tools, "Bash", {"command": "touch end"})
        background = tools._state.shells.background.values()
        wait_until(lambda: all(one.running.ended.is_set() for one in background), "its end", SOON)
        assert sorted(os.listdir(place / "ws")) == ["begun", "end"]
        tools.close()
    finally:
        shutil.rmtree(place)


@pytest.mark.bubblewrap
@pytest.mark.landlock
def test_a_judged_command_is_confined_to_reading_in_a_sandbox_too(place: Path) -> None:
    try:
        (place / "ws").mkdir()
        tools = toolbox(place / "ws", place / "scratch", sandbox="workspace")
        box = Toolbox((tools,))
        for kind, files in (("read", []), (None, ["new"])):
            prepared = box.prepare(box.complete_for_host(ToolCall("c", "Bash", {"command": "touch new; true"})))
            confinement = Confinement("read", programs=("git",)) if kind else None
            box.run(prepared, ToolContext("c", cancel(), confinement=confinement))
            assert os.listdir(place / "ws") == files
        tools.close()
    finally:
        shutil.rmtree(place)
