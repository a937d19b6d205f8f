"""Offers Agent and SendMessage. Loads the agents when a call starts one, or when some besides the built-in are
configured."""

from __future__ import annotations

import threading

from yume_shim.types.agent_offer import BUILTIN_OFFERS, agent_spec, builtin_listing, message_spec
from yume_shim.types.agents import AGENT_TOOL, MESSAGE_TOOL, TASK_TOOL
from yume_shim.types.calls import PreparedCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.extensions.agents.agent_list import AgentList
    from yume_shim.extensions.agents.agent_tool import AgentTool
    from yume_shim.extensions.agents.message_tool import MessageTool
    from yume_shim.types.agents import AgentDefinition, AgentSettings
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.outputs import ToolContext, ToolOutput

NOT_OFFERED = "agents are switched off: --tools and the deny rules decide about the tool Agent"


class LazyAgents:
    """Implements `types.ports.ToolSource`. Used by the threads of loops and calls, and the stdin reader's; the lock
    makes sure that the agents are loaded once."""

    own_schemas = False

    def __init__(
        self,
        settings: AgentSettings,
        make: Callable[[AgentList], tuple[AgentTool, MessageTool]],
        warn: Callable[[str], None],
        *,
        offered: tuple[str, ...],
        background: bool,
    ) -> None:
        """`make` joins the tools with the rest of the program; `offered` are the names of those that are offered."""
        self._settings, self._make, self._warn = settings, make, warn
        self._offered, self._background = bool(offered), background
        self.forwards = settings.forward_text
        """The Claude forms print all of what agents say; the host may ask for it with `initialize`."""
        self._lock = threading.Lock()
        self._list: AgentList | None = None
        self._tools: tuple[AgentTool, MessageTool] | None = None
        self._message_spec = message_spec() if MESSAGE_TOOL in offered else None
        self._spec: tuple[object, ToolSpec] | None = None
        if settings.given or settings.folders:
            self.agents()

    def agents(self) -> AgentList:
        """All agents, loaded now if they were not."""
        with self._lock:
            if self._list is None:
                from yume_shim.extensions.agents.agent_list import AgentList

                self._list = AgentList(self._settings, self._warn)
            return self._list

    def names(self) -> tuple[str, ...]:
        """The agents for init lines; none if the tool is not offered."""
        if not self._offered:
            return ()
        return tuple(name for name, _ in BUILTIN_OFFERS) if self._list is None else self._list.names()

    def described(self) -> tuple[dict[str, Any], ...]:
        """Name, description and model of each agent, for the answer to `initialize`."""
        if not self._offered:
            return ()
        if self._list is None:
            return tuple({"name": name, "description": text} for name, text in BUILTIN_OFFERS)
        return tuple(_described(agent) for agent in self._list.all())

    def add_given(self, definitions: Mapping[str, Any]) -> None:
        """Definitions that the host sends with `initialize`."""
        self.agents().add_given(definitions)

    def tools(self) -> tuple[AgentTool, MessageTool]:
        """Agent and SendMessage, made now if they were not."""
        agents = self.agents()
        with self._lock:
            if self._tools is None:
                self._tools = self._make(agents)
            return self._tools

    def tool(self) -> AgentTool:
        """The tool Agent."""
        return self.tools()[0]

    # ------------------------------------------------------------ a source of tools

    def specs(self) -> tuple[ToolSpec, ...]:
        more = () if self._message_spec is None else (self._message_spec,)
        return (*((self._current(),) if self._offered else ()), *more)

    def find(self, name: str) -> ToolSpec | None:
        if name == MESSAGE_TOOL:
            return self._message_spec
        return self._current() if self._offered and name in (AGENT_TOOL, TASK_TOOL) else None

    def why_missing(self, name: str) -> str:
        return NOT_OFFERED if name in (AGENT_TOOL, TASK_TOOL, MESSAGE_TOOL) and not self._offered else ""

    def complete(self, call: ToolCall, spec: ToolSpec, *, fix_arguments: bool = False) -> ToolCall:
        return call

    def prepare(self, call: ToolCall, spec: ToolSpec) -> PreparedCall:
        return PreparedCall(call, spec, self)

    def run(self, prepared: PreparedCall, context: ToolContext) -> ToolOutput:
        starts, sends = self.tools()
        tool = sends if prepared.spec.name == MESSAGE_TOOL else starts
        return tool.run(prepared.call, context)

    def _current(self) -> ToolSpec:
        """The spec for the agents as they are now; it stays the same object as long as they do."""
        agents = None if self._list is None else self._list.all()
        known = self._spec
        if known is None or known[0] is not agents:
            if agents is None:
                text = builtin_listing()
            else:
                from yume_shim.types.agent_offer import listing

                text = listing(agents)
            known = self._spec = agents, agent_spec(text, background=self._background)
        return known[1]


def _described(agent: AgentDefinition) -> dict[str, Any]:
    made = {"name": agent.name, "description": agent.description}
    return {**made, "model": agent.model} if agent.model else made
