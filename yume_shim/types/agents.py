"""Agents: their definitions, and the settings that say where definitions come from."""

from __future__ import annotations

from yume_shim.types.blocks import NOTHING
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from yume_shim.types.blocks import Json
    from yume_shim.types.effort import Effort

    AgentOrigin = Literal["built-in", "plugin", "user", "project", "flag", "host"]

AGENT_TOOL = "Agent"
TASK_TOOL = "Task"
"""The alias of the Agent tool, and its name in the init lines of the Claude forms."""
MESSAGE_TOOL = "SendMessage"
DEFAULT_AGENT = "general-purpose"


class AgentDefinition(Value):
    """The instructions of a kind of agent and what it may use."""

    name: str
    description: str
    prompt: str
    """Its system prompt."""
    origin: AgentOrigin = "built-in"
    tools: tuple[str, ...] | None = None
    """Names of the tools it may use, also `mcp__server`; None = all of the parent's."""
    disallowed_tools: tuple[str, ...] = ()
    agent_types: tuple[str, ...] | None = None
    """The agents it may start itself (`Agent(reviewer, tester)` in `tools`); None = all."""
    model: str = ""
    """Any model name; "" = the parent's."""
    same_provider: bool = False
    """Its model counts only at the provider of its parent: the author of an untrusted folder chose it."""
    fallback_models: tuple[str, ...] | None = None
    """The models that take over when its model fails; None = those of the session."""
    effort: Effort | None = None
    permission_mode: str = ""
    max_turns: int | None = None
    background: bool | None = None
    """True: it always runs in the background; None: the caller decides."""
    skills: tuple[str, ...] = ()
    """Skills whose text it gets with its prompt."""
    mcp_servers: tuple[str | Json, ...] = ()
    """Names of configured servers, or `{name: configuration}` of servers that live as long as the agent."""
    hooks: Mapping[str, Any] = NOTHING
    initial_prompt: str = ""
    """The first prompt of the main loop when it runs as this agent."""
    color: str = ""
    path: str = ""
    """The file it was read from."""


class AgentFolder(Value):
    """A folder with definitions, or one file of a plugin. Files of a folder that is not `trusted` may not widen
    anything."""

    path: str
    origin: AgentOrigin
    trusted: bool = True
    starts: bool = True
    """Hooks and servers of its definitions start."""
    prefix: str = ""
    """The text before the names of its agents (`plugin:`)."""


class AgentSettings(Value):
    """Where definitions come from, and which agent the main loop is."""

    given: Mapping[str, Any] = NOTHING
    """The definitions of `--agents`, checked to be objects with a description and a prompt."""
    folders: tuple[AgentFolder, ...] = ()
    """From the weakest to the strongest."""
    main: str = ""
    """The agent that the main loop runs as; "" = none."""
    main_required: bool = False
    """A flag named it: it must exist."""
    hooks: bool = True
    """Hooks of definitions run; settings may switch all hooks off, or admit only managed ones."""
    forward_text: bool = False
    """The Claude forms print the text of agents that run in the foreground, and agents of agents."""
