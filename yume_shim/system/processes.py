"""Starts processes that can be ended as a whole, and ends them: the interface; the rooms of the systems have the work.

`start` gives a process with a group of its own; its number names the group. `signal_group` and `end_group` reach every
process of the group, `group_alive` says whether one still runs. On Windows nothing of a group outlives us, however we
end; elsewhere `orphan_watcher` sees to that.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from yume_shim.system.windows.processes import (
        await_exit,
        end_group,
        end_marked,
        group_alive,
        hide_this_process,
        marked,
        process_exists,
        signal_group,
        start,
    )
else:
    from yume_shim.system.posix.processes import (
        await_exit,
        end_group,
        end_marked,
        group_alive,
        hide_this_process,
        marked,
        process_exists,
        signal_group,
        start,
    )

__all__ = (
    "await_exit",
    "end_group",
    "end_marked",
    "group_alive",
    "hide_this_process",
    "marked",
    "process_exists",
    "signal_group",
    "start",
)
