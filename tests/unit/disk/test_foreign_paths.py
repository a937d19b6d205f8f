"""Windows paths under WSL and the reverse: one translated path for the gate, the host and the tool."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.scripted_model import ModelServer, call, say
from tests.helpers.settings import settings_with
from tests.helpers.vendor_place import FLAT, MODELS, VendorPlace
from yume_shim.disk.foreign_paths import ForeignPath, local_path
from yume_shim.engine.toolbox import Toolbox
from yume_shim.gate.permissions import Permissions
from yume_shim.tools.dispatch.builtin import open_builtin_tools
from yume_shim.types.blocks import ToolCall
from yume_shim.types.errors import ToolFailed

if TYPE_CHECKING:
    from pathlib import Path

DENY = {"type": "tool_approval", "id": "call_1_1", "approved": False}


@pytest.mark.parametrize(
    ("given", "local"),
    [
        ("C:\\proj\\new.txt", "/mnt/c/proj/new.txt"),
        ("d:/a b/c", "/mnt/d/a b/c"),
        ("C:", "/mnt/c"),
        ("\\\\wsl.localhost\\Ubuntu\\home\\me\\a", "/home/me/a"),
        ("\\\\wsl$\\ubuntu", "/"),
        ("//wsl.localhost/Ubuntu/home", "//wsl.localhost/Ubuntu/home"),  # a path that Linux reads as it is
        ("/mnt/c/x", "/mnt/c/x"),
        ("a:b", "a:b"),
        ("src\\a", "src\\a"),
        ("", ""),
    ],
)
def test_windows_paths_under_wsl(given: str, local: str) -> None:
    assert local_path(given, "wsl", "Ubuntu") == local
    assert local_path(local, "wsl", "Ubuntu") == local
    assert local_path(given, "") == given


@pytest.mark.parametrize("given", ["\\\\server\\share\\a", "\\\\wsl$\\Debian\\a", "\\\\?\\UNC\\s\\h"])
def test_what_wsl_cannot_reach(given: str) -> None:
    with pytest.raises(ForeignPath):
        local_path(given, "wsl", "Ubuntu")


@pytest.mark.parametrize(
    ("given", "local"),
    [
        ("/mnt/c/proj/a.txt", "C:\\proj\\a.txt"),
        ("/c/proj", "C:\\proj"),
        ("/cygdrive/d", "D:\\"),
        ("C:\\proj", "C:\\proj"),
        ("/usr/bin", "/usr/bin"),
        ("src/a", "src/a"),
    ],
)
def test_linux_paths_on_windows(given: str, local: str) -> None:
    assert local_path(given, "windows") == local


@pytest.mark.skipif(sys.platform != "linux", reason="WSL is Linux")
def test_gate_and_tool_see_the_same_path(tmp_path: Path) -> None:
    env = {"WSL_DISTRO_NAME": "Ubuntu", "HOME": str(tmp_path)}
    settings = settings_with(cwd=str(tmp_path), env=env)
    tools = Toolbox((open_builtin_tools(settings, str(tmp_path / "scratch"), env, lambda *_: None),))
    gate = Permissions(settings, str(tmp_path), str(tmp_path), False, lambda *_: None)
    inside = "\\\\wsl.localhost\\Ubuntu" + str(tmp_path / "new.txt").replace("/", "\\")
    for tool, field, given, expected in (
        ("Write", "file_path", "C:\\proj\\new.txt", "/mnt/c/proj/new.txt"),
        ("Read", "file_path", "D:/x", "/mnt/d/x"),
        ("Glob", "pattern", "C:\\proj\\*.py", "/mnt/c/proj/*.py"),
        ("Write", "file_path", inside, str(tmp_path / "new.txt")),
    ):
        more = {"content": "x"} if tool == "Write" else {}
        prepared = tools.prepare(ToolCall("1", tool, {field: given, **more}))
        assert prepared.call.input[field] == expected
        decision = gate.decide(prepared.call, prepared.spec)
        assert decision.verdict == "ask"
        if tool != "Glob":
            assert prepared.path == expected
            assert decision.blocked_path in (expected, "")
    with pytest.raises(ToolFailed, match="network path"):
        tools.prepare(ToolCall("1", "Write", {"file_path": "\\\\server\\share\\a", "content": ""}))


@pytest.mark.skipif(sys.platform != "linux", reason="WSL is Linux")
def test_a_windows_path_never_becomes_the_name_of_a_file(tmp_path: Path) -> None:
    own = "\\\\wsl$\\Ubuntu" + str(tmp_path / "work" / "sub" / "new.txt").replace("/", "\\")
    calls = [call("Write", file_path=path, content="x") for path in (own, "C:\\proj\\new.txt")]
    with ModelServer(calls, [say("Done.")]) as server:
        place = VendorPlace(tmp_path, server)
        words = [*FLAT, "--model", MODELS["openai-chat"], "--permission-mode", "acceptEdits"]
        env = place.env | {"WSL_DISTRO_NAME": "Ubuntu"}
        script: list[dict[str, Any]] = [
            {"type": "user", "content": "Write."},
            {"!after": "approval_needed"},
            DENY,
            {"!after": "result"},
        ]
        ended = child.run(words, script, cwd=place.cwd, env=env)
    results = [line["is_error"] for line in ended.lines if line["type"] == "tool_result"]
    assert results == [False, True]
    assert sorted(path.relative_to(place.cwd).as_posix() for path in place.cwd.rglob("*")) == ["sub", "sub/new.txt"]
