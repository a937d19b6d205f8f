"""The client at the other end: what it can do, and the answers that it gets."""

from __future__ import annotations

from yume_shim.host.json_rpc import error_message, result_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.host.json_rpc import BadMessage, RpcId
    from yume_shim.host.writer import LineWriter
    from yume_shim.types.blocks import Json


class Client:
    """Used from any thread: the writer has a lock, capabilities are replaced as a whole."""

    def __init__(self, writer: LineWriter) -> None:
        self.writer = writer
        self.reads_files = self.writes_files = self.elicits = False
        self.initialized = False

    def introduce(self, capabilities: object) -> None:
        """Take the capabilities of `initialize`; whatever is not understood counts as missing."""
        given = capabilities if isinstance(capabilities, dict) else {}
        files, forms = given.get("fs"), given.get("elicitation")
        files = files if isinstance(files, dict) else {}
        self.reads_files = files.get("readTextFile") is True
        self.writes_files = files.get("writeTextFile") is True
        self.elicits = isinstance(forms, dict) and forms.get("form") is not None
        self.initialized = True

    def answer(self, id: RpcId, result: Json | None) -> None:
        """The successful answer to a request."""
        self.writer.write([result_message(id, result)])

    def refuse(self, bad: BadMessage) -> None:
        """The answer to a request that failed."""
        self.writer.write([error_message(bad)])
