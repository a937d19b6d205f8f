"""Shared by tests of the gate: the tool specs, a gate for a real folder, and a real shell."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

from tests.helpers.settings import settings_with
from yume_shim.gate.permissions import Permissions
from yume_shim.tools.dispatch.specs import SPECS as BUILTIN
from yume_shim.types.blocks import ToolCall
from yume_shim.types.models import ToolSpec
from yume_shim.types.settings import Rules

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from yume_shim.gate.paths import Flavour
    from yume_shim.types.outputs import Decision
    from yume_shim.types.ports import Confiner

SPECS = {
    spec.name: spec
    for spec in (
        *BUILTIN,
        ToolSpec("Task", "", {}, aliases=("Agent",), harmless=True, rule_field="subagent_type"),
        ToolSpec("mcp__box__open", "", {}, source="mcp"),
    )
}


def gate(
    cwd: Path | str,
    mode: str = "default",
    *,
    allow: tuple[str, ...] = (),
    ask: tuple[str, ...] = (),
    deny: tuple[str, ...] = (),
    dirs: tuple[str, ...] = (),
    home: str = "/home/nobody-here",
    flat: bool = True,
    allow_bypass: bool = False,
    logged: list[str] | None = None,
    shell_cwd: Callable[[], str] | None = None,
    flavour: Flavour | None = None,
    confiner: Confiner | None = None,
) -> Permissions:
    """A gate with these rules for a folder; `logged` collects its log lines."""

    def log(level: str, message: str) -> None:
        if logged is not None:
            logged.append(f"{level}: {message}")

    settings = settings_with(
        permission_mode=mode, allow_bypass=allow_bypass, rules=Rules(allow, ask, deny), add_dirs=dirs
    )
    return Permissions(settings, str(cwd), home, flat, log, shell_cwd, flavour, confiner)


def decide(guard: Permissions, tool: str, **fields: Any) -> Decision:
    """The gate's decision on a call."""
    return guard.decide(ToolCall("call_1", tool, fields), SPECS[tool])


def bash(guard: Permissions, command: str) -> Decision:
    """The gate's decision on a command."""
    return decide(guard, "Bash", command=command)


def run(command: str, cwd: Path, seconds: float = 20.0) -> subprocess.CompletedProcess[bytes]:
    """Run a command as the Bash tool would, in a bare environment."""
    env = {"PATH": os.environ["PATH"], "HOME": str(cwd), "LANG": "C.UTF-8"}
    return subprocess.run(
        ["bash", "-c", command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=seconds,
        check=False,
    )


def tree(folder: Path) -> dict[str, bytes | str]:
    """Everything below a folder, without git's own bookkeeping."""
    found: dict[str, bytes | str] = {}
    left = [(str(folder), "")]
    while left:  # not `rglob`: some tests look after each of many hundred rows
        place, prefix = left.pop()
        with os.scandir(place) as entries:
            for entry in entries:
                name = prefix + entry.name
                if entry.is_symlink():
                    found[name] = os.readlink(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    try:
                        found[name] = _content(entry.path)
                    except FileNotFoundError:  # a command that still runs in the background has removed it
                        continue
                else:
                    found[name] = "folder"
                    if entry.is_dir(follow_symlinks=False) and name != ".git":
                        left.append((entry.path, name + os.sep))
    found.pop(".git", None)
    return found


def _content(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()
