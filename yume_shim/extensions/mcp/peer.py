"""A JSON-RPC 2.0 peer: our requests and their answers, notifications, the server's own requests. Knows no transport.

`take` runs on the thread that reads from the server; it never blocks. Requests may be made from any thread. Every
request ends exactly once: by its answer, its time limit, its cancel, or the end of the connection.
"""

from __future__ import annotations

import threading
import time

from yume_shim.extensions.mcp.errors import McpError, NoAnswer, RpcError, ServerGone
from yume_shim.types.errors import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from queue import SimpleQueue
    from typing import Any, Literal

    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Cancel

    Reply = tuple[Literal["result", "error", "progress", "cancelled"], Any]

METHOD_NOT_FOUND = -32601
MAX_ERROR = 10_000
"""Characters of a server's error that are kept."""
MAX_EXTENDED = 100
"""Progress extends a request to at most so many times its limit."""
MAX_UNREAD = 1_000
"""Messages about one request that wait to be read; progress beyond that is dropped."""
MAX_OPEN_REQUESTS = 64
"""Requests of the server that are being answered at the same time; further ones get an error."""


class Peer:
    """One connection. `send` writes a message and raises ServerGone; `on_request` answers the server's requests on a
    thread of their own and may raise RpcError; `on_notification` must return quickly."""

    def __init__(
        self,
        send: Callable[[Json], None],
        on_request: Callable[[str, Json], Json],
        on_notification: Callable[[str, Json], None],
        on_done: Callable[[int], None] | None = None,
        tap: Callable[[str, Any], None] | None = None,
    ) -> None:
        """`on_done`: the request with this number has ended, whatever its outcome is. `tap` records messages."""
        self._send, self._on_request, self._on_notification = send, on_request, on_notification
        self._on_done, self._tap = on_done, tap
        self._lock = threading.Lock()
        self._waiting: dict[int, SimpleQueue[Reply]] = {}
        self._next_id = 0
        self._gone = ""
        self._answering = 0

    # ------------------------------------------------------------ our requests

    def request(
        self,
        method: str,
        params: Json,
        *,
        seconds: float,
        cancel: Cancel,
        on_progress: Callable[[Json], None] | None = None,
    ) -> Json:
        """Send a request and wait for its result. Progress restarts the time limit. Raises McpError or Cancelled."""
        from queue import SimpleQueue

        cancel.check()
        replies: SimpleQueue[Reply] = SimpleQueue()
        with self._lock:
            if self._gone:
                raise ServerGone(self._gone)
            number = self._next_id
            self._next_id += 1
            self._waiting[number] = replies
        if on_progress is not None:
            params = {**params, "_meta": {**params.get("_meta", {}), "progressToken": number}}
        try:
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return self._await(number, method, replies, seconds, cancel, on_progress)
        finally:
            with self._lock:
                self._waiting.pop(number, None)
            if self._on_done is not None:
                self._on_done(number)

    def _await(
        self,
        number: int,
        method: str,
        replies: SimpleQueue[Reply],
        seconds: float,
        cancel: Cancel,
        on_progress: Callable[[Json], None] | None,
    ) -> Json:
        from queue import Empty

        deadline = time.monotonic() + seconds
        latest = deadline + (MAX_EXTENDED - 1) * seconds
        with cancel.guard(lambda: replies.put(("cancelled", None))):
            while True:
                try:
                    kind, body = replies.get(timeout=max(0.0, deadline - time.monotonic()))
                except Empty:
                    self._give_up(number, method, "timed out")
                    raise NoAnswer(f"no answer to {method} within {seconds:g} s") from None
                match kind:
                    case "result":
                        return body  # type: ignore[no-any-return]  # `_outcome` checks it
                    case "error":
                        raise body
                    case "cancelled":
                        self._give_up(number, method, "cancelled by the user")
                        raise Cancelled
                    case "progress":
                        deadline = min(time.monotonic() + seconds, latest)
                        if on_progress is not None:
                            on_progress(body)

    def _give_up(self, number: int, method: str, reason: str) -> None:
        """Let the server stop working on a request; `initialize` must not be cancelled, says the protocol."""
        if method == "initialize":
            return
        try:
            self.notify("notifications/cancelled", {"requestId": number, "reason": reason})
        except McpError:
            pass  # it is gone: nothing left to stop

    def notify(self, method: str, params: Json | None = None) -> None:
        """Send a notification; raises ServerGone."""
        message: Json = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self._send(message)

    # ------------------------------------------------------------ from the server

    def take(self, message: Any) -> None:
        """Handle one message of the server; batches of older protocol versions are taken apart."""
        if self._tap is not None and not isinstance(message, list):
            self._tap("got", message)
        if isinstance(message, list):
            for part in message:
                self.take(part)
            return
        if not isinstance(message, dict):
            return
        method, number = message.get("method"), message.get("id")
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if isinstance(method, str) and number is not None:
            self._answer(number, method, params)
        elif isinstance(method, str):
            self._notified(method, params)
        elif isinstance(number, int) and not isinstance(number, bool):
            self._reply(number, _outcome(message))

    def _reply(self, number: int, reply: Reply) -> None:
        with self._lock:
            waiting = self._waiting.get(number)
        if waiting is None or (reply[0] == "progress" and waiting.qsize() >= MAX_UNREAD):
            return  # late answers to requests that were given up are dropped, and progress that nobody can follow
        waiting.put(reply)

    def waits_for(self, number: Any) -> bool:
        """Is a request with this number still open?"""
        return number in self._waiting

    def fail(self, number: Any, error: McpError) -> None:
        """The transport could not deliver the request of this id."""
        if isinstance(number, int):
            if self._tap is not None and self.waits_for(number):
                self._tap("got", _error(number, 0, error.message))
            self._reply(number, ("error", error))

    def _notified(self, method: str, params: Json) -> None:
        if method == "notifications/progress":
            token = params.get("progressToken")
            if isinstance(token, int):
                self._reply(token, ("progress", params))
            return
        self._on_notification(method, params)

    def _answer(self, number: Any, method: str, params: Json) -> None:
        with self._lock:
            full = self._answering >= MAX_OPEN_REQUESTS
            if not full:
                self._answering += 1
        if full:
            self._send_quietly(_error(number, METHOD_NOT_FOUND, "too many requests are open"))
            return

        def work() -> None:
            try:
                reply: Json = {"jsonrpc": "2.0", "id": number, "result": self._on_request(method, params)}
            except RpcError as error:
                reply = _error(number, error.code, error.message)
            finally:
                with self._lock:
                    self._answering -= 1
            self._send_quietly(reply)

        threading.Thread(target=work, name="mcp-request", daemon=True).start()

    def _send_quietly(self, message: Json) -> None:
        try:
            self._send(message)
        except McpError:
            pass  # the server that asked is gone

    def close(self, why: str) -> None:
        """The connection has ended: every open request fails, and every later one."""
        with self._lock:
            self._gone = self._gone or why
            waiting = list(self._waiting.values())
            self._waiting.clear()
        for replies in waiting:
            replies.put(("error", ServerGone(self._gone)))

    @property
    def gone(self) -> str:
        """Why the connection ended; "" while it is open."""
        return self._gone


def _outcome(message: Json) -> Reply:
    error = message.get("error")
    if isinstance(error, dict):
        code, text = error.get("code"), str(error.get("message") or "unknown error")
        return "error", RpcError(code if isinstance(code, int) else 0, text[:MAX_ERROR])
    if error is not None:
        return "error", RpcError(0, str(error)[:MAX_ERROR] or "unknown error")
    if not isinstance(message.get("result"), dict):
        return "error", McpError("the server's answer is malformed: it has no result object")
    return "result", message["result"]


def _error(number: Any, code: int, message: str) -> Json:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
