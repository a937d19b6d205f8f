"""Words of a command as programs of Windows may read them: one file has many spellings there, and a word is often no
path at all. Pure.

A word is compared with deny rules under each of its readings. Where no reading says which file it is, a command is
asked about as long as rules deny files.
"""

from __future__ import annotations

import ntpath
import re

from yume_shim.text.windows_paths import (
    ABOVE,
    DEVICE_PATH,
    DRIVE_RELATIVE,
    FOREIGN,
    NETWORK,
    OWN_TREE,
    STREAM,
    VERBATIM,
    spelled,
)

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_FILE_URL = re.compile(r"/*([A-Za-z])[:|](/.*)\Z", re.S)
"""A drive after the slashes of a `file:` address."""
_STREAM_TYPE = re.compile(r":[^:\\/]*:|:\$")
_TREES = re.compile(r"/+(?:tmp|proc|dev|mnt|cygdrive|home|var)(?:/|\Z)|/+\.|/.*/\.\.(?:/|\Z)|//[^/\s]")
"""Words for the shell's own tree that may lead to the drives: through such a folder, or through `..`; what begins with
two slashes is a network path to programs of Windows."""
_DEVICES = frozenset(("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"))
_BEST_FIT = str.maketrans("\u00a5\u20a9\u2215\u2044\u29f5\u2216\u02d0", "\\\\//\\\\:")
"""Letters that a code page turns into separators, besides those of normal form KC."""
GUESSED_ENDINGS = (".exe", ".lnk")
"""Git Bash opens `x.exe`, or what the shortcut `x.lnk` leads to, where there is no `x`."""


def readings(word: str) -> list[str]:
    """Other texts that name the file which this word may open: without a stream, without dots and blanks at the end of
    names, with the endings that Git Bash adds, with the slash removed that it removes, and with the letters that a
    program gets which reads its words in a code page (`\uff53` becomes `s`)."""
    found = _readings(word)
    if not word.isascii():
        from unicodedata import normalize

        plain = normalize("NFKC", word).translate(_BEST_FIT)
        found += [plain, *_readings(plain)] if plain != word else []
    return list(dict.fromkeys(found))


def _readings(word: str) -> list[str]:
    drive = word[:2] if re.match(r"[A-Za-z]:[\\/]", word) else ""
    head = drive + word[len(drive) :].partition(":")[0]
    stripped = "/".join(
        name if name in (".", "..") else name.rstrip(". ") for name in head.replace("\\", "/").split("/")
    )
    found = [text for text in (head, stripped) if text and text != word]
    plain, wrong = spelled(word)
    if not wrong and plain[1:3] == ":\\":
        found.append(ntpath.normpath(plain))
    if re.match(r"[\\/]{2}[^\\/?.]", word):
        found.append(word[1:])
    if stripped and not stripped.endswith("/"):
        found += [stripped + ending for ending in GUESSED_ENDINGS]
    url = _FILE_URL.match(word)
    if url is not None:
        found.append(f"{url.group(1)}:{url.group(2)}")
    return found


def unclear(word: str, flaw: str) -> bool:
    """Whether this flaw of the path that a word makes may hide which file it is."""
    if not flaw or _SCHEME.match(word):
        return False
    if flaw == STREAM:
        return bool(_STREAM_TYPE.search(word))
    if flaw == OWN_TREE:
        plain = word.replace("\\", "/")
        return plain not in _DEVICES and bool(_TREES.match(plain))
    if flaw == FOREIGN:  # a name to the shell of Linux, a path to programs of Windows
        flaw = spelled(word)[1]
    return flaw in (ABOVE, DEVICE_PATH, DRIVE_RELATIVE, NETWORK, VERBATIM)
