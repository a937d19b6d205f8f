"""Examines the repository that git would use in a folder: could a command that only reads run a program that the
repository names, or show files outside of it?

The workspace may come from anyone, its `.git` included, and a session may have planted files that look like a
repository. What cannot be understood is a reason to ask. Only reads; every file and folder has a limit.
"""

from __future__ import annotations

import os
import re

from yume_shim.disk.bounded import read_whole
from yume_shim.gate.git_config import OwnSettings, read_settings
from yume_shim.gate.paths import MAX_ENTRIES, contains
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.gate.workspace import Workspace

MAX_CONFIG = 256 * 1024
MAX_POINTER = 8_192
"""Bytes of a `.git` file, of `commondir` and of `gitdir`."""
MAX_INDEX = 128 * 1024 * 1024
MAX_SUBMODULES = 128
MAX_DEPTH = 4
"""Submodules of submodules are examined this deep."""
MAX_CANDIDATES = 100_000
"""Places in an index that are examined as possible submodules."""

_LOOKED_INTO = ("", "info", "rebase-merge", "rebase-apply", "sequencer")
"""Folders of a repository with files whose text git shows or obeys."""
_HOOKS = ("post-index-change",)
"""Hooks that commands which only read may run."""
_GITLINK = b"\x00\x00\xe0\x00"
"""The mode of a submodule in an index."""


class Repository(Value):
    """The folder with the files, the one with this checkout's state, and the one with configuration and objects."""

    top: str
    git: str
    common: str


class _Unclear(Exception):
    """Why the repository must be asked about."""


def repository_problem(folder: str, space: Workspace) -> str:
    """Why git must be asked about in this folder; "" if the repository is an ordinary one, or there is none."""
    try:
        top = _find(folder, space)
        if top:
            _examine(_open(top, space), space, [0], 0)
    except _Unclear as unclear:
        return str(unclear)
    except (OSError, ValueError) as error:
        return f"the repository cannot be examined ({type(error).__name__})"
    return ""


def _find(folder: str, space: Workspace) -> str:
    """The folder whose `.git` is used; "" if there is none."""
    folder = os.path.realpath(folder)
    while True:
        if _looks_bare(folder):
            raise _Unclear("there are files that look like a repository")
        if os.path.lexists(os.path.join(folder, ".git")):
            if folder not in space.folders and any(contains(top, folder, space.flavour) for top in space.folders):
                raise _Unclear("it is another repository, inside the workspace")
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above


def _looks_bare(folder: str) -> bool:
    def has(name: str) -> bool:
        return os.path.lexists(os.path.join(folder, name))

    return has("HEAD") and (has("commondir") or (has("objects") and has("refs")))


# ---------------------------------------------------------------- .git


def _open(top: str, space: Workspace) -> Repository:
    """Follow `.git` as git does, and make sure that the repository belongs to this folder."""
    dot = os.path.join(top, ".git")
    if os.path.islink(dot):
        raise _Unclear("its .git is a link")
    if os.path.isdir(dot):
        if os.path.lexists(os.path.join(dot, "commondir")):
            raise _Unclear("its .git names another repository")
        git = common = dot
    else:
        git, common = _follow(top, dot, space)
    for name in ("HEAD", "objects", "refs"):
        if not os.path.exists(os.path.join(git if name == "HEAD" else common, name)):
            raise _Unclear("its .git is not complete")
    return Repository(top, git, common)


def _follow(top: str, dot: str, space: Workspace) -> tuple[str, str]:
    """The folders that a `.git` file leads to: of a worktree, a submodule, or a repository kept inside the workspace.
    Another repository of the user would be read if the file could name any."""
    found = re.fullmatch(r"gitdir: ([^\0\r\n]+)\r?\n?", _text(dot, MAX_POINTER))
    if not found:
        raise _Unclear("its .git file is not understood")
    git = os.path.realpath(os.path.join(top, found[1]))
    if os.path.lexists(os.path.join(git, "commondir")):
        common = os.path.realpath(os.path.join(git, _text(os.path.join(git, "commondir"), MAX_POINTER).rstrip("\n")))
        back = os.path.realpath(os.path.join(git, _text(os.path.join(git, "gitdir"), MAX_POINTER).rstrip("\n")))
        if back != dot or os.path.dirname(git) != os.path.join(common, "worktrees"):
            raise _Unclear("its .git file leads to a repository that does not know it")
        return git, common
    inside = any(contains(folder, git, space.flavour) for folder in space.folders)
    if not inside and not _settings(os.path.join(git, "config")).worktrees:
        raise _Unclear("its .git file leads to a repository that does not know it")
    return git, git


