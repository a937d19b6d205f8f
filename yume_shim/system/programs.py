"""Finds the programs that we start ourselves, by absolute path: never one of the folder that a session works in.

Windows looks for a program in the current folder before PATH, and a PATH may name relative folders on every system. A
repository could plant a `rg` or a `git.exe` there.
"""

from __future__ import annotations

import os

from yume_shim.system.batch_files import batch_line, is_batch_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

WINDOWS = os.name == "nt"
ENDINGS = (".exe",) if WINDOWS else ("",)
RUNNABLE = (".exe", ".com", ".cmd", ".bat") if WINDOWS else ("",)
"""What Windows starts by a name without an ending, of what PATHEXT usually lists."""
NO_CURRENT_FOLDER = {"NoDefaultCurrentDirectoryInExePath": "1"} if WINDOWS else {}
"""With this variable cmd.exe does not look for programs in the current folder."""


def find_program(name: str, path: str, ending: str | None = None, owned: Iterable[str] = ()) -> str:
    """The program on a PATH, "" if it is not there. Relative folders, and those in `owned`, are not searched.
    (`shutil.which` costs its import, and searches the current folder on Windows.)"""
    endings = ENDINGS if ending is None else (ending,)
    owned = tuple(owned)
    for folder in map(_unquoted, path.split(os.pathsep)):
        if not _is_absolute(folder):
            continue
        for end in endings:
            full = os.path.join(folder, name + end)
            if os.path.isfile(full) and os.access(full, os.X_OK) and not is_owned(full, owned):
                return full
    return ""


def is_owned(path: str, folders: Iterable[str]) -> bool:
    """Whether a path, as written or with links followed, is in one of the folders."""
    for folder in folders:
        for inner in (path, os.path.realpath(path)):
            for outer in (folder, os.path.realpath(folder)):
                base = os.path.normcase(outer).rstrip(os.sep)
                name = os.path.normcase(os.path.normpath(inner))
                if name == base or name.startswith(base + os.sep):
                    return True
    return False


def trusted_path(path: str, owned: Iterable[str]) -> str:
    """A PATH without relative folders and those in `owned`."""
    owned = tuple(owned)
    parts = map(_unquoted, path.split(os.pathsep))
    return os.pathsep.join(part for part in parts if _is_absolute(part) and not is_owned(part, owned))


def _unquoted(folder: str) -> str:
    """A folder of PATH, which has quotes on Windows if its name contains `;`."""
    return folder.strip('"') if WINDOWS else folder


def _is_absolute(folder: str) -> bool:
    """Whether it names one folder. (`\\x` does not: it is on the drive of the current folder.)"""
    return os.path.isabs(folder) and (os.name != "nt" or bool(os.path.splitdrive(folder)[0]))


def absolute_argv(argv: Sequence[str], env: Mapping[str, str]) -> list[str] | str:
    """The argv with its program by absolute path where the system itself might look elsewhere: on Windows always (it
    begins with our current folder), else if the PATH of `env` names relative folders, which are passed over. For a
    batch file (also `npx.cmd`) it is a command line. Raises FileNotFoundError, ValueError."""
    if not argv:
        return []
    path = next((text for name, text in env.items() if name == "PATH" or (WINDOWS and name.upper() == "PATH")), None)
    if not WINDOWS:
        plain = "/" in argv[0] or path is None or all(map(os.path.isabs, path.split(os.pathsep)))
        return list(argv) if plain else [_found(argv[0], path or "", ENDINGS), *argv[1:]]
    program = argv[0]
    if not (os.path.dirname(program) or ":" in program):
        program = _found(program, path or "", ("",) if program.lower().endswith(RUNNABLE) else RUNNABLE)
    if not is_batch_file(program):
        return [program, *argv[1:]]
    from yume_shim.system.windows.shell import system_root

    return batch_line(program, argv[1:], system_root())


def _found(name: str, path: str, endings: Sequence[str]) -> str:
    found = next((full for end in endings if (full := find_program(name, path, end))), "")
    if not found:
        raise FileNotFoundError(2, "no such program in the absolute folders of PATH", name)
    return found
