"""What ends the processes that we started when we have ended, however that was: the interface."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from yume_shim.system.windows.orphan_watcher import REGISTER_AND_RUN, REGISTER_GROUP, OrphanWatcher
else:
    from yume_shim.system.posix.orphan_watcher import REGISTER_AND_RUN, REGISTER_GROUP, OrphanWatcher

__all__ = (
    "REGISTER_AND_RUN",
    "REGISTER_GROUP",
    "OrphanWatcher",
)
