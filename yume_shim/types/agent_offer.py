"""The Agent tool as a model is offered it, with the list of agents. Light: every first request needs it."""

from __future__ import annotations

from yume_shim.types.agents import AGENT_TOOL, DEFAULT_AGENT, MESSAGE_TOOL, TASK_TOOL
from yume_shim.types.models import ToolSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from yume_shim.types.agents import AgentDefinition
    from yume_shim.types.blocks import Json

MAX_LISTED = 12_000
"""Characters of the list of agents; the rest is listed by name only."""
MAX_DESCRIPTION = 1_000

BUILTIN_OFFERS = (
    (
        "Explore",
        (
            "Searches a code base without changing anything: files by pattern, code by words, how something works. "
            "Say how thorough it should be: quick, medium or very thorough."
        ),
    ),
    (
        DEFAULT_AGENT,
        (
            "Handles any task with several steps: finding out how something works, searching when the first search may "
            "not be enough, making changes."
        ),
    ),
    ("Plan", "Designs how to implement something: steps, the files concerned, and what speaks for and against."),
)
"""Name and description of the built-in agents."""

_TEXT = (
    "Hand a task to an agent: a model with its own conversation and tools, which works on its own and returns one "
    "report. Use it for work that can run beside other work, and for searches whose details you do not need yourself. "
    "Do it yourself if a few calls are enough. The agent knows only what `prompt` tells it: name the goal, the files, "
    "and what to report. Only you read the report: tell the user what matters. To run several agents at once, make "
    "several calls in one answer.{background}\n\nAgents (`subagent_type`, default {default}):\n{listing}"
)
_BACKGROUND = (
    " Agents run in the background unless `run_in_background` is false: you are notified when one ends, and know "
    "nothing of its result before. Set it to false if your next step needs the report."
)
_FOREGROUND = " With `run_in_background` you do not wait: you are notified when the agent ends."


def agent_spec(listing: str, *, background: bool) -> ToolSpec:
    """The tool; `background`: agents run in the background unless a call says otherwise."""
    text = _TEXT.format(background=_BACKGROUND if background else _FOREGROUND, default=DEFAULT_AGENT, listing=listing)
    return ToolSpec(
        AGENT_TOOL,
        text,
        _SCHEMA,
        parallel=True,
        aliases=(TASK_TOOL,),
        source="agents",
        harmless=True,
        rule_field="subagent_type",
        describing_field="description",
    )


def message_spec() -> ToolSpec:
    """The tool that sends a message to an agent."""
    return ToolSpec(
        MESSAGE_TOOL,
        _MESSAGE_TEXT,
        _MESSAGE_SCHEMA,
        source="agents",
        harmless=True,
        rule_field="to",
        describing_field="summary",
    )


def builtin_listing() -> str:
    """The list if there are only the built-in agents."""
    return "\n".join(f"- {name}: {text}" for name, text in BUILTIN_OFFERS)


def listing(agents: Iterable[AgentDefinition]) -> str:
    """The list of these agents, within a limit."""
    lines: list[str] = []
    left = MAX_LISTED
    for agent in agents:
        line = f"- {agent.name}: {_short(agent.description)}"
        left -= len(line)
        lines.append(line if left >= 0 else f"- {agent.name}")
    return "\n".join(lines)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_DESCRIPTION else line[: MAX_DESCRIPTION - 1] + "…"


_MESSAGE_TEXT = (
    "Send a message to an agent that you have started. One that still runs reads it with its next results; one that "
    "has ended goes on with all that it knows, and reports again. Use it for further questions about work that an "
    "agent has done: a new agent would know nothing of it."
)
_MESSAGE_SCHEMA: Json = {
    "type": "object",
    "properties": {
        "to": {"type": "string", "description": "The agentId from the result of Agent"},
        "summary": {"type": "string", "description": "The message in five to ten words"},
        "message": {"type": "string", "description": "The message"},
    },
    "required": ["to", "message"],
    "additionalProperties": False,
}
_SCHEMA: Json = {
    "type": "object",
    "properties": {
        "description": {"type": "string", "description": "The task in three to five words"},
        "prompt": {"type": "string", "description": "The task, with everything the agent must know"},
        "subagent_type": {"type": "string", "description": "The kind of agent"},
        "model": {"type": "string", "description": "Another model than the agent's own; only if the user asks for it"},
        "effort": {
            "type": "string",
            "enum": ["low", "medium", "high", "xhigh", "max"],
            "description": "How much it thinks; only if the user asks for it",
        },
        "run_in_background": {"type": "boolean", "description": "Do not wait for the report"},
    },
    "required": ["description", "prompt"],
    "additionalProperties": False,
}
