"""Repositories that try to make git run a program (the canary), or show a file outside, when it only reads.

Each builder changes an ordinary repository. The canary program makes the file `ran` next to the workspace.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

IDENTITY = ("-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main")


def git(folder: Path, *words: str) -> None:
    """Run real git, with no configuration but its own."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(
        ["git", *IDENTITY, "-c", "protocol.file.allow=always", *words],
        cwd=folder,
        check=True,
        env=env,
        capture_output=True,
    )


_template: Path | None = None


def _ordinary(folder: Path) -> None:
    """An ordinary repository with two commits and a change; made once, then copied."""
    global _template
    if _template is None:
        _template = Path(tempfile.mkdtemp(prefix="template-")) / "ordinary"
        atexit.register(shutil.rmtree, _template.parent, ignore_errors=True)
        (_template / "sub").mkdir(parents=True)
        (_template / "a.txt").write_text("alpha\nbeta\n")
        (_template / "sub" / "c.py").write_text("x = 1\n")
        git(_template, "init", "-q", ".")
        git(_template, "add", ".")
        git(_template, "commit", "-qm", "first")
        (_template / "a.txt").write_text("alpha\nbeta\ngamma\n")
        git(_template, "commit", "-qam", "second")
        (_template / "a.txt").write_text("alpha\nBETA\ngamma\n")
        shutil.rmtree(_template / ".git" / "hooks")
        (_template / ".git" / "hooks").mkdir()
    shutil.copytree(_template, folder, symlinks=True)


class Hostile:
    """A workspace with an ordinary repository, a folder outside, and the canary."""

    def __init__(self, base: Path) -> None:
        self.base, self.space, self.outside = base, base / "work", base / "outside"
        self.mark, self.program = base / "ran", base / "canary"
        self.outside.mkdir(parents=True)
        (self.outside / "o.txt").write_text("OUTSIDE\nOUTSIDE\n")
        self.program.write_text(f"#!/bin/sh\ntouch '{self.mark}'\ncat 2>/dev/null\n")
        self.program.chmod(0o755)
        self.repository(self.space)

    def repository(self, folder: Path) -> Path:
        _ordinary(folder)
        return folder

    def set(self, key: str, text: str, folder: Path | None = None) -> None:
        git(folder or self.space, "config", key, text)

    def dotgit(self, name: str, text: str) -> Path:
        path = self.space / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def touch_again(self) -> None:
        """Make git compare the files anew."""
        os.utime(self.space / "a.txt", (1_000_000_000, 1_000_000_000))
        os.utime(self.space / "sub" / "c.py", (1_000_000_000, 1_000_000_000))


def _setting(key: str, more: str = "") -> Callable[[Hostile], None]:
    def build(world: Hostile) -> None:
        world.set(key, str(world.program) + more)

    return build


def _attribute(driver: str, *settings: str) -> Callable[[Hostile], None]:
    def build(world: Hostile) -> None:
        for key in settings:
            world.set(key, str(world.program))
        (world.space / ".gitattributes").write_text(f"* {driver}\n")
        world.touch_again()

    return build


def _included(world: Hostile) -> None:
    (world.space / "more.cfg").write_text(f"[core]\n\tfsmonitor = {world.program}\n")
    world.set("include.path", "../more.cfg")


def _included_if(world: Hostile) -> None:
    (world.space / "more.cfg").write_text(f"[core]\n\tfsmonitor = {world.program}\n")
    world.set("includeIf.gitdir:**.path", "../more.cfg")


def _worktree_config(world: Hostile) -> None:
    world.set("extensions.worktreeConfig", "true")
    world.dotgit("config.worktree", f"[core]\n\tfsmonitor = {world.program}\n")


def _hook(world: Hostile) -> None:
    hook = world.dotgit("hooks/post-index-change", f"#!/bin/sh\n{world.program}\n")
    hook.chmod(0o755)
    world.touch_again()


def _hooks_path(world: Hostile) -> None:
    folder = world.space / "tools"
    folder.mkdir()
    (folder / "post-index-change").write_text(f"#!/bin/sh\n{world.program}\n")
    (folder / "post-index-change").chmod(0o755)
    world.set("core.hooksPath", "tools")
    world.touch_again()


def _hooks_path_comment(world: Hostile) -> None:
    """The value ends where a comment begins."""
    _hooks_path(world)
    _spelled("[core]\n\thooksPath = tools#x\n")(world)


