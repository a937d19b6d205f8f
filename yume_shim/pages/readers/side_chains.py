"""Finds which call started an agent: agents' lines are in the session's own transcript (older Claude CLI) or in files
of their own, some without a word about their call."""

from __future__ import annotations

from yume_shim.pages.readers.transcript_lines import content_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.blocks import Json


class SideChains:
    """The calls that start agents, by the prompt they give and by the id of the agent."""

    def __init__(self, lines: Sequence[Json]) -> None:
        self._by_prompt: dict[str, list[str]] = {}
        self._by_agent: dict[str, str] = {}
        self._scopes: dict[str, str] = {}
        self.learn(lines)

    def learn(self, lines: Sequence[Json]) -> None:
        """Note the calls in these lines, and which agents their results name."""
        for line in lines:
            content = content_of(line)
            for block in content if isinstance(content, list) else ():
                if isinstance(block, dict):
                    self._note(block, line.get("toolUseResult"))

    def scope_of(self, line: Json) -> str:
        """The call to whose agent a line of a session's transcript belongs; "" for the main conversation."""
        if not line.get("isSidechain"):
            return ""
        uuid, parent = line.get("uuid"), line.get("parentUuid")
        scope = self._scopes.get(parent) if isinstance(parent, str) else None
        if scope is None:
            agent = line.get("agentId")
            name = agent if isinstance(agent, str) else ""
            scope = self.call_of(name, [line]) or f"agent {name or uuid}"
        if isinstance(uuid, str):
            self._scopes[uuid] = scope
        return scope

    def call_of(self, agent_id: str, lines: Sequence[Json]) -> str:
        """The call that started an agent: the one whose result names it, or that gave the prompt it begins with."""
        named = self._by_agent.get(agent_id)
        if named:
            return named
        for line in lines:
            if line.get("type") == "user":
                waiting = self._by_prompt.get(_text(content_of(line)))
                return waiting.pop(0) if waiting else ""
        return ""

    def _note(self, block: Json, structured: object) -> None:
        given, call_id = block.get("input"), block.get("id")
        if block.get("type") == "tool_use" and isinstance(given, dict) and isinstance(call_id, str):
            if isinstance(given.get("prompt"), str):
                self._by_prompt.setdefault(given["prompt"].strip(), []).append(call_id)
        elif block.get("type") == "tool_result" and isinstance(structured, dict):
            agent, source = structured.get("agentId"), block.get("tool_use_id")
            if isinstance(agent, str) and isinstance(source, str):
                self._by_agent.setdefault(agent, source)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content.strip()
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            return str(block["text"]).strip()
    return ""
