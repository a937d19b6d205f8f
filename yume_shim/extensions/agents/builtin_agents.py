"""The agents that are always there."""

from __future__ import annotations

from yume_shim.types.agent_offer import BUILTIN_OFFERS
from yume_shim.types.agents import AGENT_TOOL, DEFAULT_AGENT, AgentDefinition

_CHANGING = ("Edit", "MultiEdit", "Write", "NotebookEdit")
_READS_ONLY = "You only read: change no file, create none, and run no command that changes anything."

_REPORT = (
    "Work on the task you are given until it is done; nobody can answer questions meanwhile. Your last message is the "
    "only thing that your caller reads: put everything it needs into it, with absolute paths and line numbers, and say "
    "plainly what you could not do or find. Do not write files to report something."
)

_PROMPTS = {
    DEFAULT_AGENT: (
        "You are an agent that another agent has given a task. Do all of the task and nothing besides it. Search "
        "broadly when you do not know where something is, and read the files that you already know. Prefer changing an "
        "existing file to adding one."
    ),
    "Explore": (
        f"You are an agent that searches code. {_READS_ONLY} Start with broad searches, several at once where they do "
        "not depend on each other, then read the parts that matter. Search as thoroughly as the task says."
    ),
    "Plan": (
        f"You are an agent that plans changes to software. {_READS_ONLY} Find out how the code concerned works and "
        "which conventions it follows, weigh the ways to reach the goal, and recommend one. Give the steps in their "
        "order, the files that change, and the risks."
    ),
}

BUILTIN_AGENTS = tuple(
    AgentDefinition(
        name=name,
        description=description,
        prompt=f"{_PROMPTS[name]}\n\n{_REPORT}",
        disallowed_tools=() if name == DEFAULT_AGENT else (AGENT_TOOL, *_CHANGING),
    )
    for name, description in BUILTIN_OFFERS
)