def _hooks_path_ignored(world: Hostile) -> None:
    """Another value in a file that git does not read."""
    _hooks_path(world)
    world.dotgit("config.worktree", "[core]\n\thooksPath = other\n")


def _planted_bare(world: Hostile) -> None:
    """Files that git takes for a bare repository."""
    shutil.rmtree(world.space / ".git")
    git(world.space, "init", "-q", "--bare", ".")
    tree = f"\tworktree = {world.space}\n"
    (world.space / "config").write_text(
        f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n{tree}\tfsmonitor = {world.program}\n"
    )


def _planted_commondir(world: Hostile) -> None:
    """The same with HEAD and commondir only; the configuration is in `config.worktree`."""
    shutil.rmtree(world.space / ".git")
    git(world.space, "init", "-q", "--bare", "data")
    (world.space / "HEAD").write_text("ref: refs/heads/main\n")
    (world.space / "commondir").write_text("data\n")
    (world.space / "data" / "config").write_text(
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n"
    )
    tree = f"\tworktree = {world.space}\n"
    (world.space / "config.worktree").write_text(f"[core]\n\tbare = false\n{tree}\tfsmonitor = {world.program}\n")


def _dotgit_commondir(world: Hostile) -> None:
    real = world.space / "data"
    shutil.copytree(world.space / ".git", real)
    world.dotgit("commondir", "../data\n")
    git(world.space, "config", "-f", str(real / "config"), "core.fsmonitor", str(world.program))


def _invalid_dotgit(world: Hostile) -> None:
    """A `.git` that git skips: it goes on to the planted files next to it."""
    _planted_bare(world)
    (world.space / ".git").mkdir()


def _git_file(world: Hostile) -> None:
    shutil.move(world.space / ".git", world.space / "data")
    (world.space / ".git").write_text("gitdir: data\n")
    world.set("core.fsmonitor", str(world.program))


def _git_file_outside(world: Hostile) -> None:
    world.repository(world.outside / "private")
    (world.outside / "private" / "a.txt").write_text("OUTSIDE\n")
    git(world.outside / "private", "commit", "-qam", "OUTSIDE")
    shutil.rmtree(world.space / ".git")
    (world.space / ".git").write_text(f"gitdir: {world.outside}/private/.git\n")


def _git_link_outside(world: Hostile) -> None:
    _git_file_outside(world)
    (world.space / ".git").unlink()
    (world.space / ".git").symlink_to(world.outside / "private" / ".git")


def _worktree_of_another(world: Hostile) -> None:
    _git_file_outside(world)
    fake = world.space / "data"
    fake.mkdir()
    (fake / "HEAD").write_text("ref: refs/heads/main\n")
    (fake / "commondir").write_text(f"{world.outside}/private/.git\n")
    (fake / "gitdir").write_text(f"{world.space}/.git\n")
    (world.space / ".git").write_text("gitdir: data\n")


def _files_elsewhere(world: Hostile) -> None:
    world.set("core.worktree", str(world.outside))
    (world.outside / "a.txt").write_text("OUTSIDE\n")


def _rebase_link(world: Hostile) -> None:
    folder = world.space / ".git" / "rebase-merge"
    folder.mkdir()
    for name, text in (("head-name", "refs/heads/main"), ("onto", "0" * 40), ("interactive", "")):
        (folder / name).write_text(text)
    (folder / "done").symlink_to(world.outside / "o.txt")
    (folder / "git-rebase-todo").symlink_to(world.outside / "o.txt")


def _ignored_revisions(world: Hostile) -> None:
    world.set("blame.ignoreRevsFile", str(world.outside / "o.txt"))


def _ignored_revisions_link(world: Hostile) -> None:
    (world.space / "revs").symlink_to(world.outside / "o.txt")
    world.set("blame.ignoreRevsFile", "revs")


def _alternates(world: Hostile) -> None:
    _git_file_outside(world)
    (world.space / ".git").unlink()
    git(world.space, "init", "-q", ".")
    world.dotgit("objects/info/alternates", f"{world.outside}/private/.git/objects\n")
    head = (world.outside / "private" / ".git" / "refs" / "heads" / "main").read_text()
    world.dotgit("refs/heads/main", head)


def _signed(world: Hostile) -> None:
    """A commit with something that looks like a signature."""
    made = subprocess.run(
        ["git", "cat-file", "commit", "HEAD"], cwd=world.space, check=True, capture_output=True, text=True
    ).stdout
    head, body = made.split("\n\n", 1)
    fake = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    hashed = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=world.space,
        input=f"{head}\n{fake}\n\n{body}",
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    git(world.space, "update-ref", "HEAD", hashed)


