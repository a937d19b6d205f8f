"""Collects facts about the environment: folder, system, shell, git branch, date. Reads files; starts no process."""

from __future__ import annotations

import os
import sys
import time

from yume_shim.disk.bounded import is_absent, read_start
from yume_shim.system import os_version
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_HEAD_BYTES = 4_096
"""A HEAD or gitdir file is one short line."""


class Facts(Value):
    """What the system prompt says about the machine. `branch` is "" outside git and on a detached HEAD."""

    cwd: str
    platform: str
    os_version: str
    shell: str
    is_git: bool
    branch: str
    date: str
    """YYYY-MM-DD, local time."""


def facts(
    cwd: str,
    now: float,
    environ: Mapping[str, str] = os.environ,
    warn: Callable[[str], None] | None = None,
    *,
    files: bool = True,
) -> Facts:
    """Collect the facts. `now` is the clock's wall time in seconds. `warn` learns which files cannot be read. `files`:
    False looks at none, so nothing is known about git."""
    git_dir = _git_dir(cwd, warn) if files else None
    return Facts(
        cwd=cwd,
        platform=sys.platform,
        os_version=os_version(),
        shell=_shell(environ),
        is_git=git_dir is not None,
        branch=_branch(git_dir, warn) if git_dir is not None else "",
        date=time.strftime("%Y-%m-%d", time.localtime(now)),
    )


def _shell(environ: Mapping[str, str]) -> str:
    """The name of the login shell, without its folder."""
    path = environ.get("SHELL") or environ.get("COMSPEC") or ""
    return path.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".exe")


def _git_dir(cwd: str, warn: Callable[[str], None] | None) -> str | None:
    """The git folder that `cwd` belongs to. In worktrees and submodules `.git` is a file: `gitdir: PATH`."""
    folder = os.path.abspath(cwd)
    while True:
        candidate = os.path.join(folder, ".git")
        if os.path.isdir(candidate):
            return candidate
        if os.path.isfile(candidate):
            line = _first_line(candidate, warn)
            if line.startswith("gitdir:"):
                return os.path.normpath(os.path.join(folder, line.removeprefix("gitdir:").strip()))
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _branch(git_dir: str, warn: Callable[[str], None] | None) -> str:
    head = _first_line(os.path.join(git_dir, "HEAD"), warn)
    ref = head.removeprefix("ref:").strip() if head.startswith("ref:") else ""
    return ref.removeprefix("refs/heads/")


def _first_line(path: str, warn: Callable[[str], None] | None) -> str:
    try:
        line = read_start(path, MAX_HEAD_BYTES).split(b"\n", 1)[0]
    except ValueError:  # a `gitdir:` with a NUL
        return ""
    except OSError as error:
        if warn is not None and not is_absent(error):
            warn(f"{path} is ignored: it cannot be read ({error.strerror})")
        return ""
    return line.decode("utf-8", "replace").strip()
