"""Files inside open folders, reached without following a link: the interface."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from yume_shim.system.windows.folders import Folder as Folder
    from yume_shim.system.windows.folders import list_exact as list_exact
    from yume_shim.system.windows.folders import open_exact as open_exact
    from yume_shim.system.windows.folders import stat_exact as stat_exact
else:
    from yume_shim.system.posix.folders import Folder as Folder
    from yume_shim.system.posix.folders import list_exact as list_exact
    from yume_shim.system.posix.folders import open_exact as open_exact
    from yume_shim.system.posix.folders import stat_exact as stat_exact
