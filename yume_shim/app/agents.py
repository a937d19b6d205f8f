"""Joins agents with the rest of the program: models, servers, skills; and finds the agent of the main loop."""

from __future__ import annotations

from yume_shim.engine.toolbox import ToolLimit
from yume_shim.extensions.agents.agent_tool import AgentServices, AgentTool
from yume_shim.extensions.agents.message_tool import MessageServices, MessageTool
from yume_shim.types.agent_offer import agent_spec, message_spec
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.app.agent_servers import AgentServers
    from yume_shim.app.lazy_mcp import LazyMcp
    from yume_shim.app.start import Startup
    from yume_shim.engine.session import Session
    from yume_shim.extensions.agents.agent_list import AgentList
    from yume_shim.store.jsonl import JsonlStore
    from yume_shim.types.agents import AgentDefinition
    from yume_shim.types.children import StoredChild
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.ports import BackgroundTasks
    from yume_shim.types.settings import Settings

MODEL_VARIABLE = "CLAUDE_CODE_SUBAGENT_MODEL"


def agent_tool(startup: Startup, agents: AgentList, mcp: LazyMcp, *, background: bool) -> AgentTool:
    """The tool, with what it needs from the rest of the program."""

    def open_servers(agent: AgentDefinition) -> AgentServers:
        from yume_shim.app.agent_servers import AgentServers

        return AgentServers(agent, mcp.open(), startup.log)

    return AgentTool(
        AgentServices(
            agents=agents,
            resolve=startup.models.switch_to,
            log=startup.log,
            background=background,
            model=startup.settings.env.get(MODEL_VARIABLE, ""),
            runs_hooks=startup.settings.agents.hooks,
            open_servers=open_servers,
            skill_text=lambda name: _skill_text(startup, name),
        )
    )


def message_tool(
    agents: AgentList,
    tool: AgentTool,
    tasks: Callable[[], BackgroundTasks | None],
    store: JsonlStore | None,
    *,
    background: bool,
) -> MessageTool:
    """The tool SendMessage, with what it needs from the rest of the program."""

    def stored(agent_id: str) -> StoredChild | None:
        if store is None:
            return None
        from yume_shim.store.children import load_child

        return load_child(store.path, agent_id)

    return MessageTool(MessageServices(agents, tool, tasks, stored, background))


def _skill_text(startup: Startup, name: str) -> str | None:
    """The text of a skill for an agent that is given it from the start: as it is written, nothing in it is run."""
    file = None if startup.library is None else startup.library.find(name)
    if file is None or not file.for_model:
        return None
    return f"Base directory for this skill: {file.folder}\n\n{file.body}" if file.folder else file.body


def offered_to(agent: AgentDefinition, specs: Sequence[ToolSpec], *, agents: Sequence[str]) -> tuple[str, ...]:
    """The names of these tools, and of those of `agents`, that the agent may use."""
    limit = ToolLimit(agent.tools, agent.disallowed_tools)
    more = (agent_spec("", background=False), message_spec())
    offered = (*specs, *(spec for spec in more if spec.name in agents))
    return tuple(spec.name for spec in offered if limit.allows(spec))


def run_as(session: Session, agent: AgentDefinition, settings: Settings) -> None:
    """Make the session run as this agent: its effort, and its system prompt unless a flag gives one."""
    if settings.instructions.system_prompt is None:
        session.apply_initialize(system_prompt=agent.prompt, keeps_facts=True)
    session.apply_initialize(effort=agent.effort)


def main_agent(settings: Settings, note: Callable[[str], None], *, flat: bool) -> AgentDefinition | None:
    """The agent that the main loop runs as. Raises BadInvocation if a flag names one that does not exist; with lines of
    the Claude CLI's form as input the session runs without it, as there."""
    from yume_shim.extensions.agents.agent_list import AgentList

    agents = AgentList(settings.agents, note)
    name = settings.agents.main
    found = agents.get(name)
    if found is not None:
        return found
    message = f"agent '{name}' not found. Available agents: {', '.join(agents.names())}"
    if settings.agents.main_required and (flat or settings.host.input_format != "lines"):
        raise BadInvocation(f"Error: {message}")
    note(message)
    return None
