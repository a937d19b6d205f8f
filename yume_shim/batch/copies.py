"""The copy of a folder that a task works in (`--isolate-copies`)."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class CopyFailed(Exception):
    """The folder cannot be copied; the text says why."""


def copy_folder(folder: str, copy: str, left_out: Iterable[str]) -> None:
    """Copy files, folders and links. Sockets and pipes have nothing to copy; `left_out` are the places that the run
    itself writes to, which may lie inside the folder. Raises CopyFailed."""
    import shutil

    own = {_identity(path) for path in left_out} - {None}

    def ignore(where: str, names: list[str]) -> set[str]:
        return {name for name in names if _is_left_out(os.path.join(where, name), own)}

    shutil.rmtree(copy, ignore_errors=True)  # of an earlier try
    try:
        shutil.copytree(folder, copy, symlinks=True, ignore=ignore, copy_function=_copy_file)
    except shutil.Error as error:
        source, _, reason = error.args[0][0]
        raise CopyFailed(f"cannot copy {source}: {reason}") from None
    except OSError as error:
        raise CopyFailed(f"cannot copy {folder}: {error.strerror or error}") from None


def _copy_file(source: str, target: str, *, follow_symlinks: bool = True) -> None:
    import shutil

    try:
        shutil.copy2(source, target, follow_symlinks=follow_symlinks)
    except FileNotFoundError:
        pass  # removed meanwhile, by a task that works in the folder itself or by another program


def _is_left_out(path: str, own: set[tuple[int, int] | None]) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return True
    mode = found.st_mode
    special = not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))
    return special or (found.st_dev, found.st_ino) in own


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