# ---------------------------------------------------------------- what is in it


def _examine(repository: Repository, space: Workspace, count: list[int], depth: int) -> None:
    for folder in dict.fromkeys((repository.git, repository.common)):
        for name in _LOOKED_INTO:
            _check_links(os.path.join(folder, name), repository)
    hooks = [os.path.join(repository.common, "hooks")]
    for path in dict.fromkeys(
        os.path.join(folder, name)
        for folder in (repository.common, repository.git)
        for name in ("config", "config.worktree")
    ):
        settings = _settings(path)
        if settings.problem:
            raise _Unclear(settings.problem)
        _check_paths(settings, repository)
        hooks += (os.path.join(repository.top, _expand(name, space)) for name in settings.hooks_paths)
    if any(os.path.lexists(os.path.join(folder, name)) for folder in hooks for name in _HOOKS):
        raise _Unclear("it has a hook that git runs when it reads the files")
    if os.path.lexists(os.path.join(repository.common, "objects", "info", "alternates")):
        raise _Unclear("it takes objects from another repository")
    _examine_submodules(repository, space, count, depth)


def _check_links(folder: str, repository: Repository) -> None:
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number > MAX_ENTRIES:
                    raise _Unclear("its .git has too many files")
                if entry.is_symlink() and not _is_inside(os.path.realpath(entry.path), repository):
                    raise _Unclear("links in its .git lead outside")
    except FileNotFoundError:
        return


def _is_inside(path: str, repository: Repository) -> bool:
    return any(
        path == folder or path.startswith(folder + os.sep)
        for folder in (repository.top, repository.git, repository.common)
    )


def _check_paths(settings: OwnSettings, repository: Repository) -> None:
    for name in settings.worktrees:
        if os.path.realpath(os.path.join(repository.git, name)) != repository.top:
            raise _Unclear("its configuration sets core.worktree to another folder")
    for name in settings.ignored_revisions:
        path = os.path.realpath(os.path.join(repository.top, name))
        if name.startswith("~") or not path.startswith(repository.top + os.sep):
            raise _Unclear("its configuration sets blame.ignorerevsfile to a file outside")


def _expand(path: str, space: Workspace) -> str:
    return space.home + path[1:] if path.startswith("~/") else path


def _settings(path: str) -> OwnSettings:
    if not os.path.lexists(path):
        return OwnSettings()
    return read_settings(_text(path, MAX_CONFIG))


def _text(path: str, limit: int) -> str:
    return os.fsdecode(read_whole(path, limit))


# ---------------------------------------------------------------- submodules


def _examine_submodules(repository: Repository, space: Workspace, count: list[int], depth: int) -> None:
    """git looks for changes in submodules by running itself there, with their configuration."""
    for name in _submodules(repository.git):
        inner = os.path.join(repository.top, name)
        if not os.path.lexists(os.path.join(inner, ".git")):
            continue
        count[0] += 1
        if depth >= MAX_DEPTH or count[0] > MAX_SUBMODULES:
            raise _Unclear("it has too many submodules")
        if os.path.realpath(inner) != inner:
            raise _Unclear("a submodule is reached through a link")
        _examine(_open(inner, space), space, count, depth + 1)


def _submodules(git: str) -> list[str]:
    """The paths of the submodules in the index."""
    found: list[str] = []
    with os.scandir(git) as entries:
        names = [entry.path for entry in entries if entry.name == "index" or entry.name.startswith("sharedindex.")]
    for path in names:
        if os.stat(path).st_size > MAX_INDEX:
            raise _Unclear("its index is too large")
        found += _submodules_in(read_whole(path, MAX_INDEX))
    return found


def _submodules_in(index: bytes) -> list[str]:
    """What may be a submodule in an index, found by its mode, after which the path follows at one of four distances. A
    chance match names a folder that is not there."""
    found: list[str] = []
    place = index.find(_GITLINK, 12)
    for _ in range(MAX_CANDIDATES):
        if place < 0:
            return found
        if index[4:8] == b"\0\0\0\4":
            raise _Unclear("it may have submodules, and its index is compressed")
        starts = (place + 38, place + 40, place + 50, place + 52)  # SHA-1, SHA-256; each without or with further flags
        found += (os.fsdecode(index[start : index.find(b"\0", start)][:MAX_POINTER]) for start in starts)
        place = index.find(_GITLINK, place + 1)
    raise _Unclear("its index is too large")