def _signature(world: Hostile) -> None:
    _signed(world)
    world.set("gpg.program", str(world.program))
    world.set("log.showSignature", "true")


def _signature_kind(world: Hostile) -> None:
    _signed(world)
    world.set("gpg.openpgp.program", str(world.program))
    world.set("log.showSignature", "true")


def _signature_format(world: Hostile) -> None:
    _signed(world)
    world.set("gpg.program", str(world.program))
    world.set("format.pretty", "%H %G?")


def _signature_alias(world: Hostile) -> None:
    _signed(world)
    world.set("gpg.program", str(world.program))
    world.set("pretty.oneline", "%H %G?")
    world.set("format.pretty", "mine")
    world.set("pretty.mine", "%G?")


def _lazy_objects(world: Hostile) -> None:
    """A missing object that git would fetch by a program of the repository's choice."""
    world.set("core.repositoryFormatVersion", "1")
    world.set("extensions.partialClone", "origin")
    world.set("remote.origin.url", str(world.outside))
    world.set("remote.origin.promisor", "true")
    world.set("remote.origin.uploadpack", f"touch {world.mark};false")
    _lose_object(world)


def _lazy_remote(world: Hostile) -> None:
    world.set("remote.origin.url", str(world.outside))
    world.set("remote.origin.promisor", "true")
    world.set("remote.origin.uploadpack", f"touch {world.mark};false")
    _lose_object(world)


def _lose_object(world: Hostile) -> None:
    name = subprocess.run(
        ["git", "rev-parse", "HEAD:a.txt"], cwd=world.space, check=True, capture_output=True, text=True
    ).stdout.strip()
    (world.space / ".git" / "objects" / name[:2] / name[2:]).unlink()


def _submodule(world: Hostile, inner: Callable[[Path], None]) -> None:
    other = world.repository(world.base / "other")
    git(world.space, "submodule", "add", "-q", str(other), "mod")
    git(world.space, "commit", "-qm", "module")
    (world.space / "mod" / "a.txt").write_text("changed\n")
    inner(world.space / "mod")


def _submodule_monitor(world: Hostile) -> None:
    _submodule(world, lambda folder: world.set("core.fsmonitor", str(world.program), folder))


def _submodule_filter(world: Hostile) -> None:
    def build(folder: Path) -> None:
        world.set("filter.x.clean", str(world.program), folder)
        (folder / ".gitattributes").write_text("* filter=x\n")

    _submodule(world, build)


def _embedded(world: Hostile) -> None:
    """A repository inside, known to the index, whose `.git` is a folder of its own."""
    inner = world.repository(world.space / "deep" / "mod")
    git(world.space, "add", "deep/mod")
    git(world.space, "commit", "-qm", "embedded")
    world.set("filter.x.process", str(world.program), inner)
    world.set("filter.x.clean", str(world.program), inner)
    (inner / ".gitattributes").write_text("* filter=x\n")
    (inner / "a.txt").write_text("changed\n")


def _compressed_index(world: Hostile) -> None:
    _embedded(world)
    git(world.space, "update-index", "--index-version", "4")


def _split_index(world: Hostile) -> None:
    _embedded(world)
    git(world.space, "update-index", "--split-index")


def _spelled(text: str) -> Callable[[Hostile], None]:
    """The setting, written in an unusual way."""

    def build(world: Hostile) -> None:
        config = world.space / ".git" / "config"
        config.write_bytes(config.read_bytes() + text.replace("PROGRAM", str(world.program)).encode())

    return build


