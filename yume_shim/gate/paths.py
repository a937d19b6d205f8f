"""Path logic of the gate, for the path syntax of every system, on any system.

Paths are compared by components, never as text, and always twice: as requested (made absolute and tidied without
looking at the disk) and as the file system resolves them (links followed, from the deepest parent that exists).
`disk/resolve.py` resolves them; only `links_in` touches the disk here.
"""

from __future__ import annotations

import os

from yume_shim.disk.resolve import is_link
from yume_shim.disk.resolve import resolve as resolve
from yume_shim.system import os_version
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.types.protected_names import ProtectedName

MAX_ENTRIES = 4_096
"""A folder with more entries than this is not searched for links; it counts as having some."""


class Flavour(Value):
    """The path syntax of a system. `fold`: names that differ only in case are one file. `mounts`: WSL, where `C:\\x`
    is `/mnt/c/x`, and only names below the mounted drives are folded. `mount_root`: the folder of these drives."""

    name: str
    windows: bool = False
    fold: bool = False
    mounts: bool = False
    mount_root: str = "/mnt"


POSIX = Flavour("posix")
MACOS = Flavour("macos", fold=True)
WINDOWS = Flavour("windows", windows=True, fold=True)
WSL = Flavour("wsl", fold=True, mounts=True)


def native(env: Mapping[str, str]) -> Flavour:
    """The flavour of this system."""
    import sys

    if sys.platform == "win32":
        return WINDOWS
    if sys.platform == "darwin":
        return MACOS
    release = os_version()
    if not env.get("WSL_DISTRO_NAME") and "microsoft" not in release.lower():
        return POSIX
    from yume_shim.disk.wsl import this_wsl

    wsl = this_wsl(env, release)
    if wsl is None:
        return POSIX
    return (
        WSL if wsl.mount_root == WSL.mount_root else Flavour("wsl", fold=True, mounts=True, mount_root=wsl.mount_root)
    )


def flaw(path: str, flavour: Flavour, shares: tuple[str, ...] = ()) -> str:
    """Why this path cannot be judged; "" if it is an ordinary one. `shares`: the network shares of the session."""
    if "\0" in path:
        return "it contains a NUL byte"
    other = path.startswith("~") and path != "~" and path[1:2] not in ("/", "\\")
    if other and (not flavour.windows or path[1].isalnum()):  # on Windows `~$x.docx` is a name
        return "it names another user's home"
    if flavour.mounts and path.startswith("\\\\"):
        return "it is a network or device path"
    if not flavour.windows:
        return ""
    from yume_shim.text.windows_paths import spelled

    plain, wrong = spelled(path, shares)
    if not wrong and len(plain) > 2 and plain[0] == "\\" and plain[1].isalpha() and plain[2] == "\\":
        return "a shell and a program read it differently"
    return wrong


def expand(path: str, cwd: str, home: str, flavour: Flavour) -> str:
    """The path made absolute, not tidied: `~` becomes the home folder, a relative path starts at `cwd`."""
    sep = "\\" if flavour.windows else "/"
    if flavour.windows:
        from yume_shim.text.windows_paths import spelled

        path = spelled(path, None)[0].replace("/", "\\")
    elif flavour.mounts and len(path) > 1 and path[1] == ":" and path[0].isalpha() and path[2:3] in ("", "/", "\\"):
        path = f"{flavour.mount_root}/{path[0].lower()}{path[2:]}".replace("\\", "/")
    if path == "~" or path.startswith("~" + sep):
        path = home + path[1:]
    if flavour.windows:
        if path[1:3] == ":\\" or path.startswith("\\\\"):
            return path
        if path.startswith("\\"):
            from yume_shim.text.windows_paths import share_of

            return (share_of(cwd) or cwd[:2]) + path
        return f"{cwd}\\{path}"
    return path if path.startswith("/") else f"{cwd}/{path}"


def tidy(path: str, flavour: Flavour) -> str:
    """An absolute path without `.`, `..` and doubled separators; the disk is not consulted."""
    sep = "\\" if flavour.windows else "/"
    if flavour.windows:
        path = path.replace("/", "\\")
    root, rest = _root(path, flavour)
    kept: list[str] = []
    for name in rest.split(sep):
        if name in ("", "."):
            continue
        if name == "..":
            del kept[-1:]
        else:
            kept.append(name)
    return root + sep.join(kept)


