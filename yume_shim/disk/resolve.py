"""Resolves a path as the kernel does: name by name, each link where it occurs, `..` after the link before it.

`a/link/../f` is the `f` beside the folder that `link` leads to, not `a/f`. The gate judges the result, and the tools
open exactly the result (`exact.py`). `os.path.realpath` would not do: where a resolved path gets longer than the system
allows, it stops following links without saying so.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

from yume_shim.types.value import Value

MAX_LINKS = 64
"""Links in one path; Linux follows 40, macOS 32."""
_NO_LINK = (errno.EINVAL, errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ENOSYS)
"""What reading a link says where there is none, or where the kernel cannot go on either."""


class Resolved(Value):
    """Where a path leads. Names that do not exist are kept as they are."""

    real: str
    is_link: bool = False
    """The last name of the path is a symbolic link."""
    flaw: str = ""
    """Why the path cannot be resolved; then `real` is the path itself."""
    facts: os.stat_result | None = None
    """What is there; None if there is nothing."""

    @property
    def exists(self) -> bool:
        """There is something, if only a link that leads nowhere."""
        return self.is_link or self.facts is not None

    @property
    def is_folder(self) -> bool:
        return self.facts is not None and stat.S_ISDIR(self.facts.st_mode)

    @property
    def has_other_names(self) -> bool:
        """It is a file with further hard links: what is written into it also changes a file elsewhere."""
        return self.facts is not None and stat.S_ISREG(self.facts.st_mode) and self.facts.st_nlink > 1


def absolute(path: str, cwd: str, home: str) -> str:
    """The path made absolute and nothing else: `~` is the home folder, a relative path starts at `cwd`."""
    if path == "~" or path.startswith(("~/", "~" + os.sep)):
        path = home + path[1:]
    return os.path.join(cwd, path)


def resolve(path: str) -> Resolved:
    """Resolve an absolute path."""
    try:
        if os.name == "nt":
            from yume_shim.system.windows.paths import final_path

            real, is_link, wrong = final_path(path)
            return Resolved(real, is_link, wrong, None if wrong else _facts(real))
        real, is_link = _followed(path)
        if sys.platform == "darwin":
            return on_macos(real, is_link)
        return Resolved(real, is_link, "", _facts(real))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a path"
        return Resolved(path, os.path.islink(path), f"it cannot be resolved ({why})")


def on_macos(real: str, is_link: bool) -> Resolved:
    """The path that macOS opens for one whose links have been followed."""
    from yume_shim.text.macos_paths import HIDDEN_ROOT, has_hidden_root, without_firmlink

    if has_hidden_root(real):
        return Resolved(real, is_link, HIDDEN_ROOT)
    real = without_firmlink(real)
    return Resolved(real, is_link, "", _facts(real))


def _followed(path: str) -> tuple[str, bool]:
    names = _names(path)
    left = [(name, place == len(names) - 1) for place, name in enumerate(names)][::-1]
    here, links, is_link = "", 0, False
    while left:
        name, last = left.pop()
        if name == "..":
            here = here.rpartition("/")[0]
            continue
        full = f"{here}/{name}"
        try:
            target = os.readlink(full)
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
            here = full
            continue
        is_link, links = is_link or last, links + 1
        if links > MAX_LINKS:
            raise OSError(errno.ELOOP, "too many links")
        here = "" if target.startswith("/") else here
        left += [(step, False) for step in reversed(_names(target))]
    return here or "/", is_link


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def is_link(entry: os.DirEntry[str]) -> bool:
    """A symbolic link, or a junction of Windows."""
    if os.name != "nt":
        return entry.is_symlink()
    from yume_shim.system.windows.paths import leads_on

    return leads_on(entry.stat(follow_symlinks=False))


def _facts(real: str) -> os.stat_result | None:
    try:
        return os.lstat(real)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
