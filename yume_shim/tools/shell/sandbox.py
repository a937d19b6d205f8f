"""Runs commands in a sandbox (bubblewrap, Linux only): files outside the workspace can be read but not changed.

A command is never run without the sandbox that the settings request: where it is not available, nothing runs.
"""

from __future__ import annotations

import os
import sys

from yume_shim.types.errors import ToolFailed
from yume_shim.types.protected_names import sandbox_names
from yume_shim.types.settings import SANDBOXES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

GUARDED = sandbox_names()
"""Inside the workspace, yet read-only: other programs run what is written there, outside the sandbox."""
TMP = "/tmp"
SYSTEM_PLACES = "/usr/bin:/bin:/usr/local/bin"
"""Where bubblewrap is looked for before PATH, which a project may have changed."""


def wrapper(
    mode: str, roots: tuple[str, ...], env: Mapping[str, str], places: str = SYSTEM_PLACES
) -> Callable[[list[str], str, str], list[str]]:
    """A function that puts the sandbox around (argv, cwd, file that stays writable). Raises ToolFailed if it cannot."""
    from yume_shim.tools.shell.processes import find_program

    if mode not in SANDBOXES:
        raise ToolFailed(f"Nothing was run: unknown sandbox '{mode}' (one of {', '.join(SANDBOXES)}).")
    if not sys.platform.startswith("linux"):
        raise ToolFailed("Nothing was run: the sandbox that the settings ask for exists on Linux only.")
    program = find_program("bwrap", os.pathsep.join((places, env.get("PATH", os.defpath))))
    if not program:
        raise ToolFailed(
            "Nothing was run: the settings ask for a sandbox, and its program `bwrap` is not installed. "
            "Install the package `bubblewrap`, or set `sandbox` to an empty text."
        )
    tmp = os.path.realpath(env.get("TMPDIR") or TMP)

    def wrap(argv: list[str], cwd: str, note: str) -> list[str]:
        return sandbox_argv(program, argv, cwd, (tmp, *roots), note, SANDBOXES[mode])

    return wrap


def sandbox_argv(
    program: str, argv: list[str], cwd: str, writable: tuple[str, ...], note: str, network: bool
) -> list[str]:
    """The argv of bubblewrap. The command gets its own process ids too: it cannot see or signal ours. It stays in its
    process group, so that it is ended like any other command."""
    made = [program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "--unshare-ipc"]
    if not network:
        made.append("--unshare-net")
    for folder in writable:
        made += ["--bind-try", folder, folder]
    for folder in writable[1:]:
        for name in GUARDED:
            path = os.path.join(folder, name)
            made += ["--ro-bind-try", path, path]
    if note and not note.startswith("/dev/"):
        made += ["--bind", note, note]  # where the shell writes its working directory on exit
    return [*made, "--chdir", cwd, "--", *argv]
