"""Translates paths of the other system: Windows paths under WSL, WSL's and Git Bash's paths on Windows.

A model that works under WSL often writes `C:\\proj\\a.txt`. Linux would take that as the name of a new file. The
translation is done once, before a call is judged, so that the gate, the host and the tool see the same path.
"""

from __future__ import annotations

import re

_DRIVE = re.compile(r"([A-Za-z]):(?=[\\/]|\Z)")
_OWN_SHARE = re.compile(r"[\\/]{2}(?:wsl\$|wsl\.localhost)[\\/]([^\\/]+)(?=[\\/]|\Z)", re.IGNORECASE)
_MOUNTED = re.compile(r"/(?:mnt/|cygdrive/)?([A-Za-z])(?=/|\Z)")
_WILDCARD = re.compile(r"[*?\[{]")


class ForeignPath(ValueError):
    """A path that cannot be opened here, or that this system and a rule would read differently."""


def local_path(
    path: str,
    system: str,
    distro: str = "",
    mount_root: str = "/mnt",
    *,
    shares: tuple[str, ...] = (),
    computer: str = "",
    pattern: bool = False,
) -> str:
    """The path in the plain form of this system ("wsl", "windows", else nothing is translated); unchanged if it is in
    that form already. Raises ForeignPath. `distro`, `mount_root`: as in `wsl.py`; `shares`, `computer`: as in
    `windows_paths.spelled`; `pattern`: it may contain wildcards."""
    if system == "wsl":
        return _from_windows(path, distro, mount_root)
    if system == "windows":
        return _plain_on_windows(from_linux(path), shares, computer, pattern)
    return path


def _from_windows(path: str, distro: str, mount_root: str) -> str:
    path = re.sub(r"\\\\[?.]\\(?=[A-Za-z]:\\)", "", path, count=1) if path.startswith("\\\\") else path
    found = _DRIVE.match(path)
    if found is not None:
        names = path[2:].replace("\\", "/")
        if any(name != name.rstrip(". ") for name in names.split("/") if name not in (".", "..")):
            raise ForeignPath("a name in it ends with a dot or a blank, which Windows removes")
        return f"{mount_root}/{found.group(1).lower()}" + names
    if re.match(r"[A-Za-z]:[^\\/]*\\", path):
        raise ForeignPath("it is relative to the current folder of a drive of Windows")
    if not path.startswith("\\\\"):
        return path
    share = _OWN_SHARE.match(path)
    if share is None or not distro or share.group(1).lower() != distro.lower():
        raise ForeignPath("it is a Windows network path, which cannot be opened under WSL")
    return path[share.end() :].replace("\\", "/") or "/"


def from_linux(path: str) -> str:
    """`C:\\x` of `/c/x`, `/mnt/c/x` and `/cygdrive/c/x`."""
    found = _MOUNTED.match(path)
    if found is None:
        return path
    return f"{found.group(1).upper()}:" + (path[found.end() :].replace("/", "\\") or "\\")


def _plain_on_windows(path: str, shares: tuple[str, ...], computer: str, pattern: bool) -> str:
    from yume_shim.text.windows_paths import STREAM, spelled

    head, tail = path, ""
    if pattern:  # only its folder is opened; what follows is compared with names on the disk
        wild = _WILDCARD.search(path)
        cut = max(path.rfind(mark, 0, wild.start() if wild is not None else None) for mark in "/\\") + 1
        head, tail = path[:cut], path[cut:]
        if ":" in tail:
            raise ForeignPath(STREAM)
    plain, wrong = spelled(head, shares, computer)
    if wrong:
        raise ForeignPath(wrong)
    return path if plain == head.replace("/", "\\") else plain + tail
