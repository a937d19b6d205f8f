"""What telemetry remembers while a session runs: its facts, and by conversation the request that is out and the calls
that run. A conversation is the session's own, or a subagent's. Used by one thread."""

from __future__ import annotations

from yume_shim.telemetry.cleaning import Cleaner
from yume_shim.types.agent_offer import BUILTIN_OFFERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.child import Child
    from yume_shim.types.events import SessionInfo, Tagged
    from yume_shim.types.noted_facts import DecisionSource

BUILT_IN = frozenset(name for name, _ in BUILTIN_OFFERS)
CUSTOM = "custom"
"""In place of a name that a user gave, as in the Claude CLI."""
MAX_LANES = 1_000
"""Subagents that are remembered; a session that starts more forgets the oldest."""
QUERY_SOURCES = {"main": "sdk", "compact": "compact", "side_question": "side_question", "title": "title"}


class Ask:
    """A request that is out, or was answered a moment ago."""

    __slots__ = ("attempts", "began", "ended", "first_block", "model", "origin", "request_id", "sent", "text")

    def __init__(self, began: float, model: str, origin: str) -> None:
        self.began, self.model, self.origin = began, model, origin
        self.sent = began
        """When the last attempt began."""
        self.ended: float | None = None
        self.first_block: float | None = None
        self.attempts = 1
        self.request_id = ""
        self.text: list[str] = []


class RunningCall:
    """A call that runs."""

    __slots__ = ("began", "decided", "source")

    def __init__(self, began: float) -> None:
        self.began = began
        self.decided = began
        self.source: DecisionSource | None = None
        """Who decided; None for a call that was refused before: of an unknown tool, or with wrong input."""


class Lane:
    """One conversation."""

    __slots__ = ("agent_type", "ask", "calls", "child", "request_id")

    def __init__(self, child: Child | None) -> None:
        self.child = child
        self.agent_type = child.agent_type if child is not None else ""
        self.ask: Ask | None = None
        self.request_id = ""
        """Of the last answer: the calls that it made belong to it."""
        self.calls: dict[str, RunningCall] = {}

    def query_source(self, purpose: str) -> str:
        """Who asks, in the words of the Claude CLI."""
        if not self.agent_type or purpose != "main":
            return QUERY_SOURCES[purpose]
        return f"agent:builtin:{self.agent_type}" if self.agent_type in BUILT_IN else f"agent:{CUSTOM}"

    def agent_name(self, *, details: bool) -> dict[str, str]:
        """The agent as an attribute. The names of users' agents are details."""
        shown = details or self.agent_type in BUILT_IN
        return {"agent.name": self.agent_type if shown else CUSTOM} if self.agent_type else {}


class SessionFacts:
    """The facts about the session that its events have given so far."""

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        """`secrets`: keys that never leave the machine."""
        self.clean = Cleaner(secrets)
        self.session_id = ""
        self.provider = ""
        self.model = ""
        self.mode = ""
        self.prompt_id = ""
        self.sequence = 0
        self.asked: dict[str, tuple[Lane, ToolCall]] = {}
        """Question to the host → the call it is about."""
        self._main = Lane(None)
        self.children: dict[str, Lane] = {}
        """The call that started a subagent → its conversation."""

    def take_info(self, info: SessionInfo) -> None:
        """Remember what a line about the session says."""
        self.session_id, self.provider = info.session_id, info.provider
        self.model, self.mode = info.model, info.permission_mode

    def lane(self, tagged: Tagged) -> Lane:
        """The conversation of an event."""
        child = tagged.child
        if child is None:
            return self._main
        lane = self.children.get(child.call_id)
        if lane is None:
            if len(self.children) >= MAX_LANES:
                del self.children[next(iter(self.children))]
            lane = self.children[child.call_id] = Lane(child)
        return lane

    def next_number(self) -> int:
        """The next `event.sequence`."""
        self.sequence += 1
        return self.sequence - 1
