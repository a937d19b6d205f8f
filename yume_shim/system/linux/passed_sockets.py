"""Linux: a socket that listens inside a sandbox is handed to us outside, over a pair of sockets that both share."""

from __future__ import annotations

import os
import socket
import sys

_HELPER = (
    "import os,socket,sys;l=socket.socket();l.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1);"
    "l.bind(('127.0.0.1',int(sys.argv[2])));l.listen(64);c=socket.socket(fileno=int(sys.argv[1]));"
    "socket.send_fds(c,[b'x'],[l.fileno()]);c.close();l.close();os.execv(sys.argv[3],sys.argv[3:])"
)
"""Listens, hands its socket out, becomes the command."""


def helper_argv(handle: int, port: int, argv: list[str]) -> list[str]:
    """The argv of a command that runs inside. `handle`: its end of the pair, which it inherits."""
    return [sys.executable, "-I", "-S", "-c", _HELPER, str(handle), str(port), *argv]


def take_socket(ours: socket.socket) -> socket.socket | None:
    """The socket that the helper hands out within the time limit of our end; None if none comes."""
    try:
        _, handles, _, _ = socket.recv_fds(ours, 1, 1)
    except OSError:
        return None
    for handle in handles[1:]:
        os.close(handle)
    return socket.socket(fileno=handles[0]) if handles else None
