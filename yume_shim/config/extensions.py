"""Checks the flags for subagents at the start, as the Claude CLI does."""

from __future__ import annotations

import os

from yume_shim.disk.bounded import is_absent, read_whole
from yume_shim.text import codec
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 4 << 20
"""Of a file with servers or agents."""


def check_agents(text: str | None, chosen: str | None, cwd: str) -> None:
    """`--agents` must be a JSON object of agents or the path of a file with one, `--agent` the name of an agent."""
    agents: dict[str, Any] = {}
    if text is not None:
        data, problem = json_or_file(text, cwd)
        if problem or not isinstance(data, dict):
            raise BadInvocation(f"Error: Invalid --agents configuration: {problem or 'it must be a JSON object'}")
        for name, agent in data.items():
            if not isinstance(agent, dict) or not all(isinstance(agent.get(k), str) for k in ("description", "prompt")):
                raise BadInvocation(
                    f"Error: Invalid --agents configuration: '{name}' needs a `description` and a `prompt`"
                )
        agents = data
    if chosen is not None and chosen not in agents and not _agent_file(chosen, cwd):
        known = ", ".join(agents) or "none"
        raise BadInvocation(f"Error: agent '{chosen}' not found. Agents given by --agents: {known}.")


def _agent_file(name: str, cwd: str) -> bool:
    return os.path.isfile(os.path.join(cwd, ".claude", "agents", f"{os.path.basename(name)}.md"))


def json_or_file(text: str, cwd: str) -> tuple[Any, str]:
    """(the parsed value, ""), or (None, the problem)."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return codec.loads(text), ""
        except ValueError as error:
            return None, f"not valid JSON: {error}"
    try:
        return codec.loads(read_whole(os.path.join(cwd, text), MAX_BYTES, pipes=True)), ""
    except OSError as error:
        absent = is_absent(error) or not error.strerror
        return None, f"file not found: {text}" if absent else f"{text} cannot be read: {error.strerror}"
    except ValueError as error:
        return None, f"{text} is not valid JSON: {error}"
