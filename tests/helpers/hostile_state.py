"""What a hostile repository can prepare for commands that change the shell, its folder or names before they use them.

Every trap makes the file `C` in the workspace appear, or shows one of the `MARKS`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.helpers.gates import run, tree

MARKS = (b"SECRET", b"OUTSIDE")


def lay_traps(space: Path, outside: Path) -> None:
    """Fill a workspace (a repository with `a.txt`, `secret.txt`, `sub/c.py`) with traps."""
    evil = space / "evil.sh"
    _program(evil, space)
    # `printf 'abc%n' HOME` sets 3, `{HOME}>` sets 10 or more
    for name in ("3", "10", "11"):
        folder = space / name
        folder.mkdir()
        for program in ("ls", "cat", "git", "head", "wc", "sub"):
            _program(folder / program, space)
        (folder / ".gitconfig").write_text(f"[core]\n\tfsmonitor = {evil}\n")
        (folder / "sub").unlink()
        (folder / "sub").symlink_to(outside)
    # a repository below the working folder
    repository = space / "rep"
    subprocess.run(["git", "init", "-q", "--template=", str(repository)], check=True)
    with (repository / ".git" / "config").open("a") as config:
        config.write(f"[core]\n\tfsmonitor = {evil}\n")
    (repository / "inner").mkdir()
    # `one/link/..` is `one` for the shell, `deep` for the system
    (space / "one").mkdir()
    (space / "deep" / "er").mkdir(parents=True)
    (space / "one" / "link").symlink_to("../deep/er")
    (space / "deep" / "x").write_text("plain\n")
    (space / "one" / "x").symlink_to(outside / "o.txt")
    (space / "deep" / "w").mkdir()
    (space / "one" / "w").symlink_to(outside)
    # folders with links that a move brings to another place
    for name in ("n", "m"):
        (space / name / "in").mkdir(parents=True)
        (space / name / "out").symlink_to(outside)
        (space / name / "file").symlink_to(outside / "o.txt")
    (space / "hid").mkdir()
    (space / "hid" / "secret.txt").write_text("SECRET\n")
    (space / "locked").mkdir()
    (space / "locked" / "f").write_text("kept\n")
    (space / "plain").mkdir()
    (space / "plain" / "p.txt").write_text("p\n")
    # later -> n3/../.. leads into the workspace only as long as `n3` does not exist
    (space / "later").symlink_to("n3/../o.txt")
    # the name of one program, or of another one with an argument
    (space / "ok.sh x").mkdir()
    _program(space / "ok.sh x" / "evil", space)
    (space / "code.txt").write_text(f"a[$(touch {space}/C)]\n")
    (space / "path.txt").write_text(f"{space}/3:/usr/bin:/bin\n")
    (space / "home.txt").write_text("3\n")


def _program(path: Path, space: Path) -> None:
    path.write_text(f"#!/bin/sh\n: > {space}/C\n")
    path.chmod(0o755)


def template(folder: Path) -> Path:
    """A workspace with all traps, next to a folder outside."""
    base = folder / "template"
    space, outside = base / "work", base / "outside"
    (space / "sub").mkdir(parents=True)
    outside.mkdir()
    (outside / "o.txt").write_text("OUTSIDE\n")
    (space / "a.txt").write_text("alpha\nbeta\n")
    (space / "secret.txt").write_text("SECRET\n")
    (space / "sub" / "c.py").write_text("x = 1\n")
    subprocess.run(["git", "init", "-q", "--template=", str(space)], check=True)
    lay_traps(space, outside)
    return base


class OpenWorld:
    """The template without any gate: runs commands, and restores what they changed."""

    def __init__(self, folder: Path) -> None:
        self._base = template(folder)
        self._kept = folder / "kept"
        shutil.copytree(self._base, self._kept, symlinks=True)
        self._before = tree(self._base)

    def do_harm(self, command: str) -> bool:
        """Run a command; say whether it did what an attack does."""
        done = run(command, self._base / "work")
        after = tree(self._base)
        if after == self._before:
            return any(mark in done.stdout for mark in MARKS)
        changed = {name for name in after.keys() | self._before.keys() if after.get(name) != self._before.get(name)}
        for top in sorted({os.path.join(*name.split(os.sep)[:2]) for name in changed}):
            self._restore(top)
        return True

    def _restore(self, name: str) -> None:
        """Put back one file or folder of the template; a whole copy per row would take most of the time."""
        path, kept = self._base / name, self._kept / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        path.parent.mkdir(exist_ok=True)  # a row may have removed or moved the parent
        if kept.is_dir() and not kept.is_symlink():
            shutil.copytree(kept, path, symlinks=True)
        elif os.path.lexists(kept):
            shutil.copy2(kept, path, follow_symlinks=False)
