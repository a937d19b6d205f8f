"""Windows: the file that the system would open for a path, by the name that the disk has for it.

`..` is removed from the text first, as Windows does. Links, junctions, substituted drives and short (8.3) names are
replaced by what they stand for, from the deepest parent that exists.
"""

from __future__ import annotations

import ntpath
import os
import stat

from yume_shim.text.windows_paths import NETWORK, is_short_name, share_of, spelled

_ABSENT = (FileNotFoundError, NotADirectoryError)
_STANDS_FOR_ANOTHER = 0x20000000
"""The bit of a reparse tag that says so (a name surrogate): symbolic links, junctions, links of WSL, which a bash of
Git follows too. Files of OneDrive, and programs of the Store, have tags without it."""


def final_path(path: str) -> tuple[str, bool, str]:
    """(where an absolute path leads, whether its last name is a link, why it cannot be resolved or ""). Raises OSError
    and ValueError."""
    plain, wrong = spelled(path, own_shares(), os.environ.get("COMPUTERNAME", ""))
    if wrong:
        return path, False, wrong
    plain = ntpath.normpath(plain)
    here, missing = plain, []
    while True:
        try:
            real = os.path.realpath(here, strict=True)
            break
        except _ABSENT:
            if _lstat(here) is not None:
                return plain, True, "it is a link that leads nowhere"
            here, name = ntpath.split(here)
            if not name:
                return plain, False, "its drive does not exist"
            missing.append(name)
    real, wrong = _with_drive(real, plain)
    if not wrong and missing and any(map(is_short_name, missing)):
        wrong = "it is a short (8.3) name of nothing that exists"
    real = ntpath.join(real, *reversed(missing))
    wrong = wrong or spelled(real, own_shares())[1]
    if wrong:
        return plain, False, wrong
    given = None if missing else _lstat(plain)
    return real, given is not None and leads_on(given), ""


def own_shares() -> tuple[str, ...]:
    """The network share that this program works in, if it does."""
    share = share_of(os.getcwd())
    return (share,) if share else ()


def leads_on(facts: os.stat_result) -> bool:
    """Whether this is a link of some kind: a symbolic link, a junction, a link of WSL."""
    return stat.S_ISLNK(facts.st_mode) or bool(getattr(facts, "st_reparse_tag", 0) & _STANDS_FOR_ANOTHER)


def _with_drive(real: str, plain: str) -> tuple[str, str]:
    """The resolved path with the letter of its drive: a connected drive resolves to a network share."""
    real = real.removeprefix("\\\\?\\")
    if real[:4].upper() == "UNC\\":
        real = "\\\\" + real[4:]
    if real[1:3] == ":\\" or share_of(real) in own_shares():
        return real, ""
    if plain[1:2] == ":":
        top = os.path.realpath(plain[:3], strict=True).removeprefix("\\\\?\\")
        top = ("\\\\" + top[4:] if top[:4].upper() == "UNC\\" else top).rstrip("\\")
        if ntpath.normcase(real + "\\").startswith(ntpath.normcase(top + "\\")):
            return plain[:2].upper() + (real[len(top) :] or "\\"), ""
    return plain, NETWORK


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (*_ABSENT, PermissionError):
        return None
