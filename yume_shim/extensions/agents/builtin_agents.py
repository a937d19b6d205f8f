"""The agents that are always there."""

from __future__ import annotations

from yume_shim.types.agents import AGENT_TOOL, DEFAULT_AGENT, AgentDefinition

_CHANGING = ("Edit", "MultiEdit", "Write", "NotebookEdit")

_REPORT = (
    "Work on the task you are given until it is done; nobody can answer questions meanwhile. Your last message is the "
    "only thing that your caller reads: put everything it needs into it, with absolute paths and line numbers, and say "
    "plainly what you could not do or find. Do not write files to report something."
)

BUILTIN_AGENTS = (
    AgentDefinition(
        name=DEFAULT_AGENT,
        description=(
            "Handles any task with several steps: finding out how something works, searching when the first search may "
            "not be enough, making changes."
        ),
        prompt=(
            "You are an agent that another agent has given a task. Do all of the task and nothing besides it. Search "
            "broadly when you do not know where something is, and read the files that you already know. Prefer changing "
            f"an existing file to adding one.\n\n{_REPORT}"
        ),
    ),
    AgentDefinition(
        name="Explore",
        description=(
            "Searches a code base without changing anything: files by pattern, code by words, how something works. "
            "Say how thorough it should be: quick, medium or very thorough."
        ),
        prompt=(
            "You are an agent that searches code. You only read: change no file, create none, and run no command that "
            "changes anything. Start with broad searches, several at once where they do not depend on each other, then "
            f"read the parts that matter. Search as thoroughly as the task says.\n\n{_REPORT}"
        ),
        disallowed_tools=(AGENT_TOOL, "ExitPlanMode", *_CHANGING),
    ),
    AgentDefinition(
        name="Plan",
        description="Designs how to implement something: steps, the files concerned, and what speaks for and against.",
        prompt=(
            "You are an agent that plans changes to software. You only read: change no file and run no command that "
            "changes anything. Find out how the code concerned works and which conventions it follows, weigh the ways "
            "to reach the goal, and recommend one. Give the steps in their order, the files that change, and the risks."
            f"\n\n{_REPORT}"
        ),
        disallowed_tools=(AGENT_TOOL, "ExitPlanMode", *_CHANGING),
    ),
)
