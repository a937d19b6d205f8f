r"""How macOS reads a path: its other names for one file, and names that it takes for the same. Pure; runs everywhere.

`/System/Volumes/Data/Users/u` and `/Users/u` are one folder (a firmlink, which no call shows), `/.vol/1/2` is a file by
its number. APFS and HFS+ take composed and decomposed letters (`é`, `e` with an accent) for the same, and usually both
cases; HFS+ also ignores some invisible characters.
"""

from __future__ import annotations

import re

DATA = "/System/Volumes/Data"
_FIRMLINKS = re.compile(
    re.escape(DATA) + r"(/(?:Users|Applications|Library|Volumes|private|opt|cores|home|usr/local|AppleInternal|"
    r"System/Library/(?:Caches|Assets|AssetsV2|PreinstalledAssets|Speech))(?:/.*)?)\Z",
    re.I | re.S,
)
"""Folders of the volume with the user's data that are seen from the root, too (`/usr/share/firmlinks`)."""
_HIDDEN_ROOTS = re.compile(r"/+\.(?:vol|nofollow|resolve)(?:/|\Z)", re.I)
"""`/.vol/1/2` is a file by its number; `/.nofollow/x` and `/.resolve/1/x` are `/x`. No folder lists them."""
HIDDEN_ROOT = "it begins with a name that only the kernel knows"
_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]+")
"""What HFS+ leaves out when it compares names (Apple TN1150)."""


def without_firmlink(path: str) -> str:
    """A resolved path by the name that is seen from the root: `/Users/u` of `/System/Volumes/Data/Users/u`."""
    found = _FIRMLINKS.match(path)
    return found.group(1) if found is not None else path


def has_hidden_root(path: str) -> bool:
    """Whether an absolute path leads through `/.vol`, `/.nofollow` or `/.resolve`: its text is not the file's path."""
    return _HIDDEN_ROOTS.match(path) is not None


def composed(text: str) -> str:
    """The text with composed letters, as names are compared whatever the file system."""
    if text.isascii():
        return text
    from unicodedata import normalize

    return normalize("NFC", text)


def same_name(name: str) -> str:
    """Equal for names that are certainly the same: composed, and each letter folded to one letter."""
    from yume_shim.text.windows_paths import fold

    return fold(composed(name))


def perhaps_same(text: str) -> str:
    """Equal for texts that some file system of macOS may take for the same; for rules that deny."""
    if text.isascii():
        return text.lower()
    from unicodedata import normalize

    return normalize("NFC", normalize("NFD", without_invisible(text)).casefold())


def without_invisible(text: str) -> str:
    """The text without characters that HFS+ ignores."""
    return text if text.isascii() else _IGNORED.sub("", text)
