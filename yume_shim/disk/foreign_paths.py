"""Translates paths of the other system: Windows paths under WSL, WSL's and Git Bash's paths on Windows.

A model that works under WSL often writes `C:\\proj\\a.txt`. Linux would take that as the name of a new file. The
translation is done once, before a call is judged, so that the gate, the host and the tool see the same path.
"""

from __future__ import annotations

import re

_DRIVE = re.compile(r"([A-Za-z]):(?=[\\/]|\Z)")
_OWN_SHARE = re.compile(r"[\\/]{2}(?:wsl\$|wsl\.localhost)[\\/]([^\\/]+)(?=[\\/]|\Z)", re.IGNORECASE)
_MOUNTED = re.compile(r"/(?:mnt/|cygdrive/)?([A-Za-z])(?=/|\Z)")


class ForeignPath(ValueError):
    """A path of the other system that cannot be reached from this one."""


def local_path(path: str, system: str, distro: str = "") -> str:
    """The path in the form of this system ("wsl", "windows", else nothing is translated); unchanged if it is in that
    form already. Raises ForeignPath."""
    if system == "wsl":
        return _from_windows(path, distro)
    if system == "windows":
        return _from_linux(path)
    return path


def _from_windows(path: str, distro: str) -> str:
    found = _DRIVE.match(path)
    if found is not None:
        return f"/mnt/{found.group(1).lower()}" + path[2:].replace("\\", "/")
    if not path.startswith("\\\\"):
        return path
    share = _OWN_SHARE.match(path)
    if share is None or share.group(1).lower() != distro.lower():
        raise ForeignPath("it is a Windows network path, which cannot be opened under WSL")
    return path[share.end() :].replace("\\", "/") or "/"


def _from_linux(path: str) -> str:
    found = _MOUNTED.match(path)
    if found is None:
        return path
    return f"{found.group(1).upper()}:" + (path[found.end() :].replace("/", "\\") or "\\")
