"""Ends a process group."""

from __future__ import annotations

import os


def end_group(group: int) -> None:
    """Kill a process group, if it still runs."""
    import signal

    try:
        os.killpg(group, signal.SIGKILL)
    except (AttributeError, ProcessLookupError, PermissionError):
        pass
