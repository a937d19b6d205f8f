"""Child loops: what a tool asks for when it starts one, and what it gets back."""

from __future__ import annotations

from yume_shim.types.blocks import NOTHING
from yume_shim.types.models import Usage
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.types.blocks import Message
    from yume_shim.types.effort import Effort
    from yume_shim.types.errors import Failure
    from yume_shim.types.events import Outcome
    from yume_shim.types.models import ModelSpec
    from yume_shim.types.ports import ChildTools

FORKED_COMMAND = "forked-command-"
"""The replacement for the call id of a child that a slash command started, before the command's name."""


class ChildRequest(Value):
    """A task for a child: a loop with its own history, tools and model below the call that started it."""

    prompt: str
    agent_type: str = "general-purpose"
    """The kind of agent, for its transcript."""
    description: str = ""
    """A few words about the task, for its transcript."""
    system_prompt: str | None = None
    """None = the parent's."""
    tools: tuple[str, ...] | None = None
    """Names of the tools it may use; None = all of the parent's."""
    without_tools: tuple[str, ...] = ()
    """Names of tools that it may not use."""
    agent_types: tuple[str, ...] | None = None
    """The agents that it may start itself; None = all."""
    model: ModelSpec | None = None
    """None = the parent's model."""
    same_provider: bool = False
    """`model` counts only if it is at the parent's provider."""
    fallback_models: tuple[str, ...] | None = None
    """The models that take over when its model fails; None = those of the session."""
    max_turns: int | None = None
    """Model requests it may make; None = no limit of its own."""
    effort: Effort | None = None
    """None = the session's."""
    permission_mode: str = ""
    """The mode that it asks for; the gate decides whether it gets it. "" = the parent's."""
    hooks: Mapping[str, Any] = NOTHING
    """Hooks of its own, by event; they run besides those of the session."""
    notes: tuple[str, ...] = ()
    """Texts for its model that follow the prompt (skills)."""
    own_tools: ChildTools | None = None
    """Tools that live as long as the child."""
    history: tuple[Message, ...] = ()
    """What it said and read before: a message to an agent that has ended continues it."""
    agent_id: str = ""
    """The id of the agent that is continued; "" = a new one."""
    begun_by: str = ""
    """The call that started the agent that is continued: its lines keep that as their parent."""
    leaf: str = ""
    """The last line of its transcript, which the next one follows."""


class ChildResult(Value):
    """How a child ended. `text` is its last answer, also when a limit stopped it."""

    agent_id: str
    outcome: Outcome
    text: str
    requests: int
    tool_calls: int
    usage: Usage
    duration_ms: int
    failure: Failure | None = None
    limit: str = ""
    last_usage: Usage = Usage()
    """Of its last answer."""
    tools_used: tuple[str, ...] = ()
    """Their names, in the order of their first use."""
    model: str = ""
    transcript: str = ""
    """The file that records it; "" = none."""


class StoredChild(Value):
    """A child that has ended, as its transcript keeps it."""

    agent_type: str
    description: str
    call_id: str
    history: tuple[Message, ...]
    leaf: str


class ChildLaunched(Value):
    """A child that runs in the background."""

    agent_id: str
    model: str
    transcript: str = ""
