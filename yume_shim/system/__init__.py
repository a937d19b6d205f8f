"""What systems do differently, behind one interface: each name comes from the room of the system that runs.

Here is what every start needs. `processes`, `folders` and `orphan_watcher` beside it load when they are needed. Only
the rooms below (`posix`, `linux`, `macos`, `windows`) use what not every system has.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from yume_shim.system.windows import (
        await_input,
        await_room,
        end_by_signal,
        end_waits,
        is_root,
        limit_memory,
        move_over,
        os_version,
        room_check,
        room_meter,
        set_mode,
        set_polled,
        settled_sockets,
        try_lock,
        watch_reader,
        write_if_room,
    )
else:
    from yume_shim.system.posix import (
        await_input,
        await_room,
        end_by_signal,
        end_waits,
        is_root,
        limit_memory,
        move_over,
        os_version,
        room_check,
        room_meter,
        set_mode,
        set_polled,
        settled_sockets,
        try_lock,
        watch_reader,
        write_if_room,
    )

__all__ = (
    "await_input",
    "await_room",
    "end_by_signal",
    "end_waits",
    "is_root",
    "limit_memory",
    "move_over",
    "os_version",
    "room_check",
    "room_meter",
    "set_mode",
    "set_polled",
    "settled_sockets",
    "try_lock",
    "watch_reader",
    "write_if_room",
)