RUNNING: dict[str, tuple[str, Callable[[Hostile], None]]] = {
    "fsmonitor": ("git status", _setting("core.fsmonitor")),
    "fsmonitor with words": ("git status", _setting("core.fsmonitor", " x #")),
    "external diff": ("git diff", _setting("diff.external")),
    "external diff of show": ("git diff HEAD~1", _setting("diff.external")),
    "textconv": ("git diff", _attribute("diff=x", "diff.x.textconv")),
    "textconv in log": ("git log -p", _attribute("diff=x", "diff.x.textconv")),
    "textconv in show": ("git show", _attribute("diff=x", "diff.x.textconv")),
    "textconv in blame": ("git blame a.txt", _attribute("diff=x", "diff.x.textconv")),
    "textconv in stat": ("git log -p -S alpha", _attribute("diff=x", "diff.x.textconv")),
    "diff command": ("git diff", _attribute("diff=x", "diff.x.command")),
    "clean filter": ("git status", _attribute("filter=x", "filter.x.clean")),
    "clean filter in diff": ("git diff", _attribute("filter=x", "filter.x.clean")),
    "process filter": ("git status", _attribute("filter=x", "filter.x.process", "filter.x.clean")),
    "clean filter in blame": ("git blame a.txt", _attribute("filter=x", "filter.x.clean")),
    "clean filter in describe": ("git describe --always --dirty", _attribute("filter=x", "filter.x.clean")),
    "lfs filter": ("git status", _attribute("filter=lfs", "filter.lfs.clean")),
    "included file": ("git status", _included),
    "conditional include": ("git status", _included_if),
    "worktree configuration": ("git status", _worktree_config),
    "index hook": ("git status", _hook),
    "index hook in diff": ("git diff", _hook),
    "index hook in describe": ("git describe --always --dirty", _hook),
    "hooks folder": ("git status", _hooks_path),
    "hooks folder with a comment": ("git status", _hooks_path_comment),
    "hooks folder with an ignored value": ("git status", _hooks_path_ignored),
    "planted bare repository": ("git status", _planted_bare),
    "planted commondir": ("git status", _planted_commondir),
    "commondir in .git": ("git status", _dotgit_commondir),
    "invalid .git": ("git status", _invalid_dotgit),
    ".git file": ("git status", _git_file),
    "signature": ("git log", _signature),
    "signature in show": ("git show", _signature),
    "signature of a kind": ("git log -1", _signature_kind),
    "signature by format": ("git log", _signature_format),
    "signature by alias": ("git log", _signature_alias),
    "lazy objects": ("git show", _lazy_objects),
    "lazy objects in diff": ("git diff HEAD", _lazy_objects),
    "lazy objects in cat-file": ("git cat-file -p HEAD:a.txt", _lazy_objects),
    "lazy remote": ("git log -p", _lazy_remote),
    "submodule monitor": ("git status", _submodule_monitor),
    "submodule monitor in diff": ("git diff", _submodule_monitor),
    "submodule filter": ("git status", _submodule_filter),
    "embedded repository": ("git status", _embedded),
    "embedded repository in diff": ("git diff", _embedded),
    "compressed index": ("git status", _compressed_index),
    "split index": ("git status", _split_index),
    "old section style": ("git status", _spelled("[CORE]\n\tFSMonitor = PROGRAM\n")),
    "on the section line": ("git status", _spelled("[core] fsmonitor = PROGRAM\n")),
    "continued line": ("git status", _spelled("[core]\n\tfsmonitor = \\\nPROGRAM\n")),
    "quoted": ("git status", _spelled('[core]\n\tfsmonitor = "PROGRAM"\n')),
    "partly quoted": ("git status", _spelled('[core]\n\tfsmonitor = ""PROGRAM""\n')),
    "no space": ("git status", _spelled("[core]\nfsmonitor=PROGRAM")),
    "carriage returns": ("git status", _spelled("[core]\r\n\tfsmonitor = PROGRAM\r\n")),
    "after a comment": ("git status", _spelled("# [x]\n[core] # x\n\tfsmonitor = PROGRAM ; x\n")),
    "hidden behind a value": ("git status", _spelled('[user]\n\tname = "x\\\n[y]\\\n"\n[core]\n\tfsmonitor=PROGRAM\n')),
    "included by old style": ("git status", _spelled("[include]\npath=more\n[core]\nfsmonitor=PROGRAM\n")),
}
"""Name: a command that only reads, and what makes it run the canary."""

SHOWING: dict[str, tuple[str, Callable[[Hostile], None]]] = {
    ".git file to another repository": ("git log -p", _git_file_outside),
    ".git link to another repository": ("git show", _git_link_outside),
    "worktree of another repository": ("git log -p", _worktree_of_another),
    "files elsewhere": ("git diff", _files_elsewhere),
    "rebase notes": ("git status", _rebase_link),
    "ignored revisions": ("git blame a.txt", _ignored_revisions),
    "ignored revisions by link": ("git blame a.txt", _ignored_revisions_link),
    "alternates": ("git log -p", _alternates),
}
"""Name: a command that only reads, and what makes it show a file outside."""
