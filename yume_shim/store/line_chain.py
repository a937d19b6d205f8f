"""Links the lines of a transcript: every line names the line before it and repeats facts about the session."""

from __future__ import annotations

from yume_shim.types.shapes import timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.child import Child
    from yume_shim.types.events import SessionInfo


class LineChain:
    """Makes the common part of each line. `leaf` is the uuid of the last line; the next line becomes its child. A
    `child`'s lines are marked as a side chain, as the Claude CLI marks the lines of its subagents."""

    def __init__(
        self, version: str, entrypoint: str, git_branch: str, leaf: str | None = None, child: Child | None = None
    ) -> None:
        self._version = version
        self._entrypoint = entrypoint
        self._git_branch = git_branch
        self._child = child
        self.leaf = leaf
        self.info: SessionInfo | None = None
        self.session_id = ""

    def for_child(self, child: Child) -> LineChain:
        """A new chain in the same session for a subagent."""
        chain = LineChain(self._version, self._entrypoint, self._git_branch, child.leaf or None, child)
        chain.info, chain.session_id = self.info, self.session_id
        return chain

    def next_line(self, kind: str, uuid: str, at: float) -> Json:
        """The next line, without its message."""
        parent, self.leaf = self.leaf, uuid
        line: Json = {
            "parentUuid": parent,
            "isSidechain": self._child is not None,
            "userType": "external",
            "cwd": self.info.cwd if self.info is not None else "",
            "sessionId": self.session_id,
            "version": self._version,
            "gitBranch": self._git_branch,
            "entrypoint": self._entrypoint,
        }
        if self._child is not None:
            line["agentId"] = self._child.agent_id
            if self._child.agent_type:
                line["attributionAgent"] = self._child.agent_type
        return line | {"type": kind, "uuid": uuid, "timestamp": timestamp(at)}
