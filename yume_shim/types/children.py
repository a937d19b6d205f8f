"""Child loops: what a tool asks for when it starts one, and what it gets back."""

from __future__ import annotations

from yume_shim.types.models import Usage
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.errors import Failure
    from yume_shim.types.events import Outcome
    from yume_shim.types.models import ModelSpec


FORKED_COMMAND = "forked-command-"
"""What stands in for the call of a child that a slash command started, before the command's name."""


@value
class Child:
    """A child loop (a subagent). `call_id` is the call that started it: its events carry that as `parent_call_id`.
    `parent_agent_id` is set if another child made that call."""

    agent_id: str
    call_id: str
    agent_type: str = ""
    description: str = ""
    parent_agent_id: str = ""


@value
class ChildRequest:
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
    model: ModelSpec | None = None
    """None = the parent's model."""
    max_turns: int | None = None
    """Model requests it may make; None = no limit of its own."""


@value
class ChildResult:
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
