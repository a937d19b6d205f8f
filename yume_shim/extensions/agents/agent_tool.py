"""Runs the Agent tool: finds the definition, makes the request for a child, and turns its end into a result."""

from __future__ import annotations

import re

from yume_shim.extensions.agents.reports import launched, report
from yume_shim.types.agents import DEFAULT_AGENT
from yume_shim.types.child_texts import failure_text
from yume_shim.types.children import ChildRequest
from yume_shim.types.errors import BadInvocation, ToolFailed
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.extensions.agents.agent_list import AgentList
    from yume_shim.types.agents import AgentDefinition
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.effort import Effort
    from yume_shim.types.models import ModelSpec
    from yume_shim.types.outputs import ToolContext, ToolOutput
    from yume_shim.types.ports import ChildTools

CLAUDE_NAMES = ("sonnet", "opus", "haiku", "fable")
"""Model names that definitions written for the Claude CLI use. Without a key for them the parent's model is used."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


class AgentServices(Value):
    """What the tool needs from the rest of the program."""

    agents: AgentList
    resolve: Callable[[str], ModelSpec]
    """The model of this name; raises BadInvocation."""
    log: Callable[[str, str], None]
    background: bool
    """Agents run in the background unless a call or a definition says otherwise."""
    model: str = ""
    """The model of all agents ($CLAUDE_CODE_SUBAGENT_MODEL); "" = their own."""
    runs_hooks: bool = True
    """Hooks of definitions run."""
    open_servers: Callable[[AgentDefinition], ChildTools] | None = None
    """The servers of a definition."""
    skill_text: Callable[[str], str | None] | None = None
    """The text of a skill; None = there is no such skill."""


class AgentTool:
    """Stateless; `run` is called on the threads of calls."""

    def __init__(self, services: AgentServices) -> None:
        self._services = services

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Start the agent of a call. Raises ToolFailed, Cancelled or HostStopped."""
        given = call.input
        agent = self._find(given.get("subagent_type") or DEFAULT_AGENT)
        prompt, description = str(given["prompt"]), str(given["description"])
        request = self.request_for(agent, prompt, str(given.get("model") or ""), given.get("effort"))
        request = replace(request, description=description)
        if context.launch is not None and self._in_background(agent, given.get("run_in_background")):
            return launched(context.launch(request, call.id, context.cancel), description, prompt)
        if context.spawn is None:
            raise ToolFailed("No agent can be started here.")
        result = context.spawn(request, call.id, context.cancel)
        if failed := failure_text(result):
            raise ToolFailed(failed)
        return report(result, agent, prompt)

    def request_for(
        self, agent: AgentDefinition, prompt: str, model: str = "", effort: Effort | None = None
    ) -> ChildRequest:
        """The request for a child that runs as this agent. Raises ToolFailed."""
        services = self._services
        own_tools = None
        if agent.mcp_servers and services.open_servers is not None:
            own_tools = services.open_servers(agent)
        return ChildRequest(
            prompt,
            agent.name,
            system_prompt=agent.prompt,
            tools=_with_servers(agent),
            without_tools=agent.disallowed_tools,
            agent_types=agent.agent_types,
            model=self._model(agent, model),
            same_provider=agent.same_provider and not model,
            fallback_models=agent.fallback_models,
            max_turns=agent.max_turns,
            effort=effort or agent.effort,
            permission_mode=agent.permission_mode,
            hooks=agent.hooks if services.runs_hooks else {},
            notes=self._skills(agent),
            own_tools=own_tools,
        )

    def _find(self, name: str) -> AgentDefinition:
        agents = self._services.agents
        found = agents.get(name)
        if found is None:  # models of other vendors write `explore` for `Explore`
            near = [each for each in agents.all() if each.name.lower() == name.lower()]
            found = near[0] if len(near) == 1 else None
        if found is None:
            raise ToolFailed(f"Agent type '{name}' not found. Available agents: {', '.join(agents.names())}")
        return found

    def _in_background(self, agent: AgentDefinition, asked: object) -> bool:
        if asked is None:
            return self._services.background if agent.background is None else agent.background
        return asked is True

    def _model(self, agent: AgentDefinition, asked: str) -> ModelSpec | None:
        """The model of a call: the one for all agents, else the call's, else the definition's; None = the parent's."""
        name = self._services.model or asked or agent.model
        if not name or name == "inherit":
            return None
        try:
            return self._services.resolve(name)
        except BadInvocation as error:
            if name.lower() in CLAUDE_NAMES:
                self._services.log(
                    "warning", f"agent {agent.name}: model {name}: {error.message}; it runs on the parent's"
                )
                return None
            raise ToolFailed(f"The agent cannot run on {name}: {error.message}") from None

    def _skills(self, agent: AgentDefinition) -> tuple[str, ...]:
        found: list[str] = []
        skill_text = self._services.skill_text
        if agent.skills and skill_text is None:
            what = "its skills are not loaded with its prompt: it can call the tool Skill"
            self._services.log("warning", f"agent {agent.name}: {what}")
        if skill_text is None:
            return ()
        for name in agent.skills:
            text = skill_text(name)
            if text is None:
                self._services.log("warning", f"agent {agent.name}: there is no skill '{name}'")
            else:
                found.append(text)
        return tuple(found)


def _with_servers(agent: AgentDefinition) -> tuple[str, ...] | None:
    """The tools of a definition, with all tools of the servers that it names."""
    if agent.tools is None:
        return None
    names = (entry if isinstance(entry, str) else next(iter(entry)) for entry in agent.mcp_servers)
    return (*agent.tools, *(f"mcp__{_NOT_IN_NAMES.sub('_', name)}" for name in names))
