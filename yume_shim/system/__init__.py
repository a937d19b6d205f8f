"""What systems do differently, behind one interface: each name comes from the room of the system that runs.

Here is what every start needs. `processes`, `folders` and `orphan_watcher` beside it load when they are needed. Only
the rooms below (`posix`, `linux`, `macos`, `windows`) use what not every system has.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from yume_shim.system.windows import await_input as await_input
    from yume_shim.system.windows import await_room as await_room
    from yume_shim.system.windows import is_root as is_root
    from yume_shim.system.windows import limit_memory as limit_memory
    from yume_shim.system.windows import move_over as move_over
    from yume_shim.system.windows import os_version as os_version
    from yume_shim.system.windows import room_check as room_check
    from yume_shim.system.windows import set_mode as set_mode
    from yume_shim.system.windows import set_polled as set_polled
    from yume_shim.system.windows import try_lock as try_lock
    from yume_shim.system.windows import watch_reader as watch_reader
    from yume_shim.system.windows import write_if_room as write_if_room
else:
    from yume_shim.system.posix import await_input as await_input
    from yume_shim.system.posix import await_room as await_room
    from yume_shim.system.posix import is_root as is_root
    from yume_shim.system.posix import limit_memory as limit_memory
    from yume_shim.system.posix import move_over as move_over
    from yume_shim.system.posix import os_version as os_version
    from yume_shim.system.posix import room_check as room_check
    from yume_shim.system.posix import set_mode as set_mode
    from yume_shim.system.posix import set_polled as set_polled
    from yume_shim.system.posix import try_lock as try_lock
    from yume_shim.system.posix import watch_reader as watch_reader
    from yume_shim.system.posix import write_if_room as write_if_room
