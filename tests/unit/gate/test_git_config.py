"""The configuration of a repository: what passes means to git what it means to the gate."""

from __future__ import annotations

import random
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from yume_shim.gate.git_config import OwnSettings, read_settings

if TYPE_CHECKING:
    from pathlib import Path

ORDINARY = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\thooksPath = .husky/_
# a comment
[remote "origin"]
\turl = git@host:x/y.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "a\\"b"]
\tremote = origin
[blame]
\tignoreRevsFile = .git-blame-ignore-revs
[user]
\tname = A "B" C
"""


def test_an_ordinary_configuration_passes() -> None:
    assert read_settings(ORDINARY) == OwnSettings("", (".husky/_",), (), (".git-blame-ignore-revs",))
    assert read_settings("") == OwnSettings()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[core]\n\tfsmonitor = x\n", "sets core.fsmonitor"),
        ("[Core]\nFsMonitor=./x", "sets core.fsmonitor"),
        ("[core]\npager = less\n", "sets core.pager"),
        ("[core]\nattributesFile = x\n", "sets core.attributesfile"),
        ("[core]\nexcludesFile = /x\n", "sets core.excludesfile"),
        ("[core]\ngitProxy = x\n", "sets core.gitproxy"),
        ("[core]\nalternateRefsCommand = x\n", "sets core.alternaterefscommand"),
        ('[diff "x"]\ntextconv = y\n', "sets diff.textconv"),
        ('[diff "x"]\ncommand = y\n', "sets diff.command"),
        ("[diff.x]\ntextconv = y\n", "sets diff.textconv"),
        ("[diff]\nexternal = y\n", "sets diff.external"),
        ("[diff]\norderFile = y\n", "sets diff.orderfile"),
        ("[diff]\nsubmodule = diff\n", "sets diff.submodule"),
        ('[filter "x"]\nclean = y\n', "sets filter.clean"),
        ('[filter "lfs"]\nprocess = git-lfs filter-process\n', "sets filter.process"),
        ('[lfs "extension.x"]\nclean = y\n', "sets lfs.clean"),
        ('[lfs "customtransfer.x"]\nurl = y\n', "sets lfs.url"),
        ("[gpg]\nprogram = y\n", "sets gpg.program"),
        ('[gpg "ssh"]\nprogram = y\n', "sets gpg.program"),
        ('[gpg "ssh"]\ndefaultKeyCommand = y\n', "sets gpg.defaultkeycommand"),
        ("[log]\nshowSignature\n", "sets log.showsignature"),
        ("[log]\nshowSignature = yes\n", "sets log.showsignature"),
        ("[include]\npath = x\n", "sets include.path"),
        ('[includeIf "gitdir:x"]\npath = y\n', "sets includeif.path"),
        ("[mailmap]\nfile = x\n", "sets mailmap.file"),
        ("[format]\npretty = %G?\n", "sets format.pretty"),
        ("[pretty]\nx = %G?\n", "sets pretty.x"),
        ('[trailer "x"]\ncommand = y\n', "sets trailer.command"),
        ('[remote "o"]\npromisor = true\n', "sets remote.promisor"),
        ('[remote "o"]\npartialCloneFilter = x\n', "sets remote.partialclonefilter"),
        ("[extensions]\npartialClone = o\n", "sets extensions.partialclone"),
        ("[uploadpack]\npackObjectsHook = x\n", "sets uploadpack.packobjectshook"),
        ("[status]\nsubmoduleSummary = 1\n", "sets status.submodulesummary"),
        ("[nobody]\nknows = 1\n", "sets nobody.knows"),
        ("[core] fsmonitor = x\n", "is not written plainly"),
        ("[core]\nbare = \\\nfalse\n", "is not written plainly"),
        ("bare = true\n", "is not written plainly"),
        ("[core\nbare = true\n", "is not written plainly"),
        ("[core]\nhooksPath = a#b\n", "sets core.hookspath in an unusual way"),
        ('[core]\nhooksPath = "a"b\n', "sets core.hookspath in an unusual way"),
        ("[core]\nhooksPath = %(prefix)/x\n", "sets core.hookspath in an unusual way"),
        ("[core]\nhooksPath = ~root/x\n", "sets core.hookspath in an unusual way"),
        ("[core]\nworktree = a;b\n", "sets core.worktree in an unusual way"),
        ("[core]\n\x0bbare = true\n", "contains control characters"),
        ("\ufeff[core]\nbare = true\n", "contains control characters"),
    ],
)
def test_what_is_asked_about(text: str, why: str) -> None:
    assert read_settings(text).problem == f"its configuration {why}"


SECTIONS = [
    "[core]",
    "[Core]",
    "[core] ",
    "[user]",
    '[branch "x"]',
    '[diff "x"]',
    "[diff.x]",
    '[user "b\\"c"]',
    "# [core]",
]
KEYS = ["fsmonitor", "hooksPath", "name", "textconv", "bare", " editor", "\tFSMONITOR", "x-y"]
VALUES = ["true", "false", "/evil", "tools", '"', "\\", "\\n", "#", " ;", " ", "\t", "[core]", "=", "fsmonitor", "\\\n"]
ENDS = ["\n", "\n", "\n", "\r\n", "", " \n", "\n\n"]


def random_text(draw: random.Random) -> str:
    """A configuration with a few sections and settings, now and then written oddly."""
    lines = []
    for _ in range(draw.randrange(1, 4)):
        lines.append(draw.choice(SECTIONS) + draw.choice(ENDS))
        for _ in range(draw.randrange(1, 4)):
            given = "".join(draw.choice(VALUES) for _ in range(draw.randrange(0, 3)))
            lines.append(draw.choice(KEYS) + draw.choice(["=", " = ", "", " "]) + given + draw.choice(ENDS))
    return "".join(lines)


@pytest.mark.skipif(shutil.which("git") is None, reason="git not found")
def test_git_reads_what_passes_in_the_same_way(tmp_path: Path) -> None:
    """Random texts: whatever passes the gate, git finds no other setting of a program in it."""
    draw = random.Random(11)
    path = tmp_path / "config"
    listed_some = 0
    for _ in range(40_000):
        text = random_text(draw)
        found = read_settings(text)
        if listed_some >= 120:
            break
        if found.problem:
            continue
        path.write_bytes(text.encode())
        said = subprocess.run(["git", "config", "-f", path, "-z", "--list"], capture_output=True, check=False)
        listed = [entry.decode().partition("\n") for entry in said.stdout.split(b"\0") if entry]
        listed_some += bool(listed)
        programs = [given for key, _, given in listed if key == "core.fsmonitor" and given not in ("true", "false", "")]
        assert not programs, text
        assert not [key for key, _, _ in listed if key.startswith("diff.") and key.endswith("textconv")], text
        hooks = [given for key, _, given in listed if key == "core.hookspath"]
        assert set(hooks) <= set(found.hooks_paths), text
    assert listed_some >= 100
