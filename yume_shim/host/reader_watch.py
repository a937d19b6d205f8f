"""Notices that the reader of stdout has gone while nothing is being written.

A write would show it, but a model that is silent or a command that runs gives no occasion for one: after the host's
death the process would go on until its next line. The parent's pid says nothing (`nohup yume-shim … &` must go on).
"""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def watch_reader(fd: int, on_gone: Callable[[], None]) -> None:
    """Call `on_gone` once, on a thread of its own, when the other end of `fd` is closed. Does nothing where the system
    has no `poll` (Windows); files and terminals never report it."""
    import select

    if fd < 0 or not hasattr(select, "poll"):  # without a stdout the first write shows it
        return
    poll = select.poll()
    poll.register(fd, 0)  # errors and hang-ups are reported without being asked for

    def wait() -> None:
        poll.poll()
        on_gone()

    threading.Thread(target=wait, name="stdout-reader", daemon=True).start()
