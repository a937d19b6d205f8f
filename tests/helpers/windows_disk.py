"""A disk of Windows for tests on any system: which files there are, under which other names they are found too."""

from __future__ import annotations

import ntpath
import os
import stat

from yume_shim.disk.resolve import Resolved

FILE = stat.S_IFREG | 0o644
FOLDER = stat.S_IFDIR | 0o755


class WindowsDisk:
    """Resolves paths as Windows does: names in any case, short (8.3) names, junctions."""

    def __init__(self, files: tuple[str, ...], short: dict[str, str], junctions: dict[str, str] | None = None) -> None:
        """`short`: short name -> long name, in whatever folder. `junctions`: path -> target."""
        self._known: dict[str, tuple[str, int]] = {}
        self._short = {name.lower(): long for name, long in short.items()}
        self._junctions = {path.lower(): target for path, target in (junctions or {}).items()}
        for path in files:
            self._known[path.lower()] = (path, FILE)
            while (folder := ntpath.dirname(path)) != path:
                self._known[folder.lower()], path = (folder, FOLDER), folder

    def resolve(self, path: str) -> Resolved:
        """Implements `disk/resolve.py:resolve` for this disk."""
        drive, rest = ntpath.splitdrive(ntpath.normpath(path))
        real = drive.upper() + "\\"
        for name in [name for name in rest.split("\\") if name]:
            full = ntpath.join(real, self._short.get(name.lower(), name))
            full = self._junctions.get(full.lower(), full)
            real = self._known.get(full.lower(), (full, 0))[0]
        mode = self._known.get(real.lower(), ("", 0))[1]
        facts = os.stat_result((mode, 1, 1, 1, 0, 0, 6, 0, 0, 0)) if mode else None
        return Resolved(real, False, "", facts)
