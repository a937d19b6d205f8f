"""Files inside open folders, reached without following a link: the interface."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from yume_shim.system.windows.folders import (
        Folder,
        list_exact,
        open_exact,
        stat_exact,
    )
else:
    from yume_shim.system.posix.folders import (
        Folder,
        list_exact,
        open_exact,
        stat_exact,
    )

__all__ = (
    "Folder",
    "list_exact",
    "open_exact",
    "stat_exact",
)