def _root(path: str, flavour: Flavour) -> tuple[str, str]:
    if not flavour.windows:
        return "/", path.lstrip("/")
    if path.startswith("\\\\"):
        server, _, rest = path[2:].partition("\\")
        share, _, rest = rest.partition("\\")
        return f"\\\\{server}\\{share}\\", rest
    return path[:2].upper() + "\\", path[2:]


def components(path: str, flavour: Flavour) -> tuple[str, ...]:
    """The root and the names of a tidy absolute path, case-folded if the flavour folds."""
    root, rest = _root(path, flavour)
    steps = [name for name in rest.split("\\" if flavour.windows else "/") if name]
    if flavour.windows:
        steps = [name.rstrip(". ") or name for name in steps]  # Windows drops trailing dots and spaces
        from yume_shim.text.windows_paths import fold

        root, steps = root.casefold(), [fold(name) for name in steps]
    elif flavour.name == "macos":
        from yume_shim.text.macos_paths import same_name

        steps = [same_name(name) for name in steps]
    elif folds(path, flavour):  # a drive of Windows
        from yume_shim.text.windows_paths import fold

        steps = [fold(name) for name in steps]
    return (root, *steps)


def folds(path: str, flavour: Flavour) -> bool:
    """Whether names that differ only in case are one file at this tidy absolute path."""
    if not flavour.mounts:
        return flavour.fold
    root = flavour.mount_root.rstrip("/") + "/"
    drive = path[len(root) :].partition("/")[0] if path[: len(root)].lower() == root.lower() else ""
    return len(drive) == 1 and drive.isalpha()


def contains(folder: str, path: str, flavour: Flavour) -> bool:
    """Whether `path` is `folder` or below it. Both must be absolute and tidy."""
    outer = components(folder, flavour)
    return components(path, flavour)[: len(outer)] == outer


def slashed(path: str, flavour: Flavour) -> str:
    """The path in the form that rules use: forward slashes, `C:\\x` as `/c/x`."""
    if not flavour.windows:
        return path
    plain = path.replace("\\", "/")
    return f"/{plain[0].lower()}{plain[2:]}".rstrip("/") if plain[1:2] == ":" else plain


def alias_below_mounts(real: str, flavour: Flavour) -> str:
    """WSL: why a resolved path below the drives of Windows may be another file: a short (8.3) name, or one that ends
    with a dot or a blank, that its folder does not list; "" if it is what it says."""
    if not folds(real, flavour):
        return ""
    from yume_shim.text.windows_paths import ENDING, SHORT, is_short_name

    here = ""
    for name in real.split("/")[1:]:
        why = SHORT if is_short_name(name) else ENDING if name.endswith((".", " ")) else ""
        if why:
            try:
                if os.path.lexists(f"{here}/{name}") and name.casefold() not in map(str.casefold, os.listdir(here)):
                    return why
            except OSError:
                return why
        here = f"{here}/{name}"
    return ""


def protected_row(path: str, flavour: Flavour, workspace: str = "", mode: str = "") -> ProtectedName | None:
    """The row of the table of protected names that covers the path in this mode. Case is ignored on every system: the
    mounted file system may ignore it too. Names above `workspace` do not count, except `.git`."""
    from yume_shim.types.protected_names import protected_row as row_for

    steps = [_bare(name) for name in components(path, flavour)[1:]]
    return row_for(steps, len(components(workspace, flavour)) - 1 if workspace else 0, mode)


def _bare(name: str) -> str:
    """A name without what some file system ignores in it."""
    if not name.isascii():
        from yume_shim.text.macos_paths import perhaps_same

        name = perhaps_same(name)
    return name.rstrip(". ").casefold()


# ---------------------------------------------------------------- the disk


def links_in(folder: str) -> tuple[str, ...] | None:
    """The symbolic links directly in a folder; None if they cannot all be seen."""
    found: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries):
                if count >= MAX_ENTRIES:
                    return None
                if is_link(entry):
                    found.append(entry.path)
    except FileNotFoundError:
        return ()
    except OSError:
        return None
    return tuple(found)
