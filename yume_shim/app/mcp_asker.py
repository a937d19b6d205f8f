"""Asks a tool of an MCP server whether a call may run (`--permission-prompt-tool mcp__SERVER__TOOL`)."""

from __future__ import annotations

from yume_shim.gate.approvals import read_answer
from yume_shim.text import codec
from yume_shim.types.errors import ToolFailed
from yume_shim.types.host_reply import HostReply
from yume_shim.types.outputs import Answer, ToolContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.app.lazy_mcp import LazyMcp
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.file_patch import FilePatch
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.outputs import Decision, ToolOutput
    from yume_shim.types.ports import Cancel, Emit


class McpAsker:
    """Implements `types.ports.Asker`. The tool gets the name, input and id of the call, and answers with the JSON of a
    permission answer as text. A tool that is missing or fails means no."""

    def __init__(self, tool: str, mcp: LazyMcp) -> None:
        self._tool, self._mcp = tool, mcp

    def can_ask(self) -> bool:
        return True

    def ask(
        self,
        call: ToolCall,
        spec: ToolSpec,
        decision: Decision,
        cancel: Cancel,
        *,
        emit: Emit | None = None,
        patch: FilePatch | None = None,
    ) -> Answer:
        """Call the tool and read its answer. Raises Cancelled."""
        given = {"tool_name": call.name, "input": call.input, "tool_use_id": call.id}
        parts = self._mcp.parts
        try:
            output = (
                None if parts is None else parts.servers.call_named(self._tool, given, ToolContext(call.id, cancel))
            )
        except ToolFailed as failed:
            return Answer("error", message=failed.message)
        if output is None:
            return Answer("error", message=f"the permission tool {self._tool} is not available")
        body = codec.loads_object(_text(output))
        if output.is_error or body is None:
            return Answer("error", message=f"the permission tool {self._tool} gave no valid answer")
        return read_answer(HostReply("answered", body))


def _text(output: ToolOutput) -> str:
    content = output.content
    return content if isinstance(content, str) else "".join(getattr(block, "text", "") for block in content)
