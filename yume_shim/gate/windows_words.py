"""Words of a command as programs of Windows may read them: one file has many spellings there, and a word is often no
path at all. Pure.

A word is compared with deny rules under each of its readings. Where no reading says which file it is, a command is
asked about as long as rules deny files.
"""

from __future__ import annotations

import re

from yume_shim.text.windows_paths import DEVICE_PATH, DRIVE_RELATIVE, NETWORK, OWN_TREE, STREAM, VERBATIM

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_STREAM_TYPE = re.compile(r":[^:\\/]*:|:\$")
_TREES = re.compile(r"/+(?:tmp|proc|dev|mnt|cygdrive|home|var)(?:/|\Z)|/+\.")
"""Folders of the shell's own tree that may lead to the drives."""
_DEVICES = frozenset(("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"))
GUESSED_ENDINGS = (".exe", ".lnk")
"""Git Bash opens `x.exe`, or what the shortcut `x.lnk` leads to, where there is no `x`."""


def readings(word: str) -> list[str]:
    """Other texts that name the file which this word may open: without a stream, without dots and blanks at the end of
    names, with the endings that Git Bash adds, and with the slash removed that it removes."""
    drive = word[:2] if re.match(r"[A-Za-z]:[\\/]", word) else ""
    head = drive + word[len(drive) :].partition(":")[0]
    stripped = "/".join(
        name if name in (".", "..") else name.rstrip(". ") for name in head.replace("\\", "/").split("/")
    )
    found = [text for text in (head, stripped) if text and text != word]
    if re.match(r"[\\/]{2}[^\\/?.]", word):
        found.append(word[1:])
    if stripped and not stripped.endswith("/"):
        found += [stripped + ending for ending in GUESSED_ENDINGS]
    return list(dict.fromkeys(found))


def unclear(word: str, flaw: str) -> bool:
    """Whether this flaw of the path that a word makes may hide which file it is."""
    if not flaw or _SCHEME.match(word):
        return False
    if flaw == STREAM:
        return bool(_STREAM_TYPE.search(word))
    if flaw == OWN_TREE:
        return word not in _DEVICES and bool(_TREES.match(word))
    return flaw in (DEVICE_PATH, DRIVE_RELATIVE, NETWORK, VERBATIM)
