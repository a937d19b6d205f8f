"""Facts from real folders, without starting git."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import pytest

from yume_shim.context.environment import Facts, facts

if TYPE_CHECKING:
    from pathlib import Path

NOON = time.mktime((2026, 3, 4, 12, 0, 0, 0, 0, -1))


def git(folder: Path, head: str) -> None:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_bytes(head.encode())


def test_everything_at_once(tmp_path: Path) -> None:
    git(tmp_path, "ref: refs/heads/feature/x\n")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    found = facts(str(inner), NOON, {"SHELL": "/usr/bin/zsh"})
    assert found == Facts(
        cwd=str(inner),
        platform=sys.platform,
        os_version=found.os_version,
        shell="zsh",
        is_git=True,
        branch="feature/x",
        date="2026-03-04",
    )
    if sys.platform != "win32":
        assert found.os_version == f"{os.uname().sysname} {os.uname().release}"


@pytest.mark.parametrize(
    ("head", "branch"),
    [
        ("ref: refs/heads/main\n", "main"),
        ("ref: refs/heads/main\r\n", "main"),
        ("8b2f0c1d8b2f0c1d8b2f0c1d8b2f0c1d8b2f0c1d\n", ""),
        ("", ""),
        ("ref: refs/remotes/origin/x\n", "refs/remotes/origin/x"),
    ],
)
def test_branches(tmp_path: Path, head: str, branch: str) -> None:
    git(tmp_path, head)
    found = facts(str(tmp_path), NOON, {})
    assert (found.is_git, found.branch) == (True, branch)


def test_a_worktree_points_to_its_folder(tmp_path: Path) -> None:
    real = tmp_path / "main" / ".git" / "worktrees" / "w"
    real.mkdir(parents=True)
    (real / "HEAD").write_text("ref: refs/heads/side\n")
    tree = tmp_path / "w"
    tree.mkdir()
    (tree / ".git").write_text("gitdir: ../main/.git/worktrees/w\n")
    assert facts(str(tree), NOON, {}).branch == "side"


def test_outside_of_git(tmp_path: Path) -> None:
    found = facts(str(tmp_path), NOON, {})
    assert (found.is_git, found.branch, found.shell) == (False, "", "")


@pytest.mark.parametrize(
    ("environ", "shell"),
    [({"COMSPEC": "C:\\Windows\\system32\\cmd.exe"}, "cmd"), ({"SHELL": "/bin/bash", "COMSPEC": "x"}, "bash")],
)
def test_shells(tmp_path: Path, environ: dict[str, str], shell: str) -> None:
    assert facts(str(tmp_path), NOON, environ).shell == shell
