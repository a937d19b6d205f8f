"""Hostile repositories: git commands that only read are asked about where the repository could make them run a program
or show files outside; in ordinary repositories they run unasked, with the same output.

The repositories are real, and each row is proved to work without the gate. The same rows go through the whole pipeline
in `tests/test_attacks_on_disk.py`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.helpers.gates import bash, gate, run
from tests.helpers.hostile_repositories import RUNNING, SHOWING, Hostile, git

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the repositories use programs of a POSIX system")
ROWS = {**RUNNING, **SHOWING}
OTHERS = ("git status", "git diff", "git log -p -1", "git show", "git blame a.txt", "git branch -a")


@pytest.mark.parametrize("name", ROWS)
def test_a_hostile_repository_is_asked_about(tmp_path: Path, name: str) -> None:
    """The row works without the gate, and the gate asks, also about other commands."""
    world = Hostile(tmp_path)
    command, build = ROWS[name]
    build(world)
    for asked in dict.fromkeys((command, *OTHERS)):
        for mode in ("default", "plan", "acceptEdits"):
            assert bash(gate(world.space, mode), asked).verdict == "ask", asked
        assert bash(gate(world.space, "dontAsk"), asked).verdict == "deny", asked
    allowed = gate(world.space, "bypassPermissions", deny=("Bash(git:*)",))
    assert bash(allowed, command).verdict == "deny"
    said = run(command, world.space)
    if name in RUNNING:
        assert world.mark.exists(), said
    else:
        assert b"OUTSIDE" in said.stdout + said.stderr, said


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("git log --show-signature", "flag"),
        ("git show --show-signature", "flag"),
        ("git log --format=%G?", "format"),
        ("git log --format='%h %GS'", "format"),
        ("git log --pretty='format:%-GK'", "format"),
        ("git for-each-ref --format='%(signature)'", "format"),
        ("git branch --format='%(signature:grade)'", "format"),
        ("git verify-commit HEAD", "command"),
        ("git diff --ext-diff", "flag"),
        ("git log -p --textconv", "flag"),
        ("git grep --textconv x", "flag"),
        ("git cat-file --textconv HEAD:a.txt", "flag"),
        ("git cat-file --filters HEAD:a.txt", "flag"),
        ("git -p status", "pager"),
        ("git --paginate log", "pager"),
        ("git --git-dir=x status", "place"),
        ("git --work-tree=.. status", "place"),
        ("git -C sub status", "place"),
        ("git -c core.fsmonitor=x status", "setting"),
        ("git -ccore.fsmonitor=x status", "setting"),
        ("git --config-env=core.fsmonitor=HOME status", "setting"),
        ("git --exec-path=. status", "place"),
        ("git submodule status", "command"),
        ("git submodule foreach ls", "command"),
        ("git fetch --dry-run", "network"),
        ("git ls-remote", "network"),
        ("git remote show origin", "network"),
        ("git bisect run ls", "command"),
        ("git difftool", "command"),
        ("git help status", "command"),
        ("git diff --submodule=diff", "flag"),
        ("git status --ignore-submodules=none", "flag"),
        ("git grep --recurse-submodules x", "flag"),
        ("git x", "alias"),
        ("git-status", "program"),
    ],
)
def test_flags_and_commands_that_run_programs_are_asked_about(tmp_path: Path, command: str, why: str) -> None:
    git(tmp_path, "init", "-q", ".")
    assert bash(gate(tmp_path), command).verdict == "ask", why


READING = [
    "git status",
    "git status -sb",
    "git diff",
    "git diff --stat HEAD~1",
    "git log --oneline -5",
    "git log -p -2",
    "git show HEAD",
    "git show HEAD:a.txt",
    "git blame a.txt",
    "git branch -avv",
    "git tag -l",
    "git remote -v",
    "git stash list",
    "git describe --always --dirty",
    "git ls-files",
    "git grep -n alpha",
    "git rev-parse --show-toplevel",
    "git reflog -3",
    "git shortlog -sn HEAD",
    "git worktree list",
    "git check-ignore -v a.txt",
]


def ordinary(world: Hostile, name: str) -> Path:
    """An ordinary repository of this kind; returns the folder to work in."""
    space = world.space
    match name:
        case "clone":
            git(world.base, "clone", "-q", str(space), "copy")
            return world.base / "copy"
        case "worktree":
            git(space, "worktree", "add", "-q", "../tree")
            return world.base / "tree"
        case "submodule":
            git(space, "submodule", "add", "-q", str(world.repository(world.base / "other")), "mod")
        case "inside a submodule":
            git(space, "submodule", "add", "-q", str(world.repository(world.base / "other")), "mod")
            return space / "mod"
        case "folder of a repository":
            return space / "sub"
        case "kept inside":
            (space / ".git").rename(space / "data")
            (space / ".git").write_text("gitdir: data\n")
        case "hooks of husky":
            (space / ".husky" / "_").mkdir(parents=True)
            (space / ".husky" / "_" / "pre-commit").write_text("exit 1")
            world.set("core.hooksPath", ".husky/_")
        case "usual settings":
            for key, text in (
                ("user.name", "n"),
                ("user.email", "e@x"),
                ("user.signingkey", "~/.ssh/k.pub"),
                ("gpg.format", "ssh"),
                ("commit.gpgsign", "true"),
                ("pull.rebase", "true"),
                ("core.editor", "vim"),
                ("core.sshCommand", "ssh -i ~/.ssh/k"),
                ("core.autocrlf", "input"),
                ("core.fsmonitor", "false"),
                ("alias.st", "!touch x"),
                ("remote.origin.url", "git@host:x/y.git"),
                ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
                ("branch.main.remote", "origin"),
                ("branch.main.merge", "refs/heads/main"),
                ("branch.feature/x.vscode-merge-base", "origin/main"),
                ("diff.algorithm", "histogram"),
                ("diff.python.xfuncname", "^def"),
                ("blame.ignoreRevsFile", ".git-blame-ignore-revs"),
                ("merge.conflictStyle", "zdiff3"),
                ("log.date", "iso"),
                ("lfs.repositoryformatversion", "0"),
                ("submodule.recurse", "true"),
            ):
                world.set(key, text)
            (space / ".git-blame-ignore-revs").write_text("# none\n")
        case "rebasing":
            git(space, "commit", "-qam", "third")
            git(space, "-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-qi", "HEAD~1")
    return space


KINDS = [
    "plain",
    "clone",
    "worktree",
    "submodule",
    "inside a submodule",
    "folder of a repository",
    "kept inside",
    "hooks of husky",
    "usual settings",
    "rebasing",
]


@pytest.mark.parametrize("kind", KINDS)
def test_an_ordinary_repository_is_not_asked_about(tmp_path: Path, kind: str) -> None:
    folder = ordinary(Hostile(tmp_path), kind)
    guard = gate(folder)
    assert [c for c in READING if (bash(guard, c).verdict, bash(guard, c).reason) != ("allow", "")] == []


def test_the_question_says_what_is_wrong_with_the_repository(tmp_path: Path) -> None:
    world = Hostile(tmp_path)
    world.set("core.fsmonitor", str(world.program))
    decision = bash(gate(world.space), "git status")
    assert decision.message == "This command requires approval (its configuration sets core.fsmonitor)"
    assert decision.reason == "its configuration sets core.fsmonitor"


@pytest.mark.parametrize("name", ["config", "HEAD", "commondir", "index", "config.worktree", "rebase-merge/done"])
@pytest.mark.parametrize("kind", ["fifo", "zero", "huge", "folder"])
def test_odd_files_in_a_repository_do_not_stop_the_gate(tmp_path: Path, name: str, kind: str) -> None:
    """A pipe would block for ever, a device has no end."""
    world = Hostile(tmp_path)
    path = world.space / ".git" / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "zero":
            path.symlink_to("/dev/zero")
        case "huge":
            path.touch()
            os.truncate(path, 1 << 40)
        case "folder":
            path.mkdir()
    verdict = bash(gate(world.space), "git log").verdict
    assert (
        verdict == "ask"
        or (name, kind) in (("HEAD", "fifo"), ("HEAD", "huge"), ("HEAD", "folder"))
        or (name == "rebase-merge/done" and kind != "zero")
    )
