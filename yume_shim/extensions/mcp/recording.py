"""Recordings of MCP servers: `--record` writes what is said to and by each server, replay answers from it.

One file per server, `mcp/NAME.jsonl` in the cassette, one object per line: `{"sent": message}`, `{"got": message}`,
`{"gone": reason}`. A replayed server is never started, and its answers come without delay.
"""

from __future__ import annotations

import os
import threading

from yume_shim.extensions.mcp.errors import CLOSED, McpError, ServerGone
from yume_shim.extensions.mcp.names import plain
from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.extensions.mcp.channel import Gone, Take
    from yume_shim.types.blocks import Json

    Safe = Callable[[Any], bytes]
    """A line of JSON without secrets."""

FOLDER = "mcp"
MAX_BYTES = 256 << 20
"""The longest recording of one server; what comes later is not recorded."""


def tape_path(cassette: str, server: str) -> str:
    return os.path.join(cassette, FOLDER, f"{plain(server)}.jsonl")


def is_recorded(cassette: str) -> bool:
    """Does a cassette have recordings of servers?"""
    return bool(cassette) and os.path.isdir(os.path.join(cassette, FOLDER))


class Tape:
    """Records one server. Safe from any thread. A recording that fails stops with a warning; the session goes on."""

    def __init__(self, cassette: str, server: str, safe: Safe, log: Callable[[str, str], None]) -> None:
        self._path, self._server, self._safe, self._log = tape_path(cassette, server), server, safe, log
        self._lock = threading.Lock()
        self._size = 0
        self._stopped = False

    def note(self, kind: str, item: Any) -> None:
        """Add one line: kind "sent", "got" or "gone"."""
        line = self._safe({kind: item}) + b"\n"
        with self._lock:
            if self._stopped:
                return
            self._size += len(line)
            try:
                if self._size > MAX_BYTES:
                    raise OSError(0, f"more than {MAX_BYTES >> 20} MB")
                os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
                handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | os.O_APPEND, 0o600)
                with open(handle, "ab") as file:
                    file.write(line)
            except OSError as error:
                self._stopped = True
                self._log("warning", f"recording of MCP server {self._server} stopped: {error.strerror}")


class ReplayChannel:
    """Implements `Channel` with a recording. A request gets the answer that the next request like it got; what the
    server said by itself before that answer comes before it."""

    def __init__(self, place: Place, take: Take, gone: Gone) -> None:
        self._place, self._take, self._gone = place, take, gone
        self._closed = False

    def send(self, message: Json) -> None:
        if self._closed:
            raise ServerGone(CLOSED)
        if "id" not in message or "method" not in message:
            return  # a notification, or our answer to the server
        threading.Thread(target=self._answer, args=(message,), name="mcp-replay", daemon=True).start()

    def _answer(self, message: Json) -> None:
        for kind, item in self._place.after(message):
            if kind == "gone":
                self._closed = True
                self._gone(str(item))
            else:
                self._take(item)

    def close(self) -> None:
        self._closed = True

    def finish(self, seconds: float) -> None:
        """Nothing was started."""


class Place:
    """Where the replay of one server is; it lives longer than a connection. Safe from any thread."""

    def __init__(self, lines: list[tuple[str, Any]]) -> None:
        self._lines = lines
        self._played: set[int] = set()
        self._lock = threading.Lock()

    def after(self, message: Json) -> list[tuple[str, Any]]:
        """What the server said to the next recorded request like this one, with the ids of this one."""
        with self._lock:
            asked = next((n for n in self._left("sent") if _is_like(self._lines[n][1], message)), None)
            if asked is None:
                problem = f"the recording has no further {message['method']} like this"
                return [("got", {"jsonrpc": "2.0", "id": message["id"], "error": {"code": 0, "message": problem}})]
            self._played.add(asked)
            recorded = self._lines[asked][1]
            answer = next((n for n in self._left("got") if n > asked and _answers(self._lines[n][1], recorded)), None)
            ended = next((n for n in self._left("gone") if n > asked), None)
            last = ended if answer is None else answer
            if last is None:
                return []  # it never answered
            said = [n for n in self._left("got") if n < last and _is_own(self._lines[n][1])]
            self._played.update((*said, last))
            return [(self._lines[n][0], _renumbered(self._lines[n][1], recorded, message)) for n in (*said, last)]

    def _left(self, kind: str) -> list[int]:
        return [n for n, (each, _) in enumerate(self._lines) if each == kind and n not in self._played]


def open_place(cassette: str, server: str) -> Place:
    """The recording of a server. Raises McpError."""
    lines: list[tuple[str, Any]] = []
    try:
        with open(tape_path(cassette, server), "rb") as file:
            for line in file:
                found = codec.loads_object(line) or {}
                lines += [(kind, found[kind]) for kind in ("sent", "got", "gone") if kind in found]
    except OSError as error:
        raise McpError(f"the recording has no such server ({error.strerror})") from None
    return Place(lines)


def _is_like(recorded: Any, message: Json) -> bool:
    if not isinstance(recorded, dict) or recorded.get("method") != message["method"] or "id" not in recorded:
        return False
    if message["method"] == "initialize":  # it holds our version
        return True
    return bool(_plain_params(recorded) == _plain_params(message))


def _plain_params(message: Json) -> Any:
    params = message.get("params")
    return {name: item for name, item in params.items() if name != "_meta"} if isinstance(params, dict) else params


def _answers(said: Any, recorded: Json) -> bool:
    return isinstance(said, dict) and "method" not in said and said.get("id") == recorded["id"]


def _is_own(said: Any) -> bool:
    """The server said it by itself: a notification, or a request of its own."""
    return isinstance(said, dict) and "method" in said


def _renumbered(said: Any, recorded: Json, message: Json) -> Any:
    if not isinstance(said, dict):
        return said
    if _answers(said, recorded):
        return {**said, "id": message["id"]}
    params = said.get("params")
    if isinstance(params, dict) and params.get("progressToken") == recorded["id"]:
        return {**said, "params": {**params, "progressToken": message["id"]}}
    return said
