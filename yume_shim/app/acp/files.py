"""Files through the client, which may hold unsaved text of them. Implements `types.ports.HostFiles`."""

from __future__ import annotations

from yume_shim.text import codec
from yume_shim.types.errors import Cancelled, ToolFailed
from yume_shim.types.side_events import FileAsked, QuestionWithdrawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.app.acp.client import Client
    from yume_shim.types.host_reply import HostReply
    from yume_shim.types.ports import Cancel, HostChannel

WAIT_S = 60.0
"""How long the client may take for a file."""
MAX_BYTES = 24 << 20
"""The JSON of a text that is sent to the client: its readers take 32 MiB. A larger file is written to disk; it is never
cut."""


class ClientFiles:
    """Safe from any thread: the channel is. What the client does not do is done on disk."""

    def __init__(self, channel: HostChannel, client: Client) -> None:
        self._channel, self._client = channel, client

    def read(self, path: str, cancel: Cancel) -> str | None:
        if not self._client.reads_files:
            return None
        reply = self._ask(path, None, cancel)
        text = reply.body.get("content") if reply.outcome == "answered" else None
        return text if isinstance(text, str) else None

    def write(self, path: str, text: str, cancel: Cancel) -> bool:
        if not self._client.writes_files or len(codec.dumps(text)) > MAX_BYTES:
            return False
        reply = self._ask(path, text, cancel)
        if reply.outcome == "timeout":
            raise ToolFailed(f"The client did not write {path} within {WAIT_S:.0f} s; it may still do so.")
        return reply.outcome == "answered"

    def _ask(self, path: str, text: str | None, cancel: Cancel) -> HostReply:
        reply = self._channel.ask(
            lambda ask_id: FileAsked(ask_id, path, text), timeout_s=WAIT_S, cancel=cancel, withdraw=QuestionWithdrawn
        )
        if reply.outcome == "closed":  # the session ends: nothing may be written any more
            raise Cancelled
        return reply
