"""Starts processes that can be ended as a whole, and ends them: the interface; the rooms of the systems have the work.

`start` gives a process with a group of its own; its number names the group. `signal_group` and `end_group` reach every
process of the group, `group_alive` says whether one still runs. On Windows nothing of a group outlives us, however we
end; elsewhere `orphan_watcher` sees to that.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from yume_shim.system.windows.processes import await_exit as await_exit
    from yume_shim.system.windows.processes import end_group as end_group
    from yume_shim.system.windows.processes import end_marked as end_marked
    from yume_shim.system.windows.processes import group_alive as group_alive
    from yume_shim.system.windows.processes import hide_this_process as hide_this_process
    from yume_shim.system.windows.processes import marked as marked
    from yume_shim.system.windows.processes import signal_group as signal_group
    from yume_shim.system.windows.processes import start as start
else:
    from yume_shim.system.posix.processes import await_exit as await_exit
    from yume_shim.system.posix.processes import end_group as end_group
    from yume_shim.system.posix.processes import end_marked as end_marked
    from yume_shim.system.posix.processes import group_alive as group_alive
    from yume_shim.system.posix.processes import hide_this_process as hide_this_process
    from yume_shim.system.posix.processes import marked as marked
    from yume_shim.system.posix.processes import signal_group as signal_group
    from yume_shim.system.posix.processes import start as start
