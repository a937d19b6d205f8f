"""Checks that a standard stream is open: a host may start us with one of them closed."""

from __future__ import annotations

import os

CLOSED = -1
"""A number that no file has: every use of it fails with EBADF."""


def is_terminal(fd: int) -> bool:
    """Is it open, and a terminal?"""
    try:
        return os.isatty(fd)
    except OSError:
        return False


def claim(fd: int) -> int:
    """`fd`, or `CLOSED` if it is not open. Call it before anything else is opened: the next file gets the number of a
    closed stdout, and our lines would be written into it."""
    try:
        os.fstat(fd)
    except OSError:
        return CLOSED
    return fd
