"""Counts what really occurred in a run of sessions, so that a fault which is never drawn, or never reached, is seen."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from tests.chaos.faults import ALL_FAULTS
from tests.chaos.plan import (
    COMMANDS,
    DIALECTS,
    ENDPOINTS,
    ENDS,
    HOOK_EVENTS,
    HOOKS,
    HOST_ACTIONS,
    REPLIES,
    SERVER_TOOLS,
    SERVERS,
    SYSTEMS,
)
from tests.chaos.routes import ROADS
from tests.helpers.wire_writers import Call

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.chaos.plan import Plan
    from tests.chaos.running import Outcome

QUESTIONS = b'"approval_needed"', b'"can_use_tool"', b'"session/request_permission"'
DIMENSIONS: dict[str, Iterable[str]] = {
    "API, transport, dialect": [
        f"{api} {transport} {dialect}"
        for api in ENDPOINTS
        for transport in ("http", "sdk")
        for dialect in DIALECTS
        if (api, transport) != ("ollama-chat", "sdk")
    ],
    "start": ("warm", "cold"),
    "fault of an answer": ALL_FAULTS,
    "way to the endpoint": ROADS,
    "keys": ("1", "2", "3"),
    "API of the fallback model": ENDPOINTS,
    "command that ran": COMMANDS,
    "agent": ("foreground", "background"),
    "hook": HOOKS,
    "event of a hook": HOOK_EVENTS,
    "MCP server": [name or "fine" for name in SERVERS],
    "tool of it": SERVER_TOOLS,
    "host": [*sorted(set(HOST_ACTIONS)), "slow"],
    "answer to a question": REPLIES,
    "end": sorted(set(ENDS)),
    "system": SYSTEMS,
    "afterwards": ("resumed",),
}
"""Dimension → what may occur in it."""


class Coverage:
    """Counts per dimension. Faults, commands, tools and questions count when they were played or shown."""

    def __init__(self) -> None:
        self.counts = {dimension: Counter(dict.fromkeys(values, 0)) for dimension, values in DIMENSIONS.items()}

    def add(self, plan: Plan, outcome: Outcome) -> None:
        """Count one session."""
        shown = outcome.stdout
        found = {
            "API, transport, dialect": [f"{plan.api} {'sdk' if plan.sdk else 'http'} {plan.dialect}"],
            "start": ["cold" if plan.cold else "warm"],
            "fault of an answer": outcome.faults,
            "way to the endpoint": [plan.road] if plan.road else [],
            "keys": [str(plan.keys)],
            "API of the fallback model": [plan.spare] if plan.spare else [],
            "command that ran": [command for command in COMMANDS if json.dumps(command).encode() in shown],
            "agent": _agents(plan, shown),
            "hook": [name for _, name in plan.hooks],
            "event of a hook": [event for event, _ in plan.hooks],
            "MCP server": [plan.server or "fine"] if plan.server is not None else [],
            "tool of it": [name for name in SERVER_TOOLS if f"mcp__odd__{name}".encode() in shown],
            "host": [*(action.kind for action in plan.actions[:-1]), *(["slow"] if plan.slow else [])],
            "answer to a question": [plan.reply] if any(question in shown for question in QUESTIONS) else [],
            "end": [plan.end],
            "system": [plan.system] if plan.system else [],
            "afterwards": ["resumed"] if outcome.again is not None else [],
        }
        for dimension, values in found.items():
            self.counts[dimension].update(values)

    def table(self) -> str:
        """A line per dimension: how many values, the counts, and what never occurred."""
        lines = []
        for dimension, counts in self.counts.items():
            never = [value for value, count in counts.items() if not count]
            missing = f"; never: {', '.join(never)}" if never else ""
            lines.append(
                f"{dimension}: {len(counts) - len(never)} of {len(counts)} occurred, {sum(counts.values())} times"
                f" (least {min(counts.values())}, most {max(counts.values())}){missing}"
            )
        return "\n".join(lines)


def _agents(plan: Plan, shown: bytes) -> list[str]:
    if b'"Agent"' not in shown and b'"a part"' not in shown:
        return []
    steps: list[object] = [step for answer in plan.answers for step in answer]
    given = [step.given for step in steps if isinstance(step, Call) and step.name == "Agent"]
    return ["background" if "run_in_background" in each else "foreground" for each in given]
