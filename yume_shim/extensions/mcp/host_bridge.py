"""The transport to servers that live in the host's own process (`type: "sdk"`): JSON-RPC inside control requests.

Each message is one question to the host. The answer to a request carries the reply; the answer to a notification only
says that it arrived.
"""

from __future__ import annotations

import threading

from yume_shim.extensions.mcp.errors import CLOSED, ServerGone
from yume_shim.types.side_events import ServerMessage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.extensions.mcp.channel import Gone, Take
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Cancel, HostChannel


class HostBridge:
    """Implements `Channel`. Each request waits on a thread of its own for at most `seconds`."""

    def __init__(self, server: str, host: HostChannel, seconds: float, cancel: Cancel, take: Take, gone: Gone) -> None:
        self._server, self._host, self._seconds, self._cancel = server, host, seconds, cancel
        self._take, self._gone = take, gone
        self._closed = False

    def send(self, message: Json) -> None:
        if self._closed or not self._host.is_open():
            raise ServerGone("the host no longer answers")
        threading.Thread(target=self._ask, args=(message,), name="mcp-host", daemon=True).start()

    def close(self) -> None:
        self._closed = True

    def finish(self, seconds: float) -> None:
        """Nothing was started, so there is nothing to wait for."""

    def _ask(self, message: Json) -> None:
        from yume_shim.types.errors import Cancelled

        try:
            reply = self._host.ask(
                lambda ask_id: ServerMessage(ask_id, self._server, message),
                timeout_s=self._seconds,
                cancel=self._cancel,
            )
        except Cancelled:
            return
        number = message.get("id")
        if number is None or self._closed:
            return
        if reply.outcome == "answered":
            answer = reply.body.get("mcp_response")
            self._take(
                answer if isinstance(answer, dict) else _failure(number, "the host's answer has no mcp_response")
            )
        elif reply.outcome == "closed":
            self._gone(CLOSED)
        else:
            self._take(_failure(number, reply.error or "the host did not answer in time"))


def _failure(number: object, message: str) -> Json:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": -32603, "message": message}}
